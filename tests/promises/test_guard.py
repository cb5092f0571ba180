"""The guard: a candidate is judged by what people were promised, and trained to keep it."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier
from ract.errors import InvalidSpec
from ract.promises import Ledger, check, refit


@pytest.fixture(scope="module")
def ledger(model, loans):
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(40)
    with Ledger("sqlite://") as opened:
        opened.offer(model.recourse(refused, at_least=True), expires=timedelta(days=300))
        yield opened


@pytest.fixture(scope="module")
def other(loans):
    """A forest of other people."""
    forest = RecourseForestClassifier(loans.actions, n_estimators=15, random_state=1)
    return forest.fit(loans.frame[600:], loans.target[600:])


def test_the_model_that_made_the_promises_keeps_them(ledger, model):
    found = check(ledger, model)
    assert bool(found) and found.share == 1 and found.n_promises == len(ledger.open()) > 10
    assert (found.table["strength"] >= found.table["needed"]).all()
    assert (
        str(found) == f"Of {found.n_promises} open promises the candidate keeps {len(found.kept)}."
    )


def test_a_candidate_breaks_what_its_own_predict_refuses(ledger, other, rng):
    """Verdicts against predict, on the plans themselves and on people who do more."""
    found, promises = check(ledger, other), ledger.open()
    plans = pd.DataFrame([p.after for p in promises])[list(other.feature_names_in_)]
    accepted = other.predict(plans) == "approved"
    np.testing.assert_array_equal(found.table["accepted"], accepted)
    assert (found.table["verdict"][~accepted] == "broken").all()
    assert 0 < found.kept.sum() < len(promises)
    assert (found.table["short"][~accepted] > 0).all()
    for k in np.flatnonzero(found.kept):
        more = pd.concat([plans.iloc[[k]]] * 50, ignore_index=True)
        for name in promises[k].region.asked:
            limit = promises[k].region.limits[name]
            if limit.category is None:
                low = limit.low if limit.low is not None else limit.high - 1e5
                high = limit.high if limit.high is not None else limit.low + 1e5
                values = rng.uniform(low, high, 50)
                if more[name].dtype.kind in "iu":
                    values = np.clip(np.round(values), np.ceil(low), np.floor(high))
                more[name] = values.astype(more[name].dtype)
        assert (other.predict(more) == "approved").all()
    assert "as exceptions" in str(found)


def test_training_with_promised_rows_keeps_more_of_them(ledger, loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=15, random_state=1)
    found = refit(forest, loans.frame[600:], loans.target[600:], ledger)
    assert found.check.share > found.plain.share
    assert found.check.share >= 0.9
    assert 0.5 < found.auc <= 1 and 0.5 < found.plain_auc <= 1
    assert "are kept as exceptions" in str(found)
    assert check(ledger, found.model).share == found.check.share
    enough = refit(
        forest, loans.frame[600:], loans.target[600:], ledger, share=found.plain.share, held_out=0
    )
    assert enough.check.share == found.plain.share and np.isnan(enough.auc)


def test_without_promises_there_is_nothing_to_keep(model):
    with Ledger("sqlite://") as empty:
        found = check(empty, model)
    assert bool(found) and str(found) == "There are no open promises."


def test_bad_candidates_are_one_sentence(ledger, model, loans):
    with pytest.raises(InvalidSpec, match="fitted model of ract's"):
        check(ledger, object())
    wider = loans.frame.assign(Extra=1.0)
    other = RecourseForestClassifier(n_estimators=3, random_state=0).fit(wider, loans.target)
    with pytest.raises(InvalidSpec, match="Extra"):
        check(ledger, other)
    with pytest.raises(InvalidSpec, match="between 0 and 1"):
        refit(other, loans.frame, loans.target, ledger, share=2)

"""The guard: a candidate is judged by what people were promised, and trained to keep it."""

from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.apps.ledger import Ledger, check, refit


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


def test_without_promises_there_is_nothing_to_keep(model):
    with Ledger("sqlite://") as empty:
        found = check(empty, model)
    assert bool(found) and str(found) == "There are no open promises."


def test_bad_candidates_are_one_sentence(ledger, model, loans):
    with pytest.raises(InvalidSpec, match="fitted model of ract's"):
        check(ledger, object())
    with pytest.raises(InvalidSpec, match="between 0 and 1"):
        refit(model, loans.frame, loans.target, ledger, share=2)


@pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")
def test_the_guard_knows_classes_features_and_categories(plans, model, loans):
    """A candidate of another class, with more or fewer features, or without a category."""

    def fitted(frame, target, **given):
        return RecourseForestClassifier(n_estimators=5, random_state=0, **given).fit(frame, target)

    with Ledger("sqlite://") as ledger:
        made = ledger.offer(plans, expires=timedelta(days=180))
        swapped = check(ledger, fitted(loans.frame, loans.target, desired="refused"))
        assert not swapped.kept.any() and set(swapped.table["verdict"]) == {"broken"}
        more = check(
            ledger, fitted(loans.frame.assign(Extra=1.0), loans.target, desired="approved")
        )
        assert set(more.table["verdict"]) == {"unknown"} and not more
        few = loans.frame.drop(columns=["Savings", "Purpose"])
        fewer = check(ledger, fitted(few, loans.target, desired="approved"))
        assert set(fewer.table["verdict"]) <= {"kept", "broken"}
        purpose = made[0].after["Purpose"]
        rest = (loans.frame["Purpose"] != purpose).to_numpy()
        less = check(ledger, fitted(loans.frame[rest], loans.target[rest], desired="approved"))
        unknown = less.table["verdict"].to_numpy() == "unknown"
        held = [p.after["Purpose"] == purpose for p in ledger.open()]
        assert any(held) and set(np.flatnonzero(held)) <= set(np.flatnonzero(unknown))
        assert check(ledger, model).share == 1

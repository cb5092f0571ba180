"""What every search starts from: features with more categories than fit into a word."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidSpec

N = 100


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    town = rng.integers(0, N, 800)
    income = rng.normal(size=800)
    frame = pd.DataFrame({"town": [f"t{k:03}" for k in town], "income": income})
    return frame, np.where(income + (town % 2) > 0.5, "yes", "no")


def forest(table, change, **parameters):
    frame, target = table
    actions = ActionSpace(
        [
            Feature("town", kind="categorical", change=change),
            Feature("income", kind="continuous", change="increase"),
        ],
        limits=None,
    )
    model = RecourseForestClassifier(
        actions, n_estimators=30, max_features=None, random_state=0, desired="yes", **parameters
    )
    return model.fit(frame, target)


def test_a_fixed_feature_may_have_any_number_of_categories(table):
    """It used to be refused, after half a minute of training."""
    frame, _ = table
    model = forest(table, "fixed", oob_score=True)
    refused = frame[model.predict(frame) == "no"].head(40)
    recourse = model.recourse(refused, n_alternatives=1, ranges=True, budget=0.6)
    found = np.isfinite(recourse.cost)
    assert found.any() and (recourse.cost[found] <= 0.6).all()
    after = recourse.counterfactuals
    assert (model.predict(after[found]) == "yes").all()
    assert (after["town"].to_numpy() == refused["town"].to_numpy()).all()
    # The cheapest income that the forest accepts for people of this town, by trying them all.
    cuts = np.unique(model.ensemble_.threshold[model.ensemble_.feature == N])
    for i in np.flatnonzero(found)[:10]:
        own = refused.iloc[i]
        tried = np.nextafter(cuts[cuts >= own["income"]], np.inf)
        accepted = model.predict(pd.DataFrame({"town": own["town"], "income": tried})) == "yes"
        assert after["income"].iloc[i] == pytest.approx(tried[accepted].min())


def test_a_feature_that_may_change_is_refused_before_training(table, monkeypatch):
    monkeypatch.setattr(RecourseForestClassifier, "_trees", lambda *_, **__: pytest.fail("grown"))
    with pytest.raises(InvalidSpec, match="100 categories and may change.*Group .*fixed"):
        forest(table, "any", oob_score=True)

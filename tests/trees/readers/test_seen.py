"""Tables of all kinds, and where the steps before a model take values."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from ract import ActionSpace, Feature
from ract.recourse.find import find_recourse
from ract.trees.readers import read_model
from tests.trees.readers.checks import check
from tests.trees.readers.tables import NUMBERS, WORDS, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_whole_numbers_of_few_bytes():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(-100, 100, 300), "b": rng.integers(0, 250, 300)})
    frame = frame.astype({"a": np.int8, "b": np.uint8})
    y = (frame["a"].astype(int) + frame["b"] > 120).to_numpy()
    model = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))
    for people in (frame, frame.to_numpy(), frame[["b"]].to_numpy()):
        model.fit(people, y)
        read = read_model(model, people)
        rows = people[rng.permutation(300)] if isinstance(people, np.ndarray) else people[::-1]
        np.testing.assert_array_equal(read.score(rows), model.predict_proba(rows)[:, 1])
        np.testing.assert_array_equal(read.decide(rows), model.predict(rows))


def test_other_frames():
    polars = pytest.importorskip("polars")
    frame, y = table(11)
    people = polars.from_pandas(frame)
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    for model, names in (
        (make_pipeline(OneHotEncoder(), forest), WORDS),
        (make_pipeline(RobustScaler(), forest), NUMBERS),
        (forest, NUMBERS),
    ):
        check(model.fit(people[names], y), people[names], thresholds=())


def test_frames_and_arrays_may_stand_for_each_other():
    frame, y = table(12)
    frame = frame[NUMBERS]
    array = frame.to_numpy()
    for model in (make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=4)),
                  DecisionTreeClassifier(max_depth=4)):  # fmt: skip
        expected = model.fit(array, y).predict_proba(array)[:, 1]
        np.testing.assert_array_equal(read_model(model, frame).score(frame), expected)
        expected = model.fit(frame, y).predict_proba(frame)[:, 1]
        np.testing.assert_array_equal(read_model(model, array).score(array), expected)


def test_ranges_stay_where_a_step_takes_values():
    """Ranges ran to the bounds of the action space, where Box-Cox raises an error."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.exponential(size=(300, 2)) + 0.1, columns=["debt", "loan"])
    frame["years"] = rng.integers(1, 9, 300)
    model = make_pipeline(PowerTransformer("box-cox"), RandomForestClassifier(5, random_state=0))
    model.fit(frame, frame["debt"] + 0.5 * frame["loan"] + 0.1 * frame["years"] < 1.2)
    space = ActionSpace(
        [Feature("debt", lower=-5, upper=50), Feature("loan", lower=0), Feature("years", lower=-3)],
        limits=None,
    )
    recourse = find_recourse(model, frame.head(60), actions=space, reference=frame, ranges=True)
    assert recourse.found.any() and np.nanmin(recourse.low) > 0
    plans = recourse.counterfactuals
    for ends in (recourse.low, recourse.high):
        assert model.predict(plans.where(np.isnan(ends), ends))[recourse.found].all()
    tightened = read_model(model, frame, space).encoder.space
    assert [feature.lower for feature in tightened] == [1e-300, 1e-300, 1]
    assert tightened["debt"].upper == 50

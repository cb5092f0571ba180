"""Splits by sets of values, and by functions that do not rise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
)
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
)
from ract._utils.errors import InvalidSpec
from ract.trees.readers import pullback, read_model
from ract.trees.readers.pullback import ABOVE, BELOW, INSIDE, MissingSpan, MissingSpans
from tests.trees.readers.checks import check, learners
from tests.trees.readers.tables import (
    table,
)

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_numbers_declared_as_categories_and_groups_of_columns():
    frame, y = table(19)
    frame = frame[["income", "age"]].assign(age=frame["age"] % 6).join(
        pd.get_dummies(frame["purpose"], dtype=int)
    )  # fmt: skip
    words = ["car", "house", "other", "study", "trip"]
    actions = ActionSpace(
        [Feature("age", "categorical", "increase"), Feature("purpose", columns=words)],
        desired=0,
        limits=None,
    )
    for model in learners():
        check(model.fit(frame, y), frame, actions, thresholds=())
        check(make_pipeline(MinMaxScaler(), model).fit(frame, y), frame, actions, thresholds=())
        assert read_model(model, frame, actions).desired == 0
        assert read_model(model, frame, actions, desired=1).desired == 1


def test_a_function_whose_digits_do_not_rise_is_refused(monkeypatch):
    frame, y = table(6)
    frame = frame[["income", "age"]]
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    model = make_pipeline(FunctionTransformer(np.sinh), tree).fit(frame / 1e4, y)
    frame = frame / 1e4
    found = pullback.largest
    monkeypatch.setattr(pullback, "largest", lambda *given: np.nextafter(found(*given), np.inf))
    with pytest.raises(InvalidSpec, match="does not rise with every digit near a threshold of 'i"):
        read_model(model, frame)


SPAN = MissingSpan(column=2, low=-1.0, high=1.0, without=INSIDE)


def spans(low=-1.0):
    """One span that matters at node 0 of two; its parts come after four values."""
    span = MissingSpan(2, low, 1.0, INSIDE)
    return MissingSpans((span,), np.array([0, -1]), np.array([True, False]), first=4)


def test_parts_that_still_get_there():
    allowed = np.ones((2, 7), bool)
    spans(low=-np.inf).start(allowed)
    assert allowed[:, 4 + BELOW].tolist() == [False, False]
    parts = spans().parts(np.array([0, 1]), allowed)
    assert parts.tolist() == [[False, True, True], [False, False, False]]


@pytest.mark.parametrize("has_above", [True, False])
def test_a_span_is_split_from_above_and_then_from_below(has_above):
    parts = np.array([[True, True, has_above]])
    left, right = np.ones((1, 7), bool), np.ones((1, 7), bool)
    column, threshold, goes_left = spans().split(np.array([0]), parts, left, right)
    assert column.tolist() == [2] and threshold.tolist() == [1.0 if has_above else -1.0]
    # People without a value go with the numbers inside.
    assert goes_left.tolist() == [has_above]
    assert left[0, 4:].tolist() == [True, has_above, False]
    assert right[0, 4:].tolist() == [False, not has_above, True]
    assert left[0, :4].all() and right[0, :4].all() and ABOVE == 2

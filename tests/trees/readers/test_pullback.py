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

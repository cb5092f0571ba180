"""A training table as learners take it."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidData
from ract.models.table import (
    TableSpec,
    TrainingRows,
    as_classes,
    binary_classes,
    used_columns,
    weights_of,
)
from ract.trees.training import Weights


def spec(**more):
    return TableSpec(**{"actions": None, "cost": "percentile", "budget": 0.3, "max_bins": 256,
                        "desired": 1, "class_weight": None,
                        "with_reach": True, "n_rows_kept": 5} | more)  # fmt: skip


def test_a_table_with_reach_serves_one_without_it():
    assert spec().serves(spec(with_reach=False)) and spec().serves(spec(n_rows_kept=9))
    assert not spec(with_reach=False).serves(spec())
    assert not spec().serves(spec(class_weight="balanced"))


def test_two_classes_are_needed():
    assert binary_classes(np.array(["b", "a", "b"], object)).tolist() == ["a", "b"]
    with pytest.raises(InvalidData, match="only one class, 1"):
        binary_classes(np.ones(3, int))
    with pytest.raises(InvalidData, match="3 classes, 1, 2, 3|3 classes"):
        binary_classes(np.array([1, 2, 3]))


def test_class_weights_are_of_errors_alone():
    y, sample = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 0.0, 1.0])
    weights = weights_of(sample, y, "balanced")
    np.testing.assert_allclose(weights.growing, sample * np.array([2 / 3, 2 / 3, 2 / 3, 2]))
    assert weights.people is sample
    assert weights_of(None, y, None).growing.tolist() == [1] * 4
    for wrong in ([1.0], [-1.0, 0, 0, 0], [np.nan, 1, 1, 1], [0.0] * 4):
        with pytest.raises(InvalidData, match="sample_weight"):
            weights_of(wrong, y, None)


def test_decisions_become_labels_of_their_own_type():
    found = as_classes(np.array([True, False]), np.array(["no", "yes"], object), "no")
    assert found.tolist() == ["no", "yes"] and found.dtype == object


def test_rows_of_parts_are_joined_in_their_order():
    parts = [
        TrainingRows(
            pd.DataFrame({"x": [k]}), np.array([k]), np.array([k > 1]),
            Weights(None, np.array([float(k)])), 5,
        )
        for k in (1, 2)
    ]  # fmt: skip
    whole = TrainingRows.joined(parts)
    assert whole.rows.tolist() == [1, 7] and whole.n_all == 10 and not whole.is_everyone
    assert whole.X["x"].tolist() == [1, 2] and whole.desired.tolist() == [False, True]
    assert whole.weights.sample is None and whole.weights.growing.tolist() == [1, 2]


def test_columns_that_are_not_used_are_left_out():
    frame, actions = pd.DataFrame({"a": [1], "b": [2]}), ActionSpace([Feature("a", use=False)])
    assert used_columns(frame, actions).columns.tolist() == ["b"]
    assert used_columns(frame, None) is frame

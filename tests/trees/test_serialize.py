"""Plain data of models: only what says something, in JSON values."""

import json
import math

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract.data.costs import LevelCost, LinearCost, RelativeLevels, Supply
from ract.trees.ensemble import TreeEnsemble
from ract.trees.serialize import (
    canonical_json,
    cost_parts,
    ensemble_parts,
    json_value,
    space_parts,
)


def test_values_in_terms_of_json():
    values = {"a": (np.int64(1), np.float32(0.5)), 2: np.array([True, False])}
    assert json_value(values, "x") == {"pairs": [["a", [1, 0.5]], [2, [True, False]]]}
    assert json_value(-math.inf, "x") == {"float": "-inf"} and json_value(None, "x") is None
    with pytest.raises(InvalidSpec, match="x is .*, a set, which cannot be stored"):
        json_value({1}, "x")


def test_defaults_of_newer_fields_are_left_out():
    plain, drifting = Feature("a", "integer"), Feature("a", "integer", drift=2.0, unit="years")
    before, after = (
        space_parts(ActionSpace([f], limits=None, steps=None)) for f in (plain, drifting)
    )
    assert set(before) == {"features", "desired"}
    (before,), (after,) = before["features"], after["features"]
    assert set(after) - set(before) == {"per_month", "unit"} and after["per_month"] == 2.0
    assert set(before) == {"name", "kind", "change", "lower", "upper", "weight"} | {
        "categories",
        "columns",
    }


def test_tables_of_costs():
    supply = (Supply((1,), 0.5, 2.0),)
    levels = LevelCost("max", (np.array([0.0, 1.0]), np.array([3.0])), (np.zeros(2), np.ones(1)))
    parts = cost_parts(levels)
    assert parts.meta == {"kind": "levels", "norm": "max"}
    assert list(parts.arrays) == ["ends", "knots", "levels"]
    assert parts.arrays["ends"].tolist() == [0, 2, 3]
    assert parts.arrays["knots"].tolist() == [0.0, 1.0, 3.0]
    parts = cost_parts(LinearCost("l1", np.ones(2), supply))
    assert parts.meta["supply"] == [{"columns": [1], "cost": 0.5, "middle": 2.0}]
    assert list(parts.arrays) == ["factors"]
    parts = cost_parts(LinearCost("l1", np.ones(2), (), np.zeros(2)))
    assert list(parts.arrays) == ["factors", "origins"]
    assert set(cost_parts(RelativeLevels(np.ones(2), np.ones(2))).arrays) == {"scales", "factors"}
    with pytest.raises(InvalidSpec, match="The cost is a object of your own"):
        cost_parts(object())


def test_trees_as_arrays():
    parts = ensemble_parts(TreeEnsemble.stump(3, 0.5))
    assert parts.meta == {"combine": "votes", "cutoff": 1, "base": 0.0, "single": False}
    assert parts.arrays["feature"].tolist() == [3, -1, -1] and "against" not in parts.arrays


def test_canonical_bytes_do_not_depend_on_order():
    one, other = {"b": 1, "a": [0.1, "ü"]}, {"a": [0.1, "ü"], "b": 1}
    assert canonical_json(one) == canonical_json(other) == b'{"a":[0.1,"\\u00fc"],"b":1}'
    assert json.loads(canonical_json(one)) == one

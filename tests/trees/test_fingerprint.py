"""Fingerprints differ where models or tables differ, and nowhere else."""

import json
import math
from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
)
from ract._utils.errors import InvalidSpec
from ract.data.costs import LevelCost, LinearCost, RelativeLevels, Supply
from ract.data.datasets import load_loans
from ract.trees import data_fingerprint, model_fingerprint
from ract.trees.ensemble import TreeEnsemble
from ract.trees.fingerprint import (
    PeopleSum,
    canonical_json,
    cost_parts,
    ensemble_parts,
    is_fingerprint_of,
    json_value,
    space_parts,
)
from ract.trees.readers import read_model

FRAME = pd.DataFrame({"age": [20, 40, 30], "job": ["clerk", "cook", "clerk"], "own": [1, 0, 1]})


def test_the_same_table_in_other_clothes():
    expected = data_fingerprint(FRAME)
    other = FRAME.astype({"age": float, "job": "category", "own": bool}).set_index(
        pd.Index([5, 6, 7])
    )
    assert data_fingerprint(other) == expected
    assert data_fingerprint(FRAME.astype(object)) == expected
    polars = pytest.importorskip("polars")
    assert data_fingerprint(polars.from_pandas(FRAME)) == expected
    numbers = FRAME[["age", "own"]]
    assert data_fingerprint(numbers.astype("category")) == data_fingerprint(numbers)


def test_other_tables_differ():
    others = [
        FRAME[::-1],
        FRAME[["job", "age", "own"]],
        FRAME.rename(columns={"age": "Age"}),
        FRAME.assign(age=[20, 40, 31]),
        FRAME.assign(job=["clerk", "cook", "cook"]),
        FRAME.head(2),
        FRAME[["age", "job"]],
        FRAME.assign(age=[20, None, 30]),
        FRAME.assign(job=["clerk", None, "clerk"]),
    ]
    assert len({data_fingerprint(table) for table in [FRAME, *others]}) == len(others) + 1


def test_fingerprints_do_not_change_from_one_version_to_the_next():
    X = np.array([[0.0, -1.5], [2.0, 3.25]])
    assert data_fingerprint(X) == (
        "data-1-b6b34624296c7d3eac9e9fc8d00daf7608e087d2b12615d1592d3953edd50908"
    )
    model = RecourseTreeClassifier(desired="yes", cost="range", recourse_weight=0)
    model.fit(X, ["no", "yes"])
    assert model_fingerprint(model) == (
        "model-2-5cc6f4f36aab73c8f6eb468762f7827587d4deb138957e7cd8bb64faf154fc6b"
    )


def test_what_counts_and_what_does_not():
    loans = load_loans(300)
    forest = RecourseForestClassifier(loans.actions, n_estimators=4, max_depth=3, random_state=0)
    forest.fit(loans.frame, loans.target)
    expected = model_fingerprint(forest)
    assert model_fingerprint(forest.set_params(n_jobs=2, verbose=1)) == expected
    assert model_fingerprint(read_model(forest, loans.frame)) == expected
    ensemble, cost = forest.ensemble_, forest.cost_
    seen = {expected}
    for name, at in (
        ("threshold", 0),
        ("label", ensemble.leaves[0]),
        ("value", ensemble.leaves[0]),
    ):
        array = getattr(ensemble, name).copy()
        array[at] += 1
        forest.ensemble_ = replace(ensemble, **{name: array})
        seen.add(model_fingerprint(forest))
    forest.ensemble_ = replace(ensemble, cutoff=4)
    seen.add(model_fingerprint(forest))
    forest.ensemble_ = ensemble
    forest.cost_ = replace(cost, levels=tuple(2 * level for level in cost.levels))
    seen.add(model_fingerprint(forest))
    forest.cost_ = cost
    seen.add(model_fingerprint(forest.set_params(budget=0.4)))
    assert len(seen) == 7


def test_other_libraries_models():
    X = np.arange(20.0).reshape(10, 2)
    tree = DecisionTreeClassifier().fit(X, X[:, 0] > 7)
    with pytest.raises(InvalidSpec, match="import_model"):
        model_fingerprint(tree)
    space = ActionSpace([Feature("x0")], limits=None)
    imported = (import_model(tree, X, space) for _ in range(2))
    assert model_fingerprint(next(imported)) == model_fingerprint(next(imported))
    assert model_fingerprint(read_model(tree, X, space)).startswith("model-2-")


def test_people_in_any_order_and_parts_have_one_fingerprint():
    frame = pd.DataFrame({
        "age": [20, 40, None, 30, 40], "job": ["clerk", None, "cook", "clerk", None],
        "own": [True, False, True, None, False],
    })  # fmt: skip
    whole = PeopleSum.of(frame)
    for cuts in ([1], [2, 4], [1, 2, 3, 4]):
        parts = [frame[a:b] for a, b in pairwise([0, *cuts, 5])]
        summed = reduce(add, [PeopleSum.of(part) for part in reversed(parts)])
        assert summed.fingerprint == whole.fingerprint
    same = [frame[::-1], frame[["job", "own", "age"]], frame.convert_dtypes(),
            frame.assign(age=frame["age"].astype("float32"))]  # fmt: skip
    assert {PeopleSum.of(one).fingerprint for one in same} == {whole.fingerprint}
    others = [frame.head(4), pd.concat([frame, frame[1:2]]), frame.rename(columns={"age": "Age"}),
              frame.assign(age=[20, 40, 30, None, 40]),
              frame.assign(job=["clerk", None, "cook", "clerk", "None"])]  # fmt: skip
    assert whole.fingerprint not in {PeopleSum.of(one).fingerprint for one in others}
    assert is_fingerprint_of(whole.fingerprint, frame) is True
    assert is_fingerprint_of(data_fingerprint(frame), frame[::-1]) is False
    assert is_fingerprint_of("parts-1-0123", frame) is None
    with pytest.raises(InvalidSpec, match="the same columns"):
        whole + PeopleSum.of(frame[["age"]])


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

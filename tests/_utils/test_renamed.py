"""Names of version 0.2: what messages, files and pickles make of them."""

import importlib
import inspect
from dataclasses import fields

import numpy as np
import pytest

from ract import (
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
)
from ract._utils.renamed import (
    REMOVED_PARAMETERS,
    RENAMED_PARAMETERS,
    current_parameters,
    current_state,
)
from ract.data.datasets import load_loans

KINDS = {RecourseTreeClassifier: 22, RecourseForestClassifier: 25, RecourseBoostingClassifier: 25}


@pytest.mark.parametrize("kind", KINDS)
def test_old_parameters_are_refused_by_their_new_names(kind):
    known = set(kind().get_params())
    for old, new in RENAMED_PARAMETERS.items():
        with pytest.raises(TypeError, match=f"no parameter '{old}' any more; it is {new} now"):
            kind(**{old: 1})
        with pytest.raises(TypeError, match=f"it is {new} now"):
            kind().set_params(**{old: 1})
    for old in REMOVED_PARAMETERS.keys() - known:
        with pytest.raises(TypeError, match="any more; in its place: "):
            kind(**{old: 1})
    with pytest.raises(TypeError, match="unexpected keyword argument 'nonsense'"):
        kind(nonsense=1)


@pytest.mark.parametrize(("kind", "most"), KINDS.items())
def test_there_are_few_parameters(kind, most):
    names = set(inspect.signature(kind).parameters)
    assert len(names) <= most and {each.name for each in fields(kind)} == names


def test_parameters_of_old_files_and_pickles():
    known = RecourseTreeClassifier().get_params()
    old = {
        "max_cells": 64, "max_risk": 0.3, "calibration": 0.4, "monotonic_cst": {"a": 1},
        "confidence": 0.9, "bound": "pac", "relabelling": "greedy", "min_recourse": 0.5,
        "recourse_weight": "auto", "exact_costs": True, "max_depth": 3,
    }  # fmt: skip
    assert current_parameters(old, known) == {
        "max_bins": 64, "min_recourse": 0.7, "validation_fraction": 0.4, "monotonic": {"a": 1},
        "confidence": 0.9, "relabelling": "pac", "max_depth": 3,
    }  # fmt: skip
    new = {"max_bins": 32, "min_recourse": 0.5, "unknown": 1}
    assert current_parameters(new, known) == {"max_bins": 32, "min_recourse": 0.5}


def test_a_state_of_version_02_becomes_a_fitted_model():
    loans = load_loans(300)
    model = RecourseForestClassifier(loans.actions, n_estimators=4, random_state=0)
    model.fit(loans.frame, loans.target)
    state = model.__getstate__()
    for name in ("max_bins", "threshold", "approval_rate", "max_bad_rate", "monotonic"):
        del state[name]
    rows = state.pop("training_rows_")
    old = {
        **state, "max_cells": 256, "monotonic_cst": None, "votes_needed": None, "_draws": [(1, 2)],
        "recourse_weight": "auto", "_rows_seen": rows, "probability": "shares",
    }  # fmt: skip
    again = RecourseForestClassifier.__new__(RecourseForestClassifier)
    again.__setstate__(old)
    assert again.get_params()["recourse_weight"] == model.recourse_weight_
    np.testing.assert_array_equal(again.predict(loans.frame), model.predict(loans.frame))
    np.testing.assert_array_equal(again.training_rows_, rows)
    assert not hasattr(again, "_draws") and not hasattr(again, "votes_needed")


@pytest.mark.parametrize("module", ["ract.data", "ract.costs"])
def test_a_name_that_is_gone_says_what_to_use_instead(module):
    with pytest.raises(ImportError, match=r"MahalanobisCost is gone; in its place: ScaledCost"):
        getattr(importlib.import_module(module), "MahalanobisCost")  # noqa: B009


def test_a_state_of_today_stays():
    state = RecourseTreeClassifier(max_depth=3).__getstate__()
    assert current_state(RecourseTreeClassifier, state) == state


def test_a_state_of_version_02_gets_the_names_of_today():
    old = {"max_cells": 99, "max_depth": 3, "_rows_seen": [1], "recourse_weight_": 0.4}
    found = current_state(RecourseTreeClassifier, old)
    assert (found["max_bins"], found["max_depth"], found["training_rows_"]) == (99, 3, [1])
    assert found["recourse_weight"] == 0.4 and found["min_leaf_share_"] == 0.0
    assert "max_cells" not in found and found["criterion"] == "gini"


def test_an_old_parameter_is_named_by_its_name_of_today():
    with pytest.raises(TypeError, match="max_bins"):
        RecourseTreeClassifier(max_cells=10)

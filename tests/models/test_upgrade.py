"""Names of version 0.2."""

import pytest

from ract import RecourseTreeClassifier
from ract.models.upgrade import current_state


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

"""Parameters of estimators as JSON values, and back."""

import json

import numpy as np
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.costs import PercentileCost, ScaledCost
from ract.io.parameters import checked_parameters, parameters_meta

SPACE = ActionSpace([Feature("age", "integer", "fixed"), Feature("debt", lower=0.0)], desired="yes")


@pytest.mark.parametrize("cost", ["range", PercentileCost("kernel"), ScaledCost([1.0, 2.0], "max")])
def test_parameters_come_back(cost):
    model = RecourseForestClassifier(
        SPACE, cost=cost, class_weight={"yes": 2.0}, n_jobs=3, random_state=np.random.RandomState(0)
    )
    given = model.get_params(deep=False)
    meta = json.loads(json.dumps(parameters_meta(model)))
    found = checked_parameters(meta, set(given))
    assert found.pop("random_state") is None and "n_jobs" not in found
    assert found == {name: given[name] for name in found}
    assert set(given) - set(found) == {"n_jobs", "verbose", "random_state"}
    assert "new" not in checked_parameters(meta | {"new": 1}, set(given))


def test_costs_that_are_none_of_ours_are_refused():
    with pytest.raises(InvalidSpec, match="The cost is a dict of your own"):
        parameters_meta(RecourseForestClassifier(SPACE, cost={}))
    for cost in ({"cost": "x"}, {"cost": "ScaledCost", "given": {}}, {"cost": 3, "given": {}}):
        with pytest.raises(InvalidFile):
            checked_parameters({"cost": cost}, {"cost"})
    strange = {"cost": "ScaledCost", "given": {"scale": "long", "norm": "max"}}
    with pytest.raises(InvalidFile, match="the cost among its parameters is invalid"):
        checked_parameters({"cost": strange}, {"cost"})


def test_actions_that_are_no_space_are_refused():
    for actions in ([], 3):
        with pytest.raises(InvalidFile, match="actions among its parameters are no action space"):
            checked_parameters({"actions": actions}, {"actions"})
    assert checked_parameters({"actions": None}, {"actions"}) == {"actions": None}

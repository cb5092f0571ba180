"""Actions are checked by every rule, and trees walked as they decide."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from ract import ActionSpace, Feature
from ract.data.costs import ScaledCost
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder
from ract.evaluation.certificates import certify, verify
from ract.evaluation.certificates.checker import accepts, wrong_action
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import read_model


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "xgboost",
    ],
    ids=lambda model: model if isinstance(model, str) else type(model).__name__,
)
def test_trees_are_walked_as_they_decide(loans, model, tmp_path):
    frame, target = loans.frame.select_dtypes("number"), loans.target == "approved"
    if model == "xgboost":
        library = pytest.importorskip("xgboost")
        model = library.XGBClassifier(n_estimators=10)
    model.fit(frame[:800], target[:800])
    space = ActionSpace(map(Feature, frame.columns), limits=None)
    for desired in (True, False):
        how = {
            "actions": space, "desired": desired, "reference": frame[:800], "budget": 0.1,
            "max_changes": 2,
        }  # fmt: skip
        tree = read_model(model, frame[:800], space, desired=desired)
        matrix = tree.encoder.matrix(frame)
        np.testing.assert_array_equal(accepts(tree.ensemble, matrix), tree.ensemble.decide(matrix))
        path = tmp_path / "witnesses.npy"
        certificate = certify(model, frame[1000:1060], witnesses=path, **how)
        given = {"witnesses": path, "none_sample": 0, **how}
        assert verify(certificate, model, frame[1000:1060], **given)


def test_every_rule_is_checked():
    """One person, one feature of each kind; only the first column decides."""
    space = ActionSpace(
        [
            Feature("free", kind="continuous", lower=0, upper=10),
            Feature("up", kind="integer", change="increase", lower=0, upper=10),
            Feature("down", kind="integer", change="decrease", lower=0, upper=10),
            Feature("own", kind="binary", change="fixed", lower=0, upper=1),
            Feature("job", kind="categorical", change="increase", categories=("a", "b", "c")),
        ],
        limits=None,
    )
    axes = Encoder.of_space(space, [feature.name for feature in space]).axes
    stump = TreeEnsemble(
        feature=np.array([0, -1, -1], np.int32), threshold=np.array([5.0, 0, 0]),
        left=np.array([1, -1, -1], np.int32), right=np.array([2, -1, -1], np.int32),
        label=np.array([0, 0, 1], np.uint8), value=np.array([0.5, 0.2, 0.9]),
        root=np.zeros(1, np.int32), combine="votes", cutoff=1,
    )  # fmt: skip
    cost = ScaledCost(scale=[10.0] * 7).fit(np.zeros((7, 2)), np.ones(7))
    person = np.array([[4.0, 5, 12, 1, 0, 1, 0]])

    def why(after, budget=1.0, max_changes=None):
        wrong = wrong_action(stump, axes, cost, person, np.array([after]), budget, max_changes)
        return wrong and wrong[1]

    assert why([6.0, 5, 12, 1, 0, 1, 0]) is None
    assert why([6.0, 6, 11, 1, 0, 0, 1]) is None  # from beyond the bound, back by any amount
    assert why([5.0, 5, 12, 1, 0, 1, 0]) == "the model refuses the result"
    assert why([10.5, 5, 12, 1, 0, 1, 0]) == "'free' leaves its bounds"
    assert why([-0.5, 5, 12, 1, 0, 1, 0]) == "'free' leaves its bounds"
    assert why([6.0, 5.5, 12, 1, 0, 1, 0]) == "'up' is not a whole number"
    assert why([6.0, 4, 12, 1, 0, 1, 0]) == "'up' may not fall"
    assert why([6.0, 5, 13, 1, 0, 1, 0]) == "'down' leaves its bounds"
    assert why([6.0, 5, 12, 0, 0, 1, 0]) == "'own' may not change"
    assert why([6.0, 5, 12, 1, 1, 0, 0]) == "'job' may not fall"
    for job in ([0, 0, 0], [0, 1, 1], [0, 0.5, 0.5], [0, 2, -1]):
        assert why([6.0, 5, 12, 1, *job]) == "'job' is not one of its categories"
    assert why([6.0, 6, 12, 1, 0, 1, 0], max_changes=1) == "more than 1 features change"
    assert why([6.0, 6, 12, 1, 0, 1, 0], max_changes=2) is None
    assert why([6.0, 5, 12, 1, 0, 1, 0], budget=0.1) == "it costs more than the budget"
    down = replace(axes[2].feature, change="increase")
    axes = (*axes[:2], replace(axes[2], feature=down), *axes[3:])
    assert why([6.0, 5, 11, 1, 0, 1, 0]) == "'down' may not fall"

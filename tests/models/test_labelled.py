"""Recourse stands against errors alike, whatever people and classes weigh."""

import numpy as np
import pytest
from sklearn.base import clone

from ract import RecourseForestClassifier, RecourseTreeClassifier
from ract.data.costs import PercentileCost
from ract.data.datasets import load_loans
from ract.models.labelled import impurity_of_all

LOANS = load_loans(300)
MODELS = [
    RecourseTreeClassifier(LOANS.actions, max_depth=4),
    RecourseForestClassifier(LOANS.actions, n_estimators=3, random_state=0),
]


def same_trees(first, second):
    names = ("feature", "threshold", "left", "right", "label")
    pairs = [[getattr(model.ensemble_, name) for model in (first, second)] for name in names]
    return all(np.array_equal(*pair) for pair in pairs)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("model", MODELS)
def test_a_factor_of_all_weights_changes_nothing(model, criterion):
    model = clone(model).set_params(criterion=criterion, recourse_weight=0.7)
    plain = clone(model).fit(LOANS.frame, LOANS.target)
    heavy = clone(model).fit(LOANS.frame, LOANS.target, np.full(300, 64.0))
    classes = clone(model).set_params(class_weight={"approved": 64.0, "refused": 64.0})
    assert same_trees(plain, heavy)
    assert same_trees(plain, classes.fit(LOANS.frame, LOANS.target))


@pytest.mark.parametrize("class_weight", [None, {"approved": 0.25, "refused": 64.0}])
def test_weighted_people_are_repeated_people(class_weight):
    times = np.random.default_rng(0).integers(1, 4, 300)
    rows = np.repeat(np.arange(300), times)
    model = clone(MODELS[0]).set_params(
        class_weight=class_weight, recourse_weight=0.7, cost=PercentileCost(exact=True)
    )
    weighted = clone(model).fit(LOANS.frame, LOANS.target, times)
    repeated = clone(model).fit(LOANS.frame.iloc[rows], LOANS.target.iloc[rows])
    assert same_trees(weighted, repeated)


@pytest.mark.parametrize(
    ("criterion", "expected"), [("gini", 0.375), ("error", 0.25), ("entropy", 0.8112781244591328)]
)
def test_the_unit_is_the_impurity_of_everyone(criterion, expected):
    desired, weights = np.array([0, 1, 1]), np.array([1.0, 2.0, 1.0])
    assert impurity_of_all(desired, weights, criterion) == pytest.approx(expected)

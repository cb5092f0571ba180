"""Costs that meet the budget exactly, against brute force in exact fractions."""

import numpy as np
import pandas as pd

import ract
from ract import ActionSpace, Feature
from ract.data.costs import within
from tests.builders import each_seed
from tests.edges import wrong_at_the_edge


def test_a_plan_that_costs_exactly_the_budget_is_found():
    people = pd.DataFrame({"a": range(1, 11)})
    tree = ract.RecourseTreeClassifier(max_depth=1, budget=0.1, recourse_weight=0.0)
    space = ActionSpace([Feature("a", "integer")], desired=1, limits=None)
    tree.set_params(actions=space).fit(people, people["a"] > 3)
    (plan,) = tree.recourse(pd.DataFrame({"a": [3]}))
    assert plan.status == "optimal"
    assert plan.changes[0].after == 4
    assert tree.recourse_risk(pd.DataFrame({"a": [3]})) == 0
    assert tree.recourse_risk(pd.DataFrame({"a": [2]})) == 1


@each_seed(range(250), n_quick=30)
def test_every_search_and_reach_are_exact_at_the_edge(seed):
    n_people, wrong = wrong_at_the_edge(seed)
    assert n_people > 0
    assert not wrong


def test_within_is_the_same_for_numbers_and_arrays():
    assert within(0.1 + 0.2, 0.3)
    assert not within(0.3 + 1e-6, 0.3)
    assert within(0.0, 0.0)
    assert not within(1e-16, 0.0)
    assert within(np.array([1.0, np.inf]), np.inf).all()
    assert within(np.array([0.1 + 0.2, 0.31]), np.array([0.3, 0.3])).tolist() == [True, False]

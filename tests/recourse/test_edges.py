"""Costs that meet the budget exactly, against brute force in exact fractions.

Percentiles are shares of people, k / n, and budgets are decimals or such shares, so that many
actions cost exactly the budget. In floating point their cost may come out a rounding above it.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import ract
from ract import ActionSpace, Feature
from ract._utils.status import Status
from ract.data.costs import fit_cost, within
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.evaluation.certificates.checker import wrong_action
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from tests.builders import quick_of, random_ensemble
from tests.naive import naive_decision

DECIMALS = [Fraction(k, 10) for k in range(1, 8)]


def test_a_plan_that_costs_exactly_the_budget_is_found():
    people = pd.DataFrame({"a": range(1, 11)})
    tree = ract.RecourseTreeClassifier(max_depth=1, budget=0.1, recourse_weight=0.0)
    space = ActionSpace([Feature("a", "integer")], desired=1)
    tree.set_params(actions=space).fit(people, people["a"] > 3)
    (plan,) = tree.recourse(pd.DataFrame({"a": [3]}))
    assert plan.status == "optimal"
    assert plan.changes[0].after == 4
    assert tree.recourse_risk(pd.DataFrame({"a": [3]})) == 0
    assert tree.recourse_risk(pd.DataFrame({"a": [2]})) == 1


def share_at_or_below(column, value):
    """The exact percentile of a value, linear between those that were observed."""
    seen = sorted(set(column))
    share = {v: Fraction(sum(w <= v for w in column), len(column)) for v in seen}
    if value <= seen[0]:
        return share[seen[0]]
    if value >= seen[-1]:
        return Fraction(1)
    below = max(v for v in seen if v <= value)
    above = min(v for v in seen if v >= value)
    if below == above:
        return share[below]
    part = Fraction(value - below, above - below)
    return share[below] + part * (share[above] - share[below])


def exact_costs(table, person, points):
    """What every point costs a person, in fractions."""
    levels = [{v: share_at_or_below(c, v) for v in range(min(c), max(c) + 1)} for c in table.T]
    return [
        max(abs(level[v] - level[x]) for level, v, x in zip(levels, point, person, strict=True))
        for point in points
    ]


def random_case(rng):
    """Whole numbers of a few people, a model, its encoder, a cost and a budget on an edge."""
    n, n_columns = int(rng.choice([7, 10, 20, 30, 49, 60])), int(rng.integers(1, 3, endpoint=True))
    table = rng.integers(0, 9 if n_columns < 3 else 6, (n, n_columns))
    frame = pd.DataFrame(table, columns=[f"f{j}" for j in range(n_columns)]).astype(float)
    encoder = Encoder(frame, ActionSpace([Feature(name, "integer") for name in frame]))
    n_trees = int(rng.integers(1, 6, endpoint=True))
    ensemble = random_ensemble(rng, encoder.matrix(frame), n_trees)
    budget = Fraction(int(rng.integers(1, n)), n) if rng.random() < 0.5 else rng.choice(DECIMALS)
    cost = fit_cost("percentile", list(encoder.matrix(frame).T), encoder.weights, exact=True)
    return table, encoder, ensemble, cost, budget


@pytest.mark.parametrize("seed", quick_of(30, range(250)))
def test_every_search_and_reach_are_exact_at_the_edge(seed):
    rng = np.random.default_rng(seed)
    table, encoder, ensemble, cost, budget = random_case(rng)
    given = float(budget)
    ranges = [range(min(c), max(c) + 1) for c in table.T]
    points = np.array(list(product(*ranges)))
    accepted = naive_decision(ensemble, points.astype(float))
    people = table[rng.permutation(len(table))[:8]]
    matrix = people.astype(float)
    exact = ExactSearch(ensemble, encoder.axes, cost)
    answers, attains = exact.solve(matrix, given), exact.attains(matrix, given)
    leaves = LeafSearch(ensemble, encoder.axes, cost).solve(matrix, given)
    grid = Grid(encoder.axes, tuple(np.arange(min(c), max(c)) + 0.5 for c in table.T))
    reach = grid.price(cost).reach(list(matrix.T), grid.cells(list(matrix.T)), given)
    for i, person in enumerate(people):
        costs = exact_costs(table, person, points)
        affordable = np.array([price <= budget for price in costs])
        expected = (affordable & accepted).any()
        assert (answers.status[i] != Status.NONE) == expected
        assert (attains[i] == Status.FOUND) == expected
        if expected:
            least = min(c for c, good in zip(costs, accepted, strict=True) if good)
            assert answers.cost[i] == pytest.approx(float(least))
            after = answers.values[[i]]
            found = ensemble, encoder.axes, cost, matrix[[i]], after
            assert wrong_action(*found, given, None) is None
            if least > 0:
                fault = wrong_action(*found, float(least) * (1 - 1e-6), None)
                assert fault == (0, "it costs more than the budget")
        if ensemble.n_trees == 1:  # of several trees Algorithm 2 tries leaves one by one
            assert leaves.found[i] == expected
        for a, column in enumerate(table.T):
            here = points[affordable, a] - min(column)
            assert reach.lowest[a, i] == here.min()
            assert reach.highest[a, i] == here.max()


def test_within_is_the_same_for_numbers_and_arrays():
    assert within(0.1 + 0.2, 0.3)
    assert not within(0.3 + 1e-6, 0.3)
    assert within(0.0, 0.0)
    assert not within(1e-16, 0.0)
    assert within(np.array([1.0, np.inf]), np.inf).all()
    assert within(np.array([0.1 + 0.2, 0.31]), np.array([0.3, 0.3])).tolist() == [True, False]

"""Costs that meet the budget exactly: brute force in exact fractions.

Percentiles are shares of people, k / n, and budgets are decimals or such shares, so that many
actions cost exactly the budget. In floating point their cost may come out a rounding above it.
"""

from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd

from ract import ActionSpace, Feature
from ract._utils.status import Status
from ract.data.costs import fit_cost
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.evaluation.certificates.checker import wrong_action
from ract.recourse.exact.search import ExactSearch
from ract.recourse.leaves import LeafSearch
from tests.builders import random_ensemble
from tests.naive import naive_decision

DECIMALS = [Fraction(k, 10) for k in range(1, 8)]


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
    encoder = Encoder(frame, ActionSpace([Feature(name, "integer") for name in frame], limits=None))
    n_trees = int(rng.integers(1, 6, endpoint=True))
    ensemble = random_ensemble(rng, encoder.matrix(frame), n_trees)
    budget = Fraction(int(rng.integers(1, n)), n) if rng.random() < 0.5 else rng.choice(DECIMALS)
    cost = fit_cost("percentile", list(encoder.matrix(frame).T), encoder.weights, exact=True)
    return table, encoder, ensemble, cost, budget


def wrong_at_the_edge(seed):
    """How many people a random case asks about, and in what words they are answered wrongly."""
    rng = np.random.default_rng(seed)
    table, encoder, ensemble, cost, budget = random_case(rng)
    given, wrong = float(budget), []
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
        expected = bool((affordable & accepted).any())
        checks = {
            "the cheapest plan": (answers.status[i] != Status.NONE) == expected,
            "whether there is one": (attains[i] == Status.FOUND) == expected,
            # of several trees Algorithm 2 tries leaves one by one
            "leaves": ensemble.n_trees > 1 or bool(leaves.found[i]) == expected,
        }
        if expected:
            least = min(c for c, good in zip(costs, accepted, strict=True) if good)
            checks["its cost"] = bool(np.isclose(answers.cost[i], float(least), atol=1e-12))
            found = ensemble, encoder.axes, cost, matrix[[i]], answers.values[[i]]
            checks["the checker takes it"] = wrong_action(*found, given, None) is None
            fault = wrong_action(*found, float(least) * (1 - 1e-6), None)
            dear = fault == (0, "it costs more than the budget")
            checks["the checker refuses less"] = dear or least == 0
        for a, column in enumerate(table.T):
            here = points[affordable, a] - min(column)
            ends = reach.lowest[a, i], reach.highest[a, i]
            checks[f"reach {a}"] = ends == (here.min(), here.max())
        wrong += [name for name, holds in checks.items() if not holds]
    return len(people), wrong

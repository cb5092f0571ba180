"""Searches of values for people of whom some are missing."""

from __future__ import annotations

import numpy as np
import pytest

from ract._utils.status import Status
from ract.recourse.common.by_pattern import solve_by_pattern, trees_without
from ract.recourse.common.search import Batch, Limits
from ract.recourse.leaves import LeafSearch
from ract.recourse.solver import SolverSearch
from tests import naive
from tests.builders import (
    check_values,
    random_problem_with_holes,
)


def stays(encoder):
    """The same rules, but numbers that are missing stay so."""
    return [a if a.is_categorical else a.without_supply() for a in encoder.axes]


@pytest.mark.parametrize("engine", ["leaves", "solver"])
def test_searches_of_values_equal_brute_force(engine):
    """In a single tree leaf by leaf; categories are supplied there, too."""
    handed = kept = 0
    for seed in range(60 if engine == "leaves" else 15):
        rng = np.random.default_rng([20, seed])
        encoder, matrix, ensemble, cost = random_problem_with_holes(
            rng, n_trees=1 if engine == "leaves" else 4
        )
        axes, people = stays(encoder), matrix[:6]
        make = LeafSearch if engine == "leaves" else SolverSearch
        found = solve_by_pattern(
            lambda trees, rules, make=make, cost=cost: make(trees, rules, cost),
            ensemble,
            axes,
            Batch.of(people, 0.6, Limits()),
        )
        check_values(encoder, ensemble, cost, people, found, budget=0.6)
        for i, own in enumerate(people):
            best = naive.cheapest_action(ensemble, axes, own, matrix, rng)
            assert found.cost[i] == pytest.approx(best if best <= 0.6 else np.inf, abs=1e-12)
            assert found.status[i] == (Status.OPTIMAL if best <= 0.6 else Status.NONE)
        moved = found.values != people
        marks = [a.columns[-1] for a in axes if a.has_missing and a.is_categorical]
        handed += int(moved[:, marks].sum())
        kept += int((np.isnan(people).any(axis=1) & found.found).sum())
    assert handed and kept


def test_trees_without_columns_answer_as_the_whole():
    for seed in range(30):
        rng = np.random.default_rng([22, seed])
        _, matrix, ensemble, _ = random_problem_with_holes(rng, "sum", n_trees=5)
        for own in matrix:
            lacking = np.flatnonzero(np.isnan(own))
            trees = trees_without(ensemble, lacking)
            assert not np.isin(trees.feature, lacking).any() or not len(lacking)
            assert naive.naive_decision(trees, np.nan_to_num(own)[None]) == naive.naive_decision(
                ensemble, own[None]
            )

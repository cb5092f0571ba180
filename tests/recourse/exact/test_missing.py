"""The exact search with missing values against every action, in values."""

from __future__ import annotations

import numpy as np
import pytest

from ract._utils.status import Status
from ract.recourse.common.search import Limits
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from tests import naive
from tests.builders import (
    check_values,
    quick_of,
    random_ensemble_with_holes,
    random_problem_with_holes,
)


def lacks(people):
    return np.isnan(people).any(axis=1)


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@pytest.mark.parametrize("block", quick_of(1, range(6)))
def test_plans_equal_brute_force(combine, block):
    statuses, handed = set(), 0
    for seed in range(50):
        rng = np.random.default_rng([17, block, seed])
        encoder, matrix, ensemble, cost = random_problem_with_holes(rng, combine)
        people = matrix[rng.choice(len(matrix), 5, replace=False)]
        budget = float(rng.choice([0.0, 0.213, 0.517, np.inf]))
        most = None if rng.random() < 0.6 else int(rng.integers(0, 3))
        search = ExactSearch(ensemble, encoder.axes, cost)
        found = search.solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, found, budget=budget, max_changes=most)
        attains = search.attains(people, budget, Limits(max_changes=most))
        for i, own in enumerate(people):
            best = naive.cheapest_action(ensemble, encoder.axes, own, matrix, rng, most)
            if best <= min(budget, 1e9):
                assert found.status[i] == Status.OPTIMAL and attains[i] == Status.FOUND
                assert found.cost[i] == pytest.approx(best, abs=1e-12)
            else:
                assert found.status[i] == attains[i] == Status.NONE
            statuses.add(int(found.status[i]))
        handed += int((lacks(people) & ~lacks(found.values)).sum())
    assert statuses == {Status.OPTIMAL, Status.NONE}
    assert handed or block  # the first block has people who supply a value, others may have none


@pytest.mark.parametrize("combine", ["votes", "sum"])
def test_the_strongest_plan_wins_most(combine):
    for seed in range(40):
        rng = np.random.default_rng([18, seed])
        encoder, matrix, ensemble, cost = random_problem_with_holes(rng, combine)
        people, budget = matrix[:5], float(rng.choice([0.213, 0.517, 9.0]))
        search = ExactSearch(ensemble, encoder.axes, cost)
        found = search.solve(people, budget, strongest=True)
        for i, own in enumerate(people):
            rows, costs = naive.every_action([ensemble], encoder.axes, own, matrix, rng)
            rows, costs = rows[costs <= budget], costs[costs <= budget]
            good = naive.naive_decision(ensemble, rows)
            assert good.any() == (found.status[i] == Status.OPTIMAL)
            if good.any():
                scores = ensemble.score(rows)
                most = scores[good].max()
                assert ensemble.score(found.values[i : i + 1])[0] == pytest.approx(most, abs=1e-9)
                if combine == "votes":
                    assert found.cost[i] == pytest.approx(costs[scores == most].min(), abs=1e-12)


def test_plans_for_several_models_equal_brute_force():
    handed = 0
    for seed in range(60):
        rng = np.random.default_rng([19, seed])
        encoder, matrix, first, cost = random_problem_with_holes(
            rng, ["votes", "sum"][seed % 2], n_trees=4
        )
        both = [first, random_ensemble_with_holes(rng, matrix, 4)]
        people, most = matrix[:5], None if rng.random() < 0.6 else 1
        found = SeveralSearch(both, encoder.axes, cost).solve(people, 0.6, max_changes=most)
        for i, own in enumerate(people):
            rows, costs = naive.every_action(both, encoder.axes, own, matrix, rng, most)
            good = np.all([naive.naive_decision(model, rows) for model in both], axis=0)
            best = min(costs[good & (costs <= 0.6)], default=np.inf)
            assert found.cost[i] == pytest.approx(best, abs=1e-12)
        handed += int((lacks(people) & ~lacks(found.values)).sum())
    assert handed

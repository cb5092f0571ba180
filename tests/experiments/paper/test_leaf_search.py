"""The paper's search for actions."""

import dataclasses

import numpy as np
import pytest

from experiments.paper.leaf_search import FirstLeaves, desired_leaves
from experiments.paper.margins import authors_margins
from experiments.paper.population import Population
from ract import ActionSpace
from ract.recourse.leaves import LeafSearch
from tests import naive
from tests.experiments.builders import grown_forest, made_up
from tests.naive import naive_decision


def test_the_search_equals_the_leaf_search_where_that_applies():
    data = made_up()
    separate = ActionSpace([f for f in data.actions if not f.columns], "yes", limits=None)
    plain = dataclasses.replace(
        data, frame=data.frame.drop(columns=["job:a", "job:b"]), actions=separate
    )
    population = Population.of(plain)
    matrix, axes = population.matrix, population.grouped
    ensemble, cost = grown_forest(population, n_trees=9, seed=1, estimate="empirical")
    refused = matrix[~ensemble.decide(matrix)]
    ours = FirstLeaves(ensemble, axes, cost, np.zeros(3), None).solve(refused)
    assert ours.cost == pytest.approx(LeafSearch(ensemble, axes, cost).solve(refused).cost)
    for limit in (10, None):
        for margins in (np.zeros(3), authors_margins(matrix, axes)):
            ours = FirstLeaves(ensemble, axes, cost, margins, limit).solve(refused)
            for i, own in enumerate(refused):
                expected = naive.cheapest_of_regions(
                    naive.candidate_leaves(ensemble, own)[:limit], ensemble, axes, own, matrix,
                    np.random.default_rng(0), margins=margins,
                )  # fmt: skip
                assert ours.cost[i] == pytest.approx(expected)


def test_actions_are_accepted_and_keep_to_the_rules():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    margins = authors_margins(population.matrix, population.grouped)
    found = FirstLeaves(ensemble, population.grouped, cost, margins, 1000).solve(refused)
    assert found.found.any()
    after, before = found.values[found.found], refused[found.found]
    assert naive_decision(ensemble, after).all()
    assert (after[:, 2] == before[:, 2]).all()  # fixed
    assert (after[:, 0] >= before[:, 0]).all()  # only increases
    assert (after[:, 3:].sum(axis=1) == 1).all()  # one job each
    assert (found.values[~found.found] == refused[~found.found]).all()
    assert cost.between(before, after) == pytest.approx(found.cost[found.found])


def test_effects_count_and_no_effects_change_nothing():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    effects = np.zeros((5, 5))
    arguments = ensemble, population.grouped, cost, np.zeros(5), 1000
    plain = FirstLeaves(*arguments).solve(refused)
    assert (FirstLeaves(*arguments, effects).solve(refused).values == plain.values).all()
    effects[2, 1] = -3.0  # fewer debts, more savings
    causal = FirstLeaves(*arguments, effects).solve(refused)
    moved = causal.values - refused
    assert causal.outcome == pytest.approx(causal.values + moved @ effects.T)
    assert ensemble.decide(causal.outcome[causal.found]).all()
    assert causal.cost.mean() < plain.cost.mean()


def test_desired_leaves_come_in_the_order_of_the_trees():
    population = Population.of(made_up())
    ensemble, _ = grown_forest(population)
    lower, upper = desired_leaves(ensemble, 5, None)
    inside = (lower[None] < population.matrix[:, None]) & (
        population.matrix[:, None] <= upper[None]
    )
    votes = ensemble.totals(population.matrix)[0]
    assert (inside.all(axis=2).sum(axis=1) == votes).all()
    assert (desired_leaves(ensemble, 5, 3)[0] == lower[:3]).all()

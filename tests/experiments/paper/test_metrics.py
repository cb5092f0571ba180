"""The columns of the results."""

import numpy as np
import pytest

from experiments.paper.leaf_search import Actions
from experiments.paper.metrics import action_columns, exact_columns, prediction_columns
from experiments.paper.population import Population
from ract._utils.status import Status
from ract.recourse.exact.search import ExactSearch
from tests.experiments.builders import grown_forest, made_up
from tests.naive import naive_decision


def test_columns_of_actions_are_those_of_the_recorded_files():
    people = np.zeros((4, 2))
    values = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0, 2.0]])
    actions = Actions(np.array([0.1, 0.5, np.inf, 0.3]), values, values)
    columns = action_columns(people, actions, budget=0.3, n_tested=10)
    assert columns["Cost"] == pytest.approx(0.9 / 4)
    assert columns["Validity"] == 0.75 and columns["Budget-Validity"] == 0.5
    assert columns["Valid-Cost"] == pytest.approx(0.3)
    assert columns["Recourse"] == pytest.approx(0.8)
    assert columns["Sparsity"] == pytest.approx(4 / 3)


def test_nobody_refused_counts_as_valid_at_no_cost():
    nobody = np.zeros((0, 2))
    columns = action_columns(nobody, Actions(np.zeros(0), nobody, nobody), 0.3, 10)
    assert columns["Validity"] == 1.0 and columns["Recourse"] == 1.0 and columns["Valid-Cost"] == 0


def test_exact_columns_count_what_is_unknown_apart():
    population = Population.of(made_up())
    ensemble, cost = grown_forest(population)
    refused = population.matrix[~ensemble.decide(population.matrix)]
    search = ExactSearch(ensemble, population.grouped, cost)
    solutions = search.solve(refused, 0.3)
    assert (
        search.attains(refused, 0.3) == np.where(solutions.found, Status.FOUND, Status.NONE)
    ).all()
    nobody = np.zeros(len(refused), np.bool_)
    columns = exact_columns(search, refused, nobody, 0.3, 150, max_nodes=10**6)
    assert columns["Recourse (exact)"] == pytest.approx(1 - (~solutions.found).sum() / 150)
    assert columns["Unknown (exact)"] == 0
    hasty = exact_columns(search, refused, nobody, 0.3, 150, max_nodes=0)
    assert hasty["Unknown (exact)"] > 0
    assert hasty["Recourse (exact)"] <= columns["Recourse (exact)"]


def test_predictions_are_measured_as_recorded():
    population = Population.of(made_up())
    ensemble, _ = grown_forest(population, n_trees=8)
    assert ensemble.cutoff == 4  # an even vote is for the desired class
    columns = prediction_columns(ensemble, population.matrix, population.desired, with_auc=True)
    accepted = naive_decision(ensemble, population.matrix)
    assert columns["Accuracy"] == (accepted == population.desired).mean()
    assert 0.5 < columns["AUC"] <= 1

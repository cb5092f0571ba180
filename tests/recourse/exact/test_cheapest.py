"""From questions to the cheapest action; few changes of many features, beside every point."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.recourse.common.answers import Answer
from ract.recourse.common.search import Limits
from ract.recourse.exact.cheapest import Squeeze, cheapest, preferred
from ract.recourse.exact.search import ExactSearch
from tests.builders import random_ensemble, with_random_values


def small_problem(rng, combine):
    """Six features with few values each, some of which move one way only, and many trees."""
    data, features = {}, []
    for k in range(6):
        name, change = f"f{k}", str(rng.choice(["any", "any", "any", "increase", "fixed"]))
        if k < 2:
            column = np.array(["u", "v", "w"])[rng.permutation(np.arange(9) % 3)]
            features.append(Feature(name, "categorical", change, categories=["u", "v", "w"]))
        else:
            column = rng.permutation(np.arange(9) % 4)
            features.append(Feature(name, "integer", change))
        data[name] = column
    frame, actions = pd.DataFrame(data), ActionSpace(features, limits=None)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = random_ensemble(rng, matrix, 12)
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    return encoder, matrix, ensemble, cost


def every_point(problem, person):
    """Encoded values, cost and number of changes of every point that a person can come to."""
    own = problem.cells(person[None])[0]
    costs = problem.costs(person[None], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    n = len(points)
    values = problem.values(np.repeat(person[None], n, 0), np.tile(own, (n, 1)), points)
    return values, costs[np.arange(len(own)), points].max(axis=1), (points != own).sum(axis=1)


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@pytest.mark.parametrize("seed", range(8))
def test_the_cheapest_of_few_changes_equals_that_of_every_point(combine, seed):
    rng, seen = np.random.default_rng([seed, 27]), set()
    encoder, matrix, ensemble, cost = small_problem(rng, combine)
    search = ExactSearch(ensemble, encoder.axes, cost)
    refused = matrix[~ensemble.decide(matrix)][:3]
    for person in refused:
        values, price, changes = every_point(search.problem, person)
        desired = ensemble.decide(values)
        for most in (0, 1, 2, 3, 4):
            known = price[desired & (changes <= most)].min(initial=np.inf)
            for budget in {np.inf, float(known)}:  # met exactly
                found = search.solve(person[None], budget, max_changes=most)
                assert found.cost[0] == pytest.approx(known)
                assert search.attains(person[None], budget, Limits(max_changes=most))[0] == (
                    Status.FOUND if np.isfinite(known) else Status.NONE
                )
                seen.add((most, bool(found.found[0])))
    assert not len(refused) or len(seen) > 4


@pytest.mark.parametrize("seed", range(30))
def test_the_lowest_price_is_found_whatever_quick_questions_leave_open(seed):
    rng = np.random.default_rng(seed)
    prices = np.unique(rng.random(int(rng.integers(1, 80))))
    first = int(rng.integers(0, len(prices) + 1))  # of those at which there is a solution
    hard = rng.random(len(prices)) < 0.5  # more than a quick question decides
    nodes = []

    def ask(limit, max_nodes):
        at = int(np.searchsorted(prices, limit))
        nodes.append(min(max_nodes, 100 if hard[at] else 1))
        if hard[at] and max_nodes < 100:
            return Answer(Status.UNKNOWN, nodes=nodes[-1])
        if at < first:
            return Answer(Status.NONE, nodes=nodes[-1])
        reached = int(rng.integers(first, at + 1))
        return Answer(Status.FOUND, float(prices[reached]), 0.0, np.zeros(1), nodes[-1])

    found = cheapest(ask, prices, 10**6)
    assert found.nodes == sum(nodes)
    if first == len(prices):
        assert found.status == Status.NONE and found.point is None
    else:
        assert (found.status, found.cost, found.bound) == (Status.OPTIMAL, *[prices[first]] * 2)


def test_an_answer_that_runs_out_of_nodes_has_a_bound_that_holds():
    def ask(limit, max_nodes):
        if limit >= 4:
            return Answer(Status.FOUND, 4.0, 0.0, np.zeros(1), 1)
        return Answer(Status.NONE if limit <= 1 else Status.UNKNOWN, nodes=max_nodes)

    found = cheapest(ask, np.arange(6.0), 500)
    assert found.status == Status.FOUND and found.cost == 4 and found.bound <= 2


@dataclasses.dataclass(frozen=True)
class Menu:
    """Someone whose cheapest action for each number of changes is known."""

    prices: tuple[float, ...]
    changes: int

    @property
    def own(self):
        return np.zeros(len(self.prices), np.int64)

    def cheapest(self, budget, max_nodes, least=0.0):
        few = np.array(self.prices[: self.changes + 1])
        if not (few <= budget).any():
            return Answer(Status.NONE, nodes=1)
        n = len(few) - 1 - int(np.argmin(few[::-1]))  # of the cheapest, the one of most changes
        point = (np.arange(len(self.prices)) < n).astype(np.int64)
        return Answer(Status.OPTIMAL, float(few[n]), float(few[n]), point, 1)


@pytest.mark.parametrize(
    ("prices", "fewest", "of_cheapest"),
    [
        ((np.inf, 0.9, 0.5, 0.5, 0.5), (1, 0.9), (2, 0.5)),
        ((np.inf, np.inf, 0.7, 0.6, 0.8), (2, 0.7), (3, 0.6)),
        ((np.inf, np.inf, np.inf, np.inf, 0.4), (4, 0.4), (4, 0.4)),
    ],
)
def test_preferences(prices, fewest, of_cheapest):
    for name, expected in (("fewest", fewest), ("cheapest", of_cheapest)):
        found = preferred(name, Menu(prices, 4), 1.0, 100)
        assert (int(found.point.sum()), found.cost) == expected
        assert found.status == Status.OPTIMAL and found.bound == found.cost
    assert preferred("fewest", Menu(prices, 4), 0.1, 100).status == Status.NONE
    assert preferred("cheapest", Menu(prices, 4), 0.1, 100).status == Status.NONE


def test_cells_are_numbered_anew_and_back():
    squeeze = Squeeze({0: np.array([0, 2, 3, 6])}, np.array([8, 3]), np.array([7, -1]))
    for cells, point in (([0, 1], [0, 1]), ([3, 2], [2, 2]), ([6, 0], [3, 0]), ([7, 0], [7, 0])):
        assert squeeze.point(np.array(cells)).tolist() == point
        assert squeeze.cells(np.array(point)).tolist() == cells
    costs = np.arange(16.0).reshape(2, 8)
    rows = squeeze.rows(costs, np.inf)
    assert rows[0].tolist() == [0, 2, 3, 6, np.inf, np.inf, np.inf, 7]
    assert rows[1].tolist() == costs[1].tolist()
    answer = squeeze.answer(Answer(Status.FOUND, 0.5, 0.0, np.array([1, 2])))
    assert answer.point.tolist() == [2, 2] and squeeze.answer(Answer(Status.NONE)).point is None

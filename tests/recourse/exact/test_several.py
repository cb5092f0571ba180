"""The cheapest action that several models accept, against every action there is."""

import dataclasses

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.recourse.exact import decide, several
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from tests import naive
from tests.builders import (
    KINDS,
    WHOLE_KINDS,
    check_values,
    quick_of,
    random_ensemble,
    random_problem,
    stump_on,
    with_random_values,
)

MIXES = [
    ("votes", "votes"),
    ("votes", "sum"),
    ("sum", "mean"),
    ("mean", "votes"),
    ("votes", "mean", "sum"),
    ("votes", "votes", "votes"),
]


def several_problems(rng, mix):
    """A random problem with a model for each way of deciding: (encoder, matrix, models, cost).

    Votes are easy to get, so that the models often have solutions, but seldom the same ones.
    """
    encoder, matrix, _, cost = random_problem(rng, n_features=(2, 3), kinds=WHOLE_KINDS + KINDS[:1])
    models = []
    for combine in mix:
        model = random_ensemble(rng, matrix, int(rng.integers(2, 9)))
        if combine == "votes":
            model = dataclasses.replace(model, cutoff=int(rng.integers(1, model.n_trees // 2 + 2)))
        else:
            model = with_random_values(rng, model, combine)
        models.append(model)
    return encoder, matrix, models, cost


def check_accepted(encoder, models, cost, people, solutions, **limits):
    """What is found is what every model accepts."""
    for model in models:
        check_values(encoder, model, cost, people, solutions, **limits)


@pytest.mark.parametrize("mix", MIXES, ids="+".join)
@pytest.mark.parametrize("block", quick_of(1, range(20)))
def test_several_models_equal_brute_force(mix, block):
    """20 problems."""
    for seed in range(20):
        rng = np.random.default_rng([block, seed, len(mix), sum(map(len, mix))])
        encoder, matrix, models, cost = several_problems(rng, mix)
        people = matrix[rng.choice(len(matrix), 2, replace=False)]
        budget = float(rng.choice([0.213, 0.517, np.inf, np.inf]))
        most = None if rng.random() < 0.6 else int(rng.integers(0, 3))
        search = SeveralSearch(models, encoder.axes, cost)
        solutions = search.solve(people, budget, max_changes=most)
        check_accepted(encoder, models, cost, people, solutions, budget=budget, max_changes=most)
        for i in range(len(people)):
            best = naive.cheapest_for_all(models, encoder.axes, people[i], matrix, rng, most)
            if np.isfinite(best) and best <= budget:
                assert solutions.status[i] == Status.OPTIMAL
                assert solutions.cost[i] == pytest.approx(best, abs=1e-12)
            else:
                assert solutions.status[i] == Status.NONE and np.isinf(solutions.cost[i])


def test_each_model_is_asked_by_itself_where_all_together_are_hard(monkeypatch):
    def in_turn(mix, block):
        monkeypatch.setattr(several, "TOGETHER", 1)
        test_several_models_equal_brute_force(mix, block)

    in_turn(("votes", "sum"), 77)
    in_turn(("mean", "votes"), 78)


def test_what_one_model_refuses_by_itself_is_refused(monkeypatch):
    together = several.decide_several
    monkeypatch.setattr(several, "TOGETHER", 4)
    monkeypatch.setattr(
        several, "decide_several", lambda *asked: (Status.UNKNOWN, together(*asked)[1])
    )
    n_refused = 0
    for seed in range(20):
        rng = np.random.default_rng([3, seed])
        encoder, matrix, models, cost = several_problems(rng, ("sum", "mean"))
        found = SeveralSearch(models, encoder.axes, cost).solve(matrix, 0.3, max_nodes=1000)
        refused = np.zeros(len(matrix), bool)
        for model in models:
            alone = ExactSearch(model, encoder.axes, cost).solve(matrix, 0.3)
            refused |= alone.status == Status.NONE
        np.testing.assert_array_equal(found.status == Status.NONE, refused)
        n_refused += int(refused.sum())
    assert n_refused > 10


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
def test_one_model_or_the_same_twice_is_the_search_of_one(combine):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        one = ExactSearch(ensemble, encoder.axes, cost).solve(matrix)
        for models in ([ensemble], [ensemble] * 2):
            found = SeveralSearch(models, encoder.axes, cost).solve(matrix)
            np.testing.assert_array_equal(found.status, one.status)
            np.testing.assert_array_equal(found.cost, one.cost)


def test_models_that_exclude_each_other_leave_nothing():
    matrix = np.arange(10.0)[:, None]
    encoder = Encoder(matrix)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    above, below = stump_on(0, 5.5), stump_on(0, 5.5)
    below.label[:] = [0, 1, 0]
    solutions = SeveralSearch([above, below], encoder.axes, cost).solve(matrix)
    assert (solutions.status == Status.NONE).all()


def test_limits_give_bounds_that_hold():
    seen = set()
    for seed in range(24):
        rng = np.random.default_rng(seed)
        encoder, matrix, models, cost = several_problems(rng, MIXES[seed % len(MIXES)])
        search = SeveralSearch(models, encoder.axes, cost)
        exact = search.solve(matrix)
        for limits in ({"max_nodes": 0}, {"max_nodes": 1}, {"max_nodes": 2}, {"time_limit": 0}):
            cut = search.solve(matrix, **limits)
            check_accepted(encoder, models, cost, matrix, cut)
            assert (cut.bound <= exact.cost + 1e-12).all()
            assert (cut.cost >= exact.cost - 1e-12).all()
            assert np.isinf(exact.cost[cut.status == Status.NONE]).all()
            proved = cut.status == Status.OPTIMAL
            assert (cut.cost[proved] == exact.cost[proved]).all()
            seen |= set(cut.status.tolist())
    assert Status.UNKNOWN in seen


def test_a_question_that_is_too_large_is_unknown(monkeypatch):
    seen = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        encoder, matrix, models, cost = several_problems(rng, ("votes", "sum"))
        search = SeveralSearch(models, encoder.axes, cost)
        exact = search.solve(matrix)
        for most in (0, 150, 400):
            with monkeypatch.context() as patch:
                patch.setattr(decide, "MOST_NUMBERS", most)
                cut = search.solve(matrix)
            assert np.isinf(exact.cost[cut.status == Status.NONE]).all()
            proved = cut.status == Status.OPTIMAL
            assert (cut.cost[proved] == exact.cost[proved]).all()
            seen |= set(cut.status.tolist())
    assert {Status.OPTIMAL, Status.NONE, Status.UNKNOWN} <= seen


def test_threads_do_not_change_the_result():
    rng = np.random.default_rng(5)
    encoder, matrix, models, cost = several_problems(rng, ("votes", "mean", "sum"))
    search = SeveralSearch.prepared(models, encoder.axes, cost)
    assert SeveralSearch.prepared(models, encoder.axes, cost) is search
    assert SeveralSearch.prepared(models[:2], encoder.axes, cost) is not search
    people = np.repeat(matrix, 30, axis=0)
    one, two = search.solve(people, n_jobs=1), search.solve(people, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)


def test_a_cost_that_adds_up_is_refused():
    rng = np.random.default_rng(1)
    encoder, matrix, models, _ = several_problems(rng, ("votes", "votes"))
    with pytest.raises(InvalidSpec, match="needs a cost"):
        SeveralSearch(models, encoder.axes, make_cost("l1").fit(matrix.T, encoder.weights))

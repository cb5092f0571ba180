"""Costs that add up: every objective and option, beside every action of small random tables."""

import dataclasses
from contextlib import suppress

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import CombinedCost, ScaledCost, fit_cost, make_cost, reweighted
from ract.recourse.additive.person import SumDescent
from ract.recourse.additive.search import AdditiveSearch, SeveralAdditiveSearch
from ract.recourse.exact import decide
from ract.recourse.exact.search import compile_kernels
from tests import naive
from tests.builders import (
    check_values,
    n_changes,
    random_ensemble,
    random_problem,
    random_problem_with_holes,
    with_random_values,
)

SAME = 2e-9  # part of the cost by which a cheaper action may be missed
OBJECTIVES = {
    "sum": CombinedCost("percentile"),
    "per change": CombinedCost("percentile", per_change=0.15),
    "half of the largest": CombinedCost("percentile", largest=0.5),
    "all": CombinedCost("percentile", per_change=0.05, largest=0.3),
    "count": CombinedCost(ScaledCost("range", norm="l1"), per_change=1.0),
}


@pytest.mark.parametrize(("combine", "kernel"), [("votes", "decide_votes"), ("sum", "decide_sums")])
def test_no_time_limit_pays_for_compiling_the_start_by_the_smallest_maximum(
    monkeypatch, combine, kernel
):
    called, compiled = [], getattr(decide, kernel)
    monkeypatch.setattr(decide, kernel, lambda *given: (called.append(1), compiled(*given))[1])
    compile_kernels.cache_clear()
    encoder, matrix, ensemble, _ = drawn(random_problem, np.random.default_rng(0), combine)
    AdditiveSearch(ensemble, encoder.axes, make_cost("l1").fit(matrix.T, encoder.weights))
    assert called


def drawn(make, rng, combine):
    """A random problem; bounds of which all lie outside of a small table are drawn again."""
    while True:
        with suppress(InvalidSpec):
            return make(rng, combine)


class Case:
    """A random person before one model or two, and every action that they have."""

    def __init__(self, seed, objective="sum", *, holes=False, n_models=1):
        rng = self.rng = np.random.default_rng(seed)
        combine = str(rng.choice(["votes", "mean", "sum"]))
        make = random_problem_with_holes if holes else random_problem
        self.encoder, matrix, ensemble, _ = drawn(make, rng, combine)
        self.ensembles = [ensemble]
        while len(self.ensembles) < n_models:
            other = random_ensemble(rng, np.nan_to_num(matrix), int(rng.integers(1, 6)))
            if ensemble.missing_left is not None:
                side = (rng.random(len(other.feature)) < 0.5).astype(np.uint8)
                other = dataclasses.replace(other, missing_left=side)
            if rng.random() < 0.5:
                other = with_random_values(rng, other, "sum")
            self.ensembles.append(other)
        self.learner = OBJECTIVES[objective]
        self.cost = fit_cost(
            self.learner, matrix.T, self.encoder.weights, exact=True,
            missing=self.encoder.missing_cells,
            features=[axis.columns for axis in self.encoder.axes],
        )  # fmt: skip
        if objective == "count":  # only changes cost
            self.cost = reweighted(self.cost, np.zeros(self.encoder.n_columns))
        self.person = matrix[rng.integers(len(matrix))]
        self.rows, efforts, changed = naive.every_plan(
            self.ensembles, self.encoder.axes, self.person, matrix, rng
        )
        if objective == "count":
            efforts = np.zeros_like(efforts)
        part, fee = self.learner.largest, self.learner.per_change
        self.n_changed = changed.sum(axis=1)
        self.costs = (1 - part) * efforts.sum(axis=1) + part * efforts.max(axis=1)
        self.costs += fee * self.n_changed
        accepted = [naive.naive_decision(ensemble, self.rows) for ensemble in self.ensembles]
        self.accepted = np.all(accepted, axis=0)

    def within(self, max_changes=None):
        """Costs and changes of the accepted actions, with few enough changes."""
        most = len(self.encoder.axes) if max_changes is None else max_changes
        kept = self.accepted & (self.n_changed <= most)
        return self.costs[kept], self.n_changed[kept]

    def solve(self, budget=np.inf, **options):
        """The answer of the search, checked."""
        if len(self.ensembles) == 1:
            search = AdditiveSearch(self.ensembles[0], self.encoder.axes, self.cost)
        else:
            search = SeveralAdditiveSearch(self.ensembles, self.encoder.axes, self.cost)
        person = self.person[None]
        answers = search.solve(person, budget, **options)
        for ensemble in self.ensembles:
            check_values(
                self.encoder, ensemble, self.cost, person, answers,
                budget=budget * (1 + 1e-9), max_changes=options.get("max_changes"),
            )  # fmt: skip
        return answers

    def changes_of(self, answers):
        return int(n_changes(self.encoder, self.person[None], answers.values)[0])


def check_cheapest(case):
    """The cheapest action, with and without a budget and a limit on changes."""
    rng = case.rng
    most = int(rng.integers(0, 3)) if rng.random() < 0.4 else None
    costs, _ = case.within(most)
    best = costs.min(initial=np.inf)
    budget = np.inf
    if rng.random() < 0.5:
        budget = float(rng.choice([0.213, 0.517, *(0.9 * costs), *(1.1 * costs), *costs]))
    answers = case.solve(budget, max_changes=most)
    if np.isfinite(best) and best <= budget * (1 + 1e-12):
        assert answers.status[0] == Status.OPTIMAL
        assert answers.cost[0] == pytest.approx(best, rel=SAME, abs=1e-12)
    else:
        assert answers.status[0] == Status.NONE
    return int(answers.status[0])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("holes", [False, True])
def test_no_action_is_cheaper(objective, holes):
    seen = {check_cheapest(Case(seed, objective, holes=holes)) for seed in range(40)}
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nobody_of_two_thousand_has_a_cheaper_action(objective):
    for seed in range(2_000):
        check_cheapest(Case([7, seed], objective, holes=seed % 2 == 0, n_models=1 + seed % 2))


@pytest.mark.parametrize("holes", [False, True])
def test_no_action_that_two_models_accept_is_cheaper(holes):
    seen = {check_cheapest(Case(seed, "all", holes=holes, n_models=2)) for seed in range(40)}
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("prefer", ["fewest", "cheapest"])
@pytest.mark.parametrize("objective", ["sum", "count", "half of the largest"])
def test_plans_come_in_the_order_that_is_preferred(prefer, objective):
    for seed in range(40):
        case = Case([1, seed], objective, holes=seed % 2 == 0)
        costs, changes = case.within()
        if not len(costs):
            continue
        answers = case.solve(prefer=prefer)
        assert answers.status[0] == Status.OPTIMAL
        if prefer == "fewest":
            fewest = changes.min()
            best = costs[changes == fewest].min()
        else:
            best = costs.min()
            fewest = changes[costs <= best * (1 + 1e-9) + 1e-15].min()
        assert case.changes_of(answers) == fewest
        assert answers.cost[0] == pytest.approx(best, rel=SAME, abs=1e-12)


@pytest.mark.parametrize("climbs", [True, False])
def test_one_question_tells_who_has_an_action_within_the_budget(monkeypatch, climbs):
    if not climbs:  # as on forests where they find nothing
        monkeypatch.setattr(SumDescent, "_start", lambda *_: Status.UNKNOWN)
    seen = set()
    for seed in range(60):
        case = Case([2, seed], "all", holes=seed % 2 == 0)
        costs, _ = case.within()
        budget = float(case.rng.choice([0.1, 0.4, np.inf]))
        search = AdditiveSearch(case.ensembles[0], case.encoder.axes, case.cost)
        status = int(search.attains(case.person[None], budget)[0])
        assert status == (Status.FOUND if (costs <= budget).any() else Status.NONE)
        seen.add(status)
    assert len(seen) == 2


def test_the_strongest_action_within_the_budget_wins_most():
    for seed in range(40):
        case = Case([3, seed], "sum")
        (ensemble,), budget = case.ensembles, 0.4
        answers = case.solve(budget, strongest=True)
        inside = case.accepted & (case.costs <= budget)
        assert answers.found[0] == inside.any()
        if not inside.any():
            continue
        won = naive.naive_score(ensemble, answers.values)[0]
        assert won == pytest.approx(naive.naive_score(ensemble, case.rows[inside]).max())


def test_a_search_that_ends_early_is_never_wrong():
    seen = set()
    for seed in range(80):
        case = Case([4, seed], "all")
        best = case.within()[0].min(initial=np.inf)
        answers = case.solve(max_nodes=1)
        status = int(answers.status[0])
        assert answers.bound[0] <= best * (1 + SAME)
        if status == Status.OPTIMAL:
            assert answers.cost[0] == pytest.approx(best, rel=SAME, abs=1e-12)
        elif status == Status.NONE:
            assert np.isinf(best)
        else:
            assert answers.cost[0] >= best * (1 - SAME)
        seen.add(status)
        stopped = case.solve(time_limit=0.0)
        assert stopped.status[0] in (Status.FOUND, Status.UNKNOWN, Status.OPTIMAL, Status.NONE)
        if stopped.status[0] == Status.NONE:
            assert np.isinf(best)
    assert Status.OPTIMAL in seen


def test_the_constraint_solver_agrees():
    pytest.importorskip("ortools", reason="OR-Tools is not installed")
    from ract.recourse.solver import SolverSearch

    for seed in range(15):
        rng = np.random.default_rng([5, seed])
        combine = str(rng.choice(["votes", "mean", "sum"]))
        name = str(rng.choice(["l1", "log-percentile"]))
        encoder, matrix, ensemble, cost = random_problem(rng, combine, cost=name, n_features=(3, 6))
        people, budget = matrix[:3], float(rng.choice([0.5, np.inf]))
        most = int(rng.integers(1, 4)) if rng.random() < 0.5 else None
        own, other = (
            kind(ensemble, encoder.axes, cost).solve(people, budget, max_changes=most)
            for kind in (AdditiveSearch, SolverSearch)
        )
        np.testing.assert_array_equal(own.status, other.status)
        np.testing.assert_allclose(own.cost, other.cost, rtol=2e-6)


def test_a_cost_that_does_not_add_up_is_refused():
    rng = np.random.default_rng(0)
    encoder, matrix, ensemble, _ = random_problem(rng)
    largest = make_cost("range").fit(matrix.T, encoder.weights)
    with pytest.raises(InvalidSpec, match="adds up over features"):
        AdditiveSearch(ensemble, encoder.axes, largest)

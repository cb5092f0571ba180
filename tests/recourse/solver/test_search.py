import dataclasses
import sys
from functools import cache

import numpy as np
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.status import Status
from ract.data import LinearRelation
from ract.data.costs import PercentileCost, ScaledCost, make_cost
from ract.data.datasets import load_loans
from ract.data.encoder import Axis, Encoder
from ract.data.grid import Grid
from ract.recourse.exact.search import ExactSearch
from ract.recourse.solver.action import Actions
from ract.recourse.solver.person import PersonSearch
from ract.recourse.solver.program import Program
from ract.recourse.solver.search import SolverSearch
from ract.recourse.solver.segments import Segments
from ract.recourse.solver.time import Time
from ract.trees.ensemble import TreeEnsemble
from tests import naive
from tests.builders import check_values, quick_of, random_problem
from tests.recourse.solver import milo

pytest.importorskip("ortools", reason="OR-Tools is not installed")

WHOLE = ["integer", "binary", "categorical"]
SPLITTING = ["percentile", "range", "l1", "l2", "log-percentile"]


def with_values(rng, ensemble):
    """The same trees deciding by votes, mean or sum, often close to a tie."""
    combine = str(rng.choice(["votes", "mean", "sum"]))
    if combine == "votes":
        return ensemble
    values = rng.choice([0.0, 0.1, 0.2, 0.3, 1 / 3, -0.7], len(ensemble.feature))
    low, high = values.min(), values.max()
    cutoff = float(rng.choice([rng.uniform(low, high), 0.1, 0.2, 0.15]))
    cutoff *= 1 if combine == "mean" else ensemble.n_trees
    return dataclasses.replace(ensemble, value=values, combine=combine, cutoff=cutoff)


def random_relations(rng, encoder):
    names = [axis.feature.name for axis in encoder.axes if not axis.is_categorical]
    relations = []
    for _ in range(int(rng.integers(1, 3)) if names else 0):
        some = rng.choice(names, min(2, len(names)), replace=False)
        factors = {str(name): float(rng.choice([-2, -1, 1, 1, 2])) for name in some}
        relations.append((factors, float(rng.integers(-2, 8))))
    return relations


def brute_force(name, encoder, matrix, ensemble, person, rng, **limits):
    rows = naive.allowed_rows(ensemble, encoder.axes, person, matrix, rng, **limits)
    prices = naive.price_rows(name, matrix, encoder.weights, person, rows)
    return naive.cheapest_row(ensemble, rows, prices)


def agree(solutions, i, best, budget, tolerance):
    if np.isfinite(best) and best <= budget:
        assert solutions.status[i] == Status.OPTIMAL
        assert solutions.cost[i] == pytest.approx(best, abs=tolerance)
        assert best - tolerance <= solutions.bound[i] <= solutions.cost[i]
    else:
        assert solutions.status[i] == Status.NONE and np.isinf(solutions.cost[i])
    return int(solutions.status[i])


def check(encoder, ensemble, cost, people, solutions, relations=(), max_changes=None):
    """Every action found is allowed and accepted, and obeys what joins features."""
    check_values(encoder, ensemble, cost, people, solutions, max_changes=max_changes)
    values = solutions.values[solutions.found]
    column = {axis.feature.name: axis.columns[0] for axis in encoder.axes}
    for factors, upper in relations:
        total = sum(c * values[:, column[name]] for name, c in factors.items())
        assert (total <= upper + 1e-9 * (abs(upper) + np.abs(values).sum())).all()


@pytest.mark.parametrize("block", range(5))
def test_costs_that_split_by_feature_equal_brute_force(block):
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng([block, seed])
        name = str(rng.choice(SPLITTING))
        encoder, matrix, ensemble, cost = random_problem(rng, cost=name)
        ensemble = with_values(rng, ensemble)
        people = matrix[rng.choice(len(matrix), 3, replace=False)]
        budget = float(rng.choice([0.213, 0.517, 1.211, np.inf]))
        most = int(rng.integers(0, 3)) if rng.random() < 0.3 else None
        search = SolverSearch(ensemble, encoder.axes, cost)
        solutions = search.solve(people, budget, max_changes=most)
        check(encoder, ensemble, cost, people, solutions, max_changes=most)
        for i, person in enumerate(people):
            best = brute_force(name, encoder, matrix, ensemble, person, rng, max_changes=most)
            seen.add(agree(solutions, i, best, budget, 1e-6))
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("name", [*SPLITTING, "mahalanobis"])
def test_values_that_matter_by_themselves_equal_brute_force(name):
    """Relations and the Mahalanobis distance, on features that have only whole numbers."""
    seen = set()
    for seed in range(20):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng, kinds=WHOLE, cost=name)
        ensemble = with_values(rng, ensemble)
        relations = random_relations(rng, encoder)
        if name == "mahalanobis" and rng.random() < 0.5:
            relations = []
        people = matrix[rng.choice(len(matrix), 3, replace=False)]
        budget = float(rng.choice([0.713, 1.211, np.inf]))
        most = int(rng.integers(0, 3)) if rng.random() < 0.3 else None
        search = SolverSearch(
            ensemble, encoder.axes, cost, relations=[LinearRelation(*r) for r in relations]
        )
        solutions = search.solve(people, budget, max_changes=most)
        check(encoder, ensemble, cost, people, solutions, relations, most)
        for i, person in enumerate(people):
            limits = {"relations": relations, "max_changes": most}
            best = brute_force(name, encoder, matrix, ensemble, person, rng, **limits)
            seen.add(agree(solutions, i, best, budget, 1e-4 * best + 1e-5))
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("name", [*SPLITTING, "mahalanobis"])
def test_continuous_values_under_relations_are_no_dearer_than_any_found_by_trying(name):
    """No brute force is exact here: trying many values bounds the cheapest from above."""
    seen = set()
    for seed in range(12):
        rng = np.random.default_rng([1, seed])
        encoder, matrix, ensemble, cost = random_problem(
            rng, kinds=["continuous", "integer"], cost=name
        )
        ensemble = with_values(rng, ensemble)
        relations = random_relations(rng, encoder)
        people = matrix[rng.choice(len(matrix), 3, replace=False)]
        search = SolverSearch(
            ensemble, encoder.axes, cost, relations=[LinearRelation(*r) for r in relations]
        )
        solutions = search.solve(people, 1.211)
        check(encoder, ensemble, cost, people, solutions, relations)
        assert (solutions.bound <= solutions.cost).all()
        for i, person in enumerate(people):
            best = brute_force(name, encoder, matrix, ensemble, person, rng, relations=relations)
            seen.add(int(solutions.status[i]))
            if best <= 1.211:
                assert solutions.status[i] != Status.NONE
                assert solutions.bound[i] <= best + 1e-9
            if solutions.status[i] == Status.OPTIMAL:
                assert solutions.cost[i] <= best + 1e-4 * best + 1e-5
    assert {Status.OPTIMAL, Status.NONE} <= seen


@pytest.mark.parametrize("seed", range(30))
def test_segments_hold_every_value_in_reach_under_its_effort(seed):
    """Their lines stay below the effort, and meet it once every knot is cut at."""
    rng = np.random.default_rng(seed)
    name, kind = rng.choice(["percentile", "range"]), rng.choice(["continuous", "integer"])
    column = rng.normal(size=60) if kind == "continuous" else rng.integers(0, 90, 60) * 1.0
    encoder = Encoder(column[:, None], ActionSpace([Feature("x0", str(kind))], limits=None))
    grid = Grid.from_splits(encoder.axes, np.zeros(3, int), rng.choice(column, 3))
    own, cost = float(column[0]), make_cost(str(name)).fit([column], encoder.weights)
    tried = np.append(rng.choice(column, 20), own)
    if kind == "continuous":
        tried = np.append(tried, rng.uniform(column.min(), column.max(), 40))
    training = column.tolist()
    effort = abs(
        np.array([naive.level_of(name, training, v) for v in tried])
        - naive.level_of(name, training, own)
    )
    segments, most = Segments(grid, 0, cost, own), float(rng.choice([0.3, 2.0]))
    for last in (False, True):
        choice = segments.choice(most, np.inf)
        for value, price in zip(tried, effort, strict=True):
            k = choice.containing(value)
            if price > most:
                assert k is None or price <= most + 1e-6
                continue
            low, high = choice.low[k], choice.high[k]
            part = 0.0 if low == high else (value - low) / (high - low)
            line = choice.low_cost[k] + part * (choice.high_cost[k] - choice.low_cost[k])
            assert line <= price + 1e-12
            assert not last or line == pytest.approx(price, abs=1e-9)
            assert naive.cell_of(grid.thresholds[0], value) == choice.cell[k]
        while any(segments.cut(inside) for inside in choice.inside):
            choice = segments.choice(most, np.inf)


def stumps(values, cutoff):
    """One stump per column and pair of leaf values, split at 0.5, deciding by their sum."""
    n = len(values)
    return TreeEnsemble(
        np.tile(np.array([0, -1, -1], np.int32), n) + np.repeat(np.arange(n), 3).astype(np.int32)
        * np.tile(np.array([1, 0, 0], np.int32), n),
        np.tile([0.5, 0.0, 0.0], n),
        np.concatenate([[3 * t + 1, -1, -1] for t in range(n)]).astype(np.int32),
        np.concatenate([[3 * t + 2, -1, -1] for t in range(n)]).astype(np.int32),
        np.zeros(3 * n, np.uint8),
        np.concatenate([[0.0, low, high] for low, high in values]),
        3 * np.arange(n, dtype=np.int32),
        "sum",
        cutoff,
    )  # fmt: skip


def test_ties_are_decided_as_floating_point_decides_them():
    """0.7 + 0.1 is just below 0.8 in floating point, and 0.1 + 0.2 just above 0.3."""
    matrix = np.array([[0.0, 0, 0], [1, 1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost([10.0, 10.0, 1.0], norm="l1").fit(matrix.T, encoder.weights)
    for values, cutoff, expected in (
        ([(0.0, 0.7), (0.0, 0.1), (0.0, 0.9)], 0.8, 1.0),  # the two cheap ones are refused
        ([(0.0, 0.7), (0.0, 0.1), (0.0, 0.0)], 0.8, np.inf),
        ([(0.0, 0.1), (0.0, 0.2), (0.0, 0.9)], 0.3, 0.2),
        ([(0.0, 0.1), (0.0, 0.2), (0.0, 0.0)], 0.1 + 0.2, 0.2),
    ):
        search = SolverSearch(stumps(values, cutoff), encoder.axes, cost)
        assert search.solve(matrix[:1]).cost[0] == pytest.approx(expected)


def test_what_costs_exactly_the_budget_is_within_it():
    """Two features at 0.1 and 0.2 cost 0.30000000000000004 together."""
    matrix = np.array([[0.0, 0], [1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost([10.0, 5.0], norm="l1").fit(matrix.T, encoder.weights)
    both = stumps([(0.0, 1.0), (0.0, 1.0)], 2.0)
    search = SolverSearch(both, encoder.axes, cost)
    assert search.solve(matrix[:1], 0.3).status[0] == Status.OPTIMAL
    assert search.solve(matrix[:1], 0.2999999).status[0] == Status.NONE


@pytest.mark.parametrize("combine", ["sum", "mean"])
def test_a_model_without_any_score_has_no_recourse(combine):
    """Scores are all 0 and must be above 0, by however little."""
    matrix = np.array([[0.0, 0], [1, 1]])
    encoder = Encoder(matrix)
    cost = ScaledCost(norm="l1").fit(matrix.T, encoder.weights)
    stump = TreeEnsemble.stump(0, 0.5, combine)
    nothing = dataclasses.replace(
        stump, value=np.zeros_like(stump.value), cutoff=np.nextafter(0.0, 1.0)
    )
    search = SolverSearch(nothing, encoder.axes, cost)
    assert (search.solve(matrix).status == Status.NONE).all()


@cache
def loans_forest(n_trees, depth, weight):
    loans = load_loans(n_people=800)
    model = RecourseForestClassifier(
        loans.actions, n_estimators=n_trees, max_depth=depth, recourse_weight=weight,
        cost=PercentileCost(exact=True), random_state=0,
    ).fit(loans.frame, loans.target)  # fmt: skip
    matrix = model.encoder_.matrix(loans.frame)
    return model, matrix, matrix[~model.ensemble_.decide(matrix)]


def three_agree(n_trees, depth, weight, n_people, budget):
    model, matrix, refused = loans_forest(n_trees, depth, weight)
    people, axes = refused[:n_people], model.encoder_.axes
    ours = ExactSearch(model.ensemble_, axes, model.cost_).solve(people, budget)
    theirs = SolverSearch(model.ensemble_, axes, model.cost_).solve(people, budget)
    np.testing.assert_array_equal(theirs.status, ours.status)
    np.testing.assert_array_equal(theirs.cost, ours.cost)
    check_values(model.encoder_, model.ensemble_, model.cost_, people, theirs)
    for i, person in enumerate(people):
        cost, row = milo.cheapest_action(model.ensemble_, axes, person, matrix)
        if cost <= budget:
            assert ours.status[i] == Status.OPTIMAL
            assert ours.cost[i] == pytest.approx(cost, abs=1e-12)
            assert naive.naive_votes(model.ensemble_, row[None])[0] >= model.ensemble_.cutoff
        else:
            assert ours.status[i] == Status.NONE
    return set(ours.status.tolist())


@pytest.mark.parametrize("n_people", quick_of(1, [(30, 30, 10), (120, 80, 20)]))
def test_both_searches_and_the_integer_program_agree_on_forests(n_people):
    seen = three_agree(10, 4, 0.1, n_people[0], np.inf)
    seen |= three_agree(8, 5, 0.0, n_people[1], 0.25)
    seen |= three_agree(16, 4, 0.1, n_people[2], 0.3)
    assert seen == {Status.OPTIMAL, Status.NONE}


@pytest.mark.slow
@pytest.mark.parametrize(("n_trees", "weight"), [(20, 0.1), (30, 0.0), (30, 0.2)])
def test_both_searches_and_the_integer_program_agree_on_larger_forests(n_trees, weight):
    three_agree(n_trees, 5, weight, 60, 0.3)


def test_more_constraints_cost_more_on_a_forest_of_mixed_features():
    model, _, refused = loans_forest(10, 4, 0.1)
    parts = model.ensemble_, model.encoder_.axes, model.cost_
    people = refused[:25]
    free = SolverSearch(*parts).solve(people)
    few = SolverSearch(*parts).solve(people, max_changes=1)
    held = SolverSearch(*parts, relations=["LoanAmount <= 0.2 Income"]).solve(people)
    for more in (few, held):
        assert (more.cost >= free.cost - 1e-6).all() and (more.cost > free.cost + 1e-3).any()
        assert model.ensemble_.decide(more.values[more.found]).all()
    names = model.encoder_.column_names
    loan, income = (held.values[:, names.index(name)] for name in ("LoanAmount", "Income"))
    assert (loan <= 0.2 * income * (1 + 1e-9))[held.found].all()
    moved = [
        (few.values[:, list(axis.columns)] != people[:, list(axis.columns)]).any(axis=1)
        for axis in model.encoder_.axes
    ]
    assert (np.sum(moved, axis=0) <= 1).all()


def test_limits_give_bounds_that_hold_and_a_start_is_never_lost():
    model, _, refused = loans_forest(10, 4, 0.1)
    people = refused[:15]
    l1 = make_cost("l1").fit(refused.T, model.encoder_.weights)
    begin = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_).solve(people).values
    begin[::3] = np.nan
    for relations in ((), ("LoanAmount <= 2 Income",)):
        search = SolverSearch(model.ensemble_, model.encoder_.axes, l1, relations=relations)
        exact = search.solve(people)
        assert (exact.status == Status.OPTIMAL).all()
        cut = search.solve(people, time_limit=0.0)
        assert (cut.status == Status.UNKNOWN).all() and (cut.bound <= exact.cost).all()
        started = search.solve(people, time_limit=0.0, start=begin)
        with_start = ~np.isnan(begin).any(axis=1)
        assert (started.status[~with_start] == Status.UNKNOWN).all()
        assert (started.status[with_start] == Status.FOUND).all()
        assert (started.cost >= exact.cost - 1e-5).all() and (started.gap >= 0).all()
        given = l1.between(people[with_start], begin[with_start])
        assert (started.cost[with_start] <= given + 1e-12).all()
        again = search.solve(people, start=begin)
        np.testing.assert_allclose(again.cost, exact.cost, atol=1e-5)


def test_a_start_that_is_not_allowed_is_passed_over():
    model, _, refused = loans_forest(10, 4, 0.1)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    exact = search.solve(refused[:5], max_changes=2)
    nowhere = np.full(refused[:5].shape, 1e6)
    again = search.solve(refused[:5], max_changes=2, start=nowhere)
    np.testing.assert_array_equal(again.cost, exact.cost)
    still = search.solve(refused[:5], time_limit=0.0, start=refused[:5])
    assert (still.status == Status.UNKNOWN).all()


def test_threads_and_order_do_not_change_the_result():
    model, _, refused = loans_forest(10, 4, 0.1)
    l2 = make_cost("l2").fit(refused.T, model.encoder_.weights)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, l2)
    one = search.solve(refused[:12], n_jobs=1)
    two = search.solve(refused[11::-1], n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values[::-1])
    np.testing.assert_array_equal(one.nodes, two.nodes[::-1])


def test_relations_are_read_as_they_are_written():
    for text, coefficients, upper in (
        ("a <= b", {"a": 1, "b": -1}, 0),
        ("a + b <= 10", {"a": 1, "b": 1}, 10),
        ("2*a - b <= 3", {"a": 2, "b": -1}, 3),
        ("3 a >= -1e2 + .5*`b c`", {"b c": 0.5, "a": -3}, 100),
        ("- a + 2 <= a", {"a": -2}, -2),
    ):
        relation = LinearRelation.parse(text)
        assert relation.coefficients == coefficients and relation.upper == upper
    assert LinearRelation.parse("0.1 a + 0.2 a <= 0.3").holds({"a": 1.0})
    assert not LinearRelation.parse("a <= 0.3").holds({"a": 0.3000001})


def test_wrong_relations_are_refused():
    for text in ("a < b", "a <= b <= c", "<= 3", "a b <= 1", "2* <= a", "a ++ b <= 1", "1 <= 2"):
        with pytest.raises(InvalidSpec, match="relation"):
            LinearRelation.parse(text)
    for coefficients, upper in (({}, 1.0), ({"a": np.nan}, 1.0), ({"a": 1.0}, np.inf)):
        with pytest.raises(InvalidSpec, match="relation"):
            LinearRelation(coefficients, upper)
    model, _, _ = loans_forest(1, 2, 0.0)
    parts = model.ensemble_, model.encoder_.axes, model.cost_
    with pytest.raises(InvalidSpec, match="names 'Wealth'; the features are 'Age'"):
        SolverSearch(*parts, relations=["Wealth <= 3"])
    with pytest.raises(InvalidSpec, match="'Purpose', which is categorical"):
        SolverSearch(*parts, relations=[LinearRelation({"Purpose": 1.0}, 0.0)])
    with pytest.raises(InvalidSpec, match="or text such as 'a <= b'; got 3"):
        SolverSearch(*parts, relations=[3])
    with pytest.raises(InvalidSpec, match="sums of features, not 'if Age changes"):
        SolverSearch(*parts, relations=["if Age changes then Debt changes"])


def test_a_relation_needs_a_cost_that_is_linear_between_knots_and_bounds():
    class Rooted:
        norm = "l1"

        def level(self, column, values):
            return np.sqrt(values)

        def between(self, start, stop):
            return np.abs(np.sqrt(start) - np.sqrt(stop)).sum(axis=1)

    matrix = np.array([[0.0], [4.0]])
    tree = stumps([(0.0, 1.0)], 1.0)
    axes = Encoder(matrix).axes
    assert SolverSearch(tree, axes, Rooted()).solve(matrix[:1]).status[0] == Status.OPTIMAL
    related = SolverSearch(tree, axes, Rooted(), relations=["x0 <= 3"])
    with pytest.raises(InvalidSpec, match="which Rooted does not say of itself"):
        related.solve(matrix[:1])
    open_axis = dataclasses.replace(axes[0].feature, upper=None)
    linear = make_cost("l1").fit(matrix.T, np.ones(1))
    search = SolverSearch(tree, [Axis(open_axis, (0,))], linear, relations=["x0 <= 3"])
    with pytest.raises(InvalidSpec, match="'x0' needs a lower and an upper bound"):
        search.solve(matrix[:1])


def test_wrong_input_is_refused():
    model, _, refused = loans_forest(1, 2, 0.0)
    search = SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)
    for limit in (-1.0, float("nan")):
        with pytest.raises(InvalidSpec, match="time_limit must be 0 seconds or more"):
            search.solve(refused, time_limit=limit)
    with pytest.raises(InvalidSpec, match="max_changes must be 0 or more, got -1"):
        search.solve(refused, max_changes=-1)
    with pytest.raises(InvalidSpec, match="budget must be 0 or more"):
        search.solve(refused, -0.5)
    with pytest.raises(InvalidData, match="start has shape"):
        search.solve(refused, start=refused[:-1])


def test_without_or_tools_it_says_what_to_install(monkeypatch):
    model, _, _ = loans_forest(1, 2, 0.0)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(ImportError, match=r'pip install "ract\[solver\]"'):
        SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)


class Steps:
    """A flag that is raised once it has been looked at so many times."""

    def __init__(self, most):
        self.most, self.looks = most, 0

    def __getitem__(self, _):
        self.looks += 1
        return self.looks > self.most


@pytest.mark.parametrize("combine", ["votes", "mean"])
def test_time_limit_ends_the_building_of_programs(monkeypatch, combine):
    model, _, people = loans_forest(10, 4, 0.1)
    cutoff = 0.6 if combine == "mean" else model.ensemble_.cutoff
    ensemble = dataclasses.replace(model.ensemble_, combine=combine, cutoff=cutoff)
    search = SolverSearch(ensemble, model.encoder_.axes, model.cost_)
    refused = people[~ensemble.decide(people)][0]
    actions, nowhere = Actions(search._setting, refused, 0.5, None), np.full(len(refused), np.nan)
    made, run = [], []
    monkeypatch.setattr(Program, "__init__", counting(Program.__init__, made))
    monkeypatch.setattr(PersonSearch, "_solved", counting(PersonSearch._solved, run))
    for most in range(0, 2000, 3):
        stop = Steps(most)
        one = PersonSearch(actions, Time(stop))
        one.run(nowhere)
        if run:
            break
        assert one.status == Status.UNKNOWN and np.isinf(one.cost)
        assert stop.looks == most + 1
        if not most:
            assert not made
    assert most > 90  # leaves were listed in the meantime, and literals made of them
    assert len(made) > 10


def counting(function, calls):
    """The same function, whose calls are written down."""

    def wrapper(*arguments, **named):
        calls.append(arguments)
        return function(*arguments, **named)

    return wrapper

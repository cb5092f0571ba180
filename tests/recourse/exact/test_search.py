import dataclasses
import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
    import_model,
    recourse_status,
)
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import LinearCost, make_cost
from ract.data.datasets import load_loans
from ract.data.edge import within
from ract.data.encoder import Axis, Encoder
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.exact.decide import ModelDescent
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble
from tests import naive
from tests.builders import (
    check_values,
    quick_of,
    random_ensemble,
    random_problem,
    random_table,
    some_trees,
    stump_on,
    voting_trees,
    with_random_values,
)


def check_against_brute_force(combine, block):
    """200 problems."""
    statuses = set()
    for seed in range(50):
        rng = np.random.default_rng([block, seed])
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        people = matrix[rng.choice(len(matrix), 4, replace=False)]
        search = ExactSearch(ensemble, encoder.axes, cost)
        budget = float(rng.choice([0.0, 0.213, 0.517, np.inf]))
        most = None if rng.random() < 0.6 else int(rng.integers(0, 3))
        solutions = search.solve(people, budget, max_changes=most)
        check_values(encoder, ensemble, cost, people, solutions, budget=budget, max_changes=most)
        for i in range(len(people)):
            best = naive.cheapest_action(ensemble, encoder.axes, people[i], matrix, rng, most)
            if np.isfinite(best) and best <= budget:
                assert solutions.status[i] == Status.OPTIMAL
                assert solutions.cost[i] == pytest.approx(best, abs=1e-12)
            else:
                assert solutions.status[i] == Status.NONE and np.isinf(solutions.cost[i])
            statuses.add(int(solutions.status[i]))
    assert statuses == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("block", quick_of(2, range(15)))
def test_votes_equal_brute_force_in_values(block):
    check_against_brute_force("votes", block)


@pytest.mark.parametrize("combine", ["mean", "sum"])
@pytest.mark.parametrize("block", quick_of(2, range(6)))
def test_sums_equal_brute_force_in_values(combine, block):
    check_against_brute_force(combine, 100 + block)


@pytest.mark.parametrize("seed", range(30))
def test_the_highest_sum_is_found_and_nothing_above_it(seed):
    """Many trees that pull in different directions, at the sum that the best of all cells has.

    No bound may cut off the best point, and every bound must in the end refute a little more.
    """
    rng = np.random.default_rng(seed)
    frame, actions = random_table(rng, 12, n_features=(3, 3))
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = with_random_values(rng, random_ensemble(rng, matrix, 15), "sum")
    ensemble = dataclasses.replace(ensemble, single=False)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    search = ExactSearch(ensemble, encoder.axes, cost)
    problem, own = search.problem, search.problem.cells(matrix[:1])[0]
    costs = problem.costs(matrix[:1], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    values = problem.values(np.repeat(matrix[:1], len(points), 0), np.tile(own, (len(points), 1)),
                            points)  # fmt: skip
    sums = naive.naive_score(ensemble, values)
    for changes in (len(own), 1):
        few = (points != own).sum(axis=1) <= changes
        highest = sums[few].max()
        for wanted, answer in ((highest - 1e-9, Status.FOUND), (highest + 1e-6, Status.NONE)):
            model = search.model.needing(wanted)
            person = ModelDescent(model, own, costs, changes, np.zeros(1, np.uint8))
            left, point = model.within(model.simplified, own, costs, 1e300, changes), own.copy()
            assert person.look(left, 10**6, point)[0] == answer
            if answer == Status.FOUND:
                assert sums[(points == point).all(axis=1)].item() == pytest.approx(highest)
                assert (point != own).sum() <= changes


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("combine", ["votes", "sum"])
def test_the_first_price_at_which_trees_can_have_enough(combine, seed):
    """Never above that of each tree at the best of all cells that are paid for, by enumeration.

    Below where a path through a random tree contradicts itself, as for what is left in each box.
    """
    rng = np.random.default_rng(seed)
    encoder, matrix, ensemble, cost = random_problem(rng, combine)
    search = ExactSearch(ensemble, encoder.axes, cost)
    model, problem = search.model, search.problem
    own = problem.cells(matrix[:1])[0]
    costs = problem.costs(matrix[:1], own[None])[0]
    attained = [np.flatnonzero(np.isfinite(row)) for row in costs]
    points = np.array(list(itertools.product(*attained)))
    values = problem.values(np.repeat(matrix[:1], len(points), 0), np.tile(own, (len(points), 1)),
                            points)  # fmt: skip
    leaf = ensemble.label if combine == "votes" else ensemble.value
    each = leaf[naive.naive_leaves(ensemble, values)]  # points x trees
    price = costs[np.arange(len(own)), points].max(axis=1)
    prices = np.unique(price)
    most = np.array([each[price <= limit].max(axis=0).sum() for limit in prices])
    left = model.within(model.simplified, own, costs, prices[-1], len(own))
    for wanted in np.unique(most):
        asked = model.needing(wanted + (model.rule.base if combine == "sum" else 0.0))
        first = asked.first_price(left, own, costs, prices)
        assert first <= np.flatnonzero(most >= wanted - 1e-9)[0]
        boxes = (asked.within(left, own, costs, limit, len(own)) for limit in prices)
        assert first == next(k for k, there in enumerate(boxes) if asked.may_do(there))


@pytest.mark.parametrize("n_problems", [100, pytest.param(300, marks=pytest.mark.slow)])
def test_limits_give_bounds_that_hold(n_problems):
    seen = set()
    for seed in range(n_problems):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng)
        search = ExactSearch(ensemble, encoder.axes, cost)
        exact = search.solve(matrix)
        for limit in (0, 1, 2):
            cut = search.solve(matrix, max_nodes=limit)
            check_values(encoder, ensemble, cost, matrix, cut)
            best = np.where(exact.found, exact.cost, np.inf)
            assert (cut.bound <= best + 1e-12).all()
            assert (cut.cost >= best - 1e-12).all()
            assert (
                cut.cost[cut.status == Status.OPTIMAL] == best[cut.status == Status.OPTIMAL]
            ).all()
            assert np.isinf(best[cut.status == Status.NONE]).all()
            assert (cut.gap >= 0).all()
            seen |= set(cut.status.tolist())
    assert Status.UNKNOWN in seen and (Status.FOUND in seen or Status.OPTIMAL in seen)


def test_nobody_moves_when_everything_is_fixed():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 5, 30)})
    encoder = Encoder(frame, ActionSpace([Feature("a", change="fixed")], limits=None))
    matrix = encoder.matrix(frame)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    solutions = ExactSearch(stump_on(0, 2.5), encoder.axes, cost).solve(matrix)
    assert list(solutions.status == Status.NONE) == list(frame["a"] <= 2)
    assert (solutions.cost[frame["a"] > 2] == 0).all()


def test_one_leaf_is_decided_at_once():
    matrix = np.array([[0.0], [1.0]])
    encoder = Encoder(matrix)
    cost = make_cost("percentile").fit(matrix.T, encoder.weights)
    for label, status in ((1, Status.OPTIMAL), (0, Status.NONE)):
        leaf = voting_trees([-1], [0.0], [-1], [-1], [label])
        solutions = ExactSearch(leaf, encoder.axes, cost).solve(matrix)
        assert (solutions.status == status).all()


def test_threads_and_order_do_not_change_the_result():
    rng = np.random.default_rng(5)
    encoder, matrix, ensemble, cost = random_problem(rng)
    search = ExactSearch(ensemble, encoder.axes, cost)
    people = np.repeat(matrix, 30, axis=0)
    one, two = search.solve(people, n_jobs=1), search.solve(people, n_jobs=2)
    np.testing.assert_array_equal(one.values, two.values)
    backwards = search.solve(people[::-1])
    np.testing.assert_array_equal(one.values, backwards.values[::-1])


def test_some_trees_are_searched_as_if_they_were_all():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng)
        kept = rng.random(ensemble.n_trees) < 0.6
        if not kept.any():
            continue
        needed = int(rng.integers(1, kept.sum() + 1))
        part = dataclasses.replace(ensemble, root=ensemble.root[kept], cutoff=needed)
        alone = some_trees(ensemble, kept, needed)
        expected = ExactSearch(alone, encoder.axes, cost).solve(matrix)
        trees, votes = np.tile(kept, (len(matrix), 1)), np.full(len(matrix), needed)
        assert (naive.naive_votes(part, expected.values[expected.found]) >= needed).all()
        search, costs = ExactSearch(ensemble, encoder.axes, cost), np.unique(expected.cost)
        for budget in (*costs, *(costs[costs > 0] * (1 - 1e-6))):
            served = expected.found & within(expected.cost, budget)
            found = search.attains(matrix, budget, trees=trees, needed=votes)
            np.testing.assert_array_equal(found, np.where(served, Status.FOUND, Status.NONE))


def test_wrong_input_is_refused():
    rng = np.random.default_rng(1)
    encoder, matrix, ensemble, cost = random_problem(rng)
    search = ExactSearch(ensemble, encoder.axes, cost)
    for budget in (-1.0, float("nan")):
        with pytest.raises(InvalidSpec, match="budget must be a number of 0 or more"):
            search.solve(matrix, budget)
    with pytest.raises(InvalidSpec, match="max_nodes must be a whole number of 0 or more"):
        search.solve(matrix, max_nodes=-1)
    with pytest.raises(InvalidSpec, match="Training needs a cost"):
        ExactSearch(ensemble, encoder.axes, make_cost("l1").fit(matrix.T, encoder.weights))


COMBINE = ["votes", "mean", "sum"]


def naive_strength(ensemble, rows):
    """What each row wins."""
    leaves = naive.naive_leaves(ensemble, rows)
    if ensemble.combine == "votes" and len(ensemble.root) == 1:
        return ensemble.value[leaves[:, 0]]
    if ensemble.combine == "votes":
        return ensemble.label[leaves].mean(axis=1)
    number = np.float32 if ensemble.single else np.float64
    sums = np.full(len(rows), ensemble.base, number)
    for leaf in leaves.T:
        sums = (sums + ensemble.value[leaf]).astype(number)
    score = sums.astype(float) / (len(ensemble.root) if ensemble.combine == "mean" else 1)
    values = ensemble.value[ensemble.feature < 0]
    if ensemble.combine == "mean" and ((values >= 0) & (values <= 1)).all():
        return score  # means of shares; other scores have no scale of their own
    if ensemble.combine == "mean" and ((values >= -1) & (values <= 0)).all():
        return 1 + score  # shares of the other class, negated
    return 1 / (1 + np.exp(-score))


def every_action(encoder, ensemble, person, matrix, rng, max_changes):
    """All rows that a person may reach, with their costs, strengths and decisions."""
    rows = naive.allowed_rows(
        ensemble, encoder.axes, person, matrix, rng, max_changes=max_changes
    )  # fmt: skip
    weights = [axis.feature.weight for axis in encoder.axes for _ in axis.columns]
    prices = naive.price_rows("percentile", matrix, weights, person, rows)
    return rows, prices, naive_strength(ensemble, rows), naive.naive_decision(ensemble, rows)


def problems(combine, block):
    for seed in range(40):
        rng = np.random.default_rng([block, seed])
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        people = matrix[rng.choice(len(matrix), 3, replace=False)]
        budget = float(rng.choice([0.213, 0.517, np.inf]))
        most = None if rng.random() < 0.6 else int(rng.integers(0, 3))
        yield rng, encoder, matrix, ensemble, cost, people, budget, most


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("block", quick_of(1, range(6)))
def test_the_cheapest_plan_of_a_strength_equals_brute_force(combine, block):
    statuses = set()
    for rng, encoder, matrix, ensemble, cost, people, budget, most in problems(combine, block):
        strength = float(rng.choice([0.3, 0.5, 0.6, 0.75, 0.9]))
        search = ExactSearch(ensemble.stronger(strength), encoder.axes, cost)
        answers = search.solve(people, budget, max_changes=most)
        for i, person in enumerate(people):
            _, prices, won, accepted = every_action(encoder, ensemble, person, matrix, rng, most)
            wanted = accepted & (won >= strength - 1e-12) & (prices <= budget + 1e-12)
            best = min(prices[wanted], default=np.inf)
            assert answers.cost[i] == pytest.approx(best, abs=1e-12)
            assert answers.status[i] == (Status.OPTIMAL if np.isfinite(best) else Status.NONE)
            statuses.add(int(answers.status[i]))
    assert statuses == {Status.OPTIMAL, Status.NONE}


@pytest.mark.parametrize("combine", COMBINE)
@pytest.mark.parametrize("block", quick_of(1, range(6)))
def test_the_strongest_plan_equals_brute_force(combine, block):
    n_found = n_dearer = 0
    for rng, encoder, matrix, ensemble, cost, people, budget, most in problems(combine, 50 + block):
        search = ExactSearch(ensemble, encoder.axes, cost)
        answers = search.solve(people, budget, max_changes=most, strongest=True)
        cheapest = search.solve(people, budget, max_changes=most)
        for i, person in enumerate(people):
            rows, prices, _, accepted = every_action(encoder, ensemble, person, matrix, rng, most)
            within = accepted & (prices <= budget + 1e-12)
            if not within.any():
                assert answers.status[i] == Status.NONE
                continue
            score = ensemble.score(rows[within])
            best = min(prices[within][score == score.max()])
            assert answers.status[i] == Status.OPTIMAL
            assert ensemble.score(answers.values[i][None])[0] == score.max()
            assert answers.cost[i] == pytest.approx(best, abs=1e-12)
            n_found += 1
            n_dearer += answers.cost[i] > cheapest.cost[i]
    assert n_found > 20 and n_dearer > 5


def one_tree(rng, ensemble):
    """The first of some voting trees alone, with a share of its own in every leaf."""
    last = ensemble.root[1] if len(ensemble.root) > 1 else len(ensemble.feature)
    nodes = {name: getattr(ensemble, name)[:last] for name in
             ("feature", "threshold", "left", "right", "label")}  # fmt: skip
    value = np.round(rng.random(last), 1)
    return replace(ensemble, **nodes, value=value, root=ensemble.root[:1], cutoff=1)


@pytest.mark.parametrize("kind", [ExactSearch, AdditiveSearch])
def test_the_strongest_plan_of_one_tree_has_the_largest_share(kind):
    """Whatever its label: a leaf may be refused at a larger share than another is accepted at."""
    n_found = n_dearer = 0
    cases = itertools.chain(*(problems("votes", block) for block in range(90, 93)))
    for rng, encoder, matrix, trees, cost, people, budget, most in cases:
        ensemble = one_tree(rng, trees)
        added = kind is AdditiveSearch
        if added:
            cost = make_cost("l1").fit(matrix.T, encoder.weights)
        search = kind(ensemble, encoder.axes, cost)
        answers = search.solve(people, budget, max_changes=most, strongest=True)
        cheapest = search.solve(people, budget, max_changes=most)
        for i, person in enumerate(people):
            rows, prices, won, accepted = every_action(encoder, ensemble, person, matrix, rng, most)
            if added:
                prices = naive.price_rows("l1", matrix, encoder.weights, person, rows)
            within = accepted & (prices <= budget + 1e-12)
            if not within.any():
                assert answers.status[i] == Status.NONE
                continue
            best = won[within].max()
            assert answers.status[i] == Status.OPTIMAL
            assert naive_strength(ensemble, answers.values[i][None])[0] == best
            least = min(prices[within][won[within] == best])
            assert answers.cost[i] == pytest.approx(least, abs=1e-12)
            n_found += 1
            n_dearer += answers.cost[i] > cheapest.cost[i] + 1e-9
    assert n_found > 20 and n_dearer > 5


@pytest.mark.parametrize("combine", ["mean", "sum"])
def test_scores_that_are_all_0_have_a_strongest_plan(combine):
    """Then no bound is above what is needed, and none gets closer."""
    stump = TreeEnsemble.stump(0, 0.5, combine)
    search = ExactSearch(
        replace(stump, value=np.zeros(3), cutoff=0.0),
        [Axis(Feature("x", "continuous", lower=0, upper=1), (0,))],
        LinearCost("max", np.ones(1)),
    )
    answers = search.solve(np.zeros((1, 1)), 1.0, strongest=True, time_limit=20)
    assert answers.status[0] == Status.OPTIMAL and answers.cost[0] == 0


def strongest_by_hand(encoder, ensemble, person, matrix, budget):
    """Largest share, and the least cost of it, of the accepted actions of one person."""
    rng = np.random.default_rng(0)
    _, prices, won, accepted = every_action(encoder, ensemble, person, matrix, rng, None)
    within = accepted & (prices <= budget + 1e-12)
    if not within.any():
        return np.nan, np.inf
    best = won[within].max()
    return best, prices[within & (won == best)].min()


@pytest.mark.parametrize("imported", [False, True])
def test_a_tree_gives_its_strongest_plan(imported):
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.integers(0, 8, (150, 3)), columns=list("abc"))
    target = frame.sum(axis=1) + rng.integers(0, 8, 150) > 13
    space = ActionSpace([Feature(name, change="any") for name in frame], limits=None)
    if imported:
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(frame, target)
        model = import_model(tree, frame, space, desired=True)
    else:
        model = RecourseTreeClassifier(space, desired=True, max_depth=4).fit(frame, target)
    people = frame[~model.predict(frame).astype(bool)].head(20)
    plans = model.recourse(people, budget=0.4, strength="most", explain=False)
    plain = model.recourse(people, budget=0.4, explain=False)
    encoder, matrix = plans.question.encoder, plans.question.encoder.matrix(frame)
    for i in range(len(people)):
        ensemble = plans.question.ensemble
        best, cost = strongest_by_hand(encoder, ensemble, plans.before[i], matrix, 0.4)
        assert plans.strength[i] == pytest.approx(best, nan_ok=True)
        assert plans.cost[i] == pytest.approx(cost, abs=1e-9)
    assert (plans.strength > plain.strength).sum() > 3


def beyond(encoder, ensemble, person, plan, matrix, rng):
    """Every row between a plan and the bounds of its features, in its directions."""
    options = []
    for axis in encoder.axes:
        columns = list(axis.columns)
        here, now = person[columns], plan[columns]
        n, change = len(columns), axis.feature.change
        if axis.is_categorical and (here != now).any() and change in ("increase", "decrease"):
            to = int(now.argmax())
            further = range(to, n) if change == "increase" else range(to + 1)
            options.append([tuple(np.eye(n)[k]) for k in further])
            continue
        if axis.is_categorical or (here == now).all():
            options.append([tuple(now)])
            continue
        thresholds = ensemble.threshold[ensemble.feature == columns[0]]
        each = naive.options_of_feature(axis.feature, columns, person, matrix, thresholds, rng)
        up = now[0] > here[0]
        further = [v for v, _ in each if (v[0] >= now[0] if up else v[0] <= now[0])]
        options.append(sorted({tuple(now), *further}))
    order = [j for axis in encoder.axes for j in axis.columns]
    rows = [[v for part in row for v in part] for row in itertools.product(*options)]
    matrix = np.empty((len(rows), len(order)))
    matrix[:, order] = rows
    return matrix


@pytest.mark.parametrize("block", quick_of(1, range(5)))
def test_whoever_does_more_than_an_at_least_plan_is_accepted(block):
    """And the cheapest plan is kept wherever it has that property itself."""
    n_held = n_other = n_limited = 0
    for seed in range(5):
        rng = np.random.default_rng([block, seed])
        frame, actions = random_table(rng, 60, ["continuous", "integer"], n_features=(2, 3))
        y = rng.random(60) < 0.5
        forest = RecourseForestClassifier(
            actions, desired=True, n_estimators=15, min_samples_leaf=5, random_state=seed
        )
        model = forest.fit(frame, y)
        encoder, trees = model.encoder_, model.ensemble_
        matrix = encoder.matrix(frame)
        strength = float(rng.choice([0.0, 0.7]))
        asked = {"budget": 0.6, "explain": False, "strength": strength}
        plain = model.recourse(frame, **asked)
        plans = model.recourse(frame, at_least=True, **asked)
        assert (plans.found == plain.found).all()
        assert (plans.cost >= plain.cost).all()
        for i in np.flatnonzero(plain.found):
            args = encoder, trees, plans.before[i]
            alone = naive.naive_decision(trees, beyond(*args, plain.after[i], matrix, rng)).all()
            after = beyond(*args, plans.after[i], matrix, rng)
            holds = naive.naive_decision(trees, after).all()
            if alone:
                assert plans.cost[i] == plain.cost[i] and plans.status[i] == "optimal"
            elif holds:
                assert plans.strength[i] >= strength
                n_other += 1
            changed = plans.changed[i] & ~np.array([axis.is_categorical for axis in encoder.axes])
            inside = np.ones(len(after), bool)
            for a in np.flatnonzero(changed):
                j = encoder.axes[a].columns[0]
                inside &= (after[:, j] >= plans.low[i, a]) & (after[:, j] <= plans.high[i, a])
            assert naive.naive_decision(trees, after[inside]).all()
            if holds:  # then the ranges say so
                assert inside.all()
                n_held += 1
            else:
                n_limited += 1
    assert n_held > 20 and n_other + n_limited > 0


@pytest.mark.parametrize("change", ["increase", "decrease"])
def test_whoever_enters_a_category_beyond_an_at_least_plan_is_accepted(change):
    """One that may only rise or fall has an order: "to College" says nothing of Graduate."""
    rng = np.random.default_rng(7)
    levels = ["None", "School", "College", "Graduate"]
    if change == "decrease":
        levels.reverse()
    frame = pd.DataFrame({"Education": rng.choice(levels, 200), "Income": rng.integers(0, 10, 200)})
    target = (frame["Education"] == "College") | (frame["Income"] > 6)
    education = Feature("Education", "categorical", change, categories=levels)
    space = ActionSpace(
        [education, Feature("Income", "integer", "increase", lower=0, upper=9)], limits=None
    )
    model = RecourseTreeClassifier(space, desired=True, max_depth=3).fit(frame, target)
    people = frame[~model.predict(frame)].head(40)
    plain = model.recourse(people, budget=np.inf, explain=False)
    plans = model.recourse(people, budget=np.inf, at_least=True, explain=False)
    encoder, trees = model.encoder_, model.ensemble_
    matrix, n_unsafe = encoder.matrix(frame), 0
    for i, plan in enumerate(plans):
        args = encoder, trees, plans.before[i]
        rows = beyond(*args, plans.after[i], matrix, rng)
        assert plan.at_least == naive.naive_decision(trees, rows).all()
        rows = beyond(*args, plain.after[i], matrix, rng)
        n_unsafe += not naive.naive_decision(trees, rows).all()
    assert plans.found.all() and n_unsafe > 3


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=800)


@pytest.fixture(scope="module")
def forest(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=30, min_samples_leaf=5, random_state=0
    )
    return forest.fit(loans.frame, loans.target)


def test_every_option_combines_with_a_strength(forest, loans):
    some = loans.frame[forest.predict(loans.frame) == "refused"].head(12)
    needed = forest.recourse(some, strength=0.7, explain=False)
    assert needed.found.any()
    for options in (
        {"max_changes": 2},
        {"n_alternatives": 2},
        {"margin": 0.05, "ranges": True},
        {"overrides": {some.index[0]: {"Income": "fixed"}}},
        {"effects": {("Income", "Savings"): 0.3}},
        {"actions": forest.encoder_.space.with_rules("Debt <= Savings")},
        {"method": "leaves"},
        {"cost": "l1", "reference": loans.frame},
        {"plausibility": "isolation_forest", "reference": loans.frame},
    ):
        plans = forest.recourse(some, strength=0.7, explain=False, **options)
        outcomes = forest.encoder_.matrix(plans.outcomes)
        votes = naive.naive_votes(forest.ensemble_, outcomes) / 30
        assert (votes[plans.found] >= 0.7).all()
        assert np.array_equal(votes[plans.found], plans.strength[plans.found])
        for plan in plans:
            assert all(other.strength >= 0.7 for other in plan.alternatives)


def test_a_strength_is_asked_of_has_recourse_too(forest, loans):
    some = loans.frame.head(60)
    plans = forest.recourse(some, strength=0.8, explain=False)
    there = recourse_status(forest, some, strength=0.8)
    assert ((there == "found") == plans.found).all()
    assert (plans.status == "accepted").sum() == (forest.predict(some) == "approved").sum()


def test_a_tree_counts_the_share_of_its_leaf(loans):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4).fit(loans.frame, loans.target)
    plans = tree.recourse(loans.frame.head(80), strength=0.8, explain=False)
    leaf = tree.ensemble_.apply(plans.after[plans.found])[:, 0]
    assert plans.found.any()
    assert (tree.ensemble_.value[leaf] >= 0.8).all() and tree.ensemble_.label[leaf].all()
    assert np.array_equal(plans.strength[plans.found], tree.ensemble_.value[leaf])


def test_the_sentence_and_the_tables_say_the_strength(forest, loans):
    some = loans.frame[forest.predict(loans.frame) == "refused"].head(30)
    plans = forest.recourse(some, strength=0.97)
    nobody = int(np.flatnonzero(~plans.found)[0])
    assert "leads to approved with a strength of 0.97 within the budget" in plans[nobody].describe()
    assert np.isnan(plans[nobody].strength)
    frame = plans.to_frame()
    assert (frame["strength"].dropna() >= 0.97).all()
    assert "strength" in plans.to_frame("wide")


@pytest.mark.parametrize("strength", ["strong", -0.1, 1.1, True, [0.8]])
def test_what_is_no_strength_is_refused(forest, loans, strength):
    with pytest.raises(InvalidSpec, match="strength must be a share from 0 to 1"):
        forest.recourse(loans.frame.head(3), strength=strength)


def test_what_the_strongest_plan_cannot_be_combined_with_is_refused(forest, loans):
    for options in ({"margin": 0.1}, {"at_least": True}, {"method": "leaves"}):
        with pytest.raises(InvalidSpec, match="strength='most'"):
            forest.recourse(loans.frame.head(3), strength="most", **options)


def test_imported_scores_are_probabilities(loans):
    """HistGradientBoosting: the strength is its own predict_proba."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    numbers = loans.frame.select_dtypes("number")
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(numbers, loans.target)
    from ract import ActionSpace

    space = ActionSpace.infer(numbers, fixed=["Age"], limits=None)
    plans = find_recourse(
        model, numbers.head(40), actions=space, reference=numbers, desired="approved",
        strength=0.8, explain=False,
    )  # fmt: skip
    column = list(model.classes_).index("approved")
    after = model.predict_proba(plans.counterfactuals)[:, column]
    assert plans.found.sum() > 5
    assert (after[plans.found] >= 0.8 - 1e-9).all()
    assert after[plans.found] == pytest.approx(plans.strength[plans.found], abs=1e-9)

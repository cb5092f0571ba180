"""Plans that win more than the decision needs, against every action there is."""

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
from ract.data.encoder import Axis
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble
from tests import naive
from tests.builders import quick_of, random_problem, random_table

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

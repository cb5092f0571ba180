"""Rules between features, beside every action of small random tables."""

import dataclasses
import itertools
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data import ActionSpace, Feature
from ract.data.actions.rules import NoTransition, as_rule
from ract.data.costs import CombinedCost, fit_cost, make_cost
from ract.data.encoder import Encoder
from ract.recourse.additive.search import AdditiveSearch, SeveralAdditiveSearch
from ract.recourse.exact.search import ExactSearch
from ract.recourse.exact.several import SeveralSearch
from ract.recourse.rules.ruling import Ruling
from ract.recourse.rules.search import RuledSearch
from tests import naive
from tests.builders import (
    n_changes,
    quick_of,
    random_ensemble,
    random_table,
    with_limits,
    with_random_values,
)

DISCRETE = ["integer", "integer", "binary", "categorical"]
OBJECTIVES = {
    "largest": "percentile",
    "sum": CombinedCost("percentile"),
    "per change": CombinedCost("percentile", per_change=0.15),
    "both": CombinedCost("percentile", per_change=0.05, largest=0.3),
}
KINDS = ("order", "sum", "equal", "together", "implies", "never")


def random_rule(rng, kind, space):
    """A rule of a kind as text, or None where the features have none such."""
    numbers = [f.name for f in space if not f.is_categorical]
    categories = [f for f in space if f.is_categorical]
    a, b = rng.choice(space.names, 2, replace=False)
    if kind in ("order", "sum", "equal") and len(numbers) < 2:
        return None
    if kind == "order":
        return "{} <= {}".format(*rng.choice(numbers, 2, replace=False))
    if kind in ("sum", "equal"):
        names = rng.choice(numbers, min(len(numbers), 3), replace=False)
        terms = " + ".join(f"{rng.integers(1, 3)} * {name}" for name in names)
        return f"{terms} {'=' if kind == 'equal' else '<='} {rng.integers(2, 12)}"
    if kind == "together":
        return f"if {a} changes then {b} {rng.choice(['changes', 'stays'])}"
    if kind == "never":
        if not categories:
            return None
        source, target = rng.choice(["u", "v", "w", "z"], 2, replace=False)
        to = f" to {target}" if rng.random() < 0.5 else ""
        return f"never {categories[0].name} from {source}{to}"

    def condition(name):
        if space[name].is_categorical:
            return f"{name} {rng.choice(['=', '!='])} {rng.choice(['u', 'v', 'w', 'z'])}"
        return f"{name} {rng.choice(['=', '!=', '<=', '>='])} {rng.choice([0, 1, 2.5, 4])}"

    return f"if {condition(a)} then {condition(b)}"


def naive_condition(condition, axis, own, rows):
    at = list(axis.columns)
    changed = (rows[:, at] != own[at]).any(axis=1)
    if condition.sign in ("changes", "stays"):
        return changed == (condition.sign == "changes")
    value, here = condition.value, rows[:, at[0]]
    if axis.is_categorical:
        here = np.array([axis.feature.categories[k] for k in rows[:, at].argmax(axis=1)])
    compare = {
        "=": np.equal, "!=": np.not_equal, "<=": np.less_equal, ">=": np.greater_equal,
    }  # fmt: skip
    return compare[condition.sign](here, value)


def naive_keeps(rule, encoder, own, rows):
    """Whether rows keep a rule, from what it says."""
    axes = {axis.feature.name: axis for axis in encoder.axes}
    if isinstance(rule, NoTransition):
        at = list(axes[rule.feature].columns)
        known = axes[rule.feature].feature.categories
        here, there = known[own[at].argmax()], [known[k] for k in rows[:, at].argmax(axis=1)]
        bad = [here == rule.source and t != here and rule.target in (None, t) for t in there]
        return ~np.array(bad)
    if hasattr(rule, "coefficients"):
        total = sum(c * rows[:, axes[n].columns[0]] for n, c in rule.coefficients.items())
        return np.abs(total - rule.upper) < 1e-9 if rule.equal else total <= rule.upper + 1e-9
    first, second = (
        naive_condition(each, axes[each.feature], own, rows)
        for each in (rule.condition, rule.consequence)
    )
    return ~first | second


class Case:
    """A random person under random rules, and every action that they have.

    weights: those that features have one of, where it is not left to the table.
    """

    def __init__(self, seed, kinds, objective, n_models=1, table=DISCRETE, weights=()):
        rng = self.rng = np.random.default_rng(seed)
        while True:
            with suppress(InvalidSpec):
                frame, actions = random_table(rng, int(rng.integers(8, 20)), table, (2, 4))
                if weights:
                    actions = actions.with_features(
                        dataclasses.replace(f, weight=float(rng.choice(weights))) for f in actions
                    )
                if rng.random() < 0.5:  # who stands beyond a bound has no round way back
                    actions = actions.with_features(
                        dataclasses.replace(f, step=float(rng.integers(1, 3)))
                        if f.kind == "integer" and f.lower is None
                        else f
                        for f in actions
                    )
                if rng.random() < 0.5:
                    actions = with_limits(rng, frame, actions)
                texts = [random_rule(rng, kind, actions) for kind in kinds]
                actions = ActionSpace(
                    actions, limits=None, steps=None, rules=[t for t in texts if t]
                )
                self.encoder = Encoder(frame, actions)
                break
        matrix = self.encoder.matrix(frame)
        self.ensembles = []
        for _ in range(n_models):
            ensemble = random_ensemble(rng, matrix, int(rng.integers(1, 9)))
            combine = str(rng.choice(["votes", "mean", "sum"]))
            if combine != "votes":
                ensemble = with_random_values(rng, ensemble, combine)
            self.ensembles.append(ensemble)
        learner = OBJECTIVES[objective]
        self.cost = fit_cost(
            learner, matrix.T, self.encoder.weights, exact=True,
            features=[axis.columns for axis in self.encoder.axes],
        )  # fmt: skip
        self.person = matrix[rng.integers(len(matrix))]
        self.space = self.encoder.space
        norm = "max" if objective == "largest" else "l1"
        self.rows, efforts, changed = naive.every_plan(
            self.ensembles, self.encoder.axes, self.person, matrix, rng, norm
        )
        self.n_changed = changed.sum(axis=1)
        self.costs = efforts.max(axis=1)
        if objective != "largest":
            part = learner.largest
            self.costs = part * self.costs + (1 - part) * efforts.sum(axis=1)
            self.costs += learner.per_change * self.n_changed
        self.kept = np.ones(len(self.rows), bool)
        for ensemble in self.ensembles:
            self.kept &= naive.naive_decision(ensemble, self.rows)
        for rule in self.space.rules:
            self.kept &= naive_keeps(rule, self.encoder, self.person, self.rows)

    @property
    def search(self):
        axes, adds = self.encoder.axes, self.cost.norm != "max"
        if len(self.ensembles) > 1:
            kind = SeveralAdditiveSearch if adds else SeveralSearch
            plain = kind(self.ensembles, axes, self.cost)
        else:
            kind = AdditiveSearch if adds else ExactSearch
            plain = kind(self.ensembles[0], axes, self.cost)
        return RuledSearch(plain, Ruling(self.space.rules, axes, self.cost))

    def check(self, budget=np.inf, max_changes=None, **options):
        """Solve and compare with the cheapest of all rows."""
        most = len(self.encoder.axes) if max_changes is None else max_changes
        within = self.kept & (self.n_changed <= most) & (self.costs <= budget * (1 + 1e-12))
        best = min(self.costs[within], default=np.inf)
        answers = self.search.solve(self.person[None], budget, max_changes=max_changes, **options)
        if np.isinf(best):
            assert answers.status[0] == Status.NONE
            return answers
        assert answers.status[0] == Status.OPTIMAL
        values = answers.values[0]
        assert np.isclose(answers.cost[0], best, rtol=3e-9, atol=1e-12)
        assert np.isclose(self.cost.between(self.person[None], values[None])[0], best)
        assert all(ensemble.decide(values[None])[0] for ensemble in self.ensembles)
        assert n_changes(self.encoder, self.person[None], values[None])[0] <= most
        for rule in self.space.rules:
            assert naive_keeps(rule, self.encoder, self.person, values[None])[0]
        assert (self.rows == values).all(axis=1).any()
        return answers


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", quick_of(1, range(40)))
def test_the_cheapest_of_all_actions_that_keep_a_rule_is_found(kind, objective, part):
    for seed in range(8 * part, 8 * part + 8):
        case = Case([KINDS.index(kind), seed], [kind], objective)
        case.check()
        case.check(budget=float(case.rng.uniform(0.1, 0.8)))
        case.check(max_changes=int(case.rng.integers(1, 3)))


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("part", quick_of(1, range(40)))
def test_several_rules_hold_at_once_and_before_several_models(objective, part):
    for seed in range(10 * part, 10 * part + 10):
        rng = np.random.default_rng(seed)
        kinds = rng.choice(KINDS, int(rng.integers(2, 4)))
        case = Case([77, seed], kinds, objective, n_models=int(rng.integers(1, 3)))
        case.check()
        case.check(max_changes=2)


@pytest.mark.parametrize("seed", range(20))
def test_preferences_and_reach_follow_the_rules(seed):
    case = Case([5, seed], ["implies", "order"], "sum")
    answers = case.search.solve(case.person[None], prefer="fewest")
    reached = case.search.attains(case.person[None], 0.4)[0]
    within = case.kept & (case.costs <= 0.4 * (1 + 1e-12))
    assert reached == (Status.FOUND if within.any() else Status.NONE)
    if not case.kept.any():
        assert answers.status[0] == Status.NONE
        return
    fewest = case.n_changed[case.kept].min()
    best = case.costs[case.kept & (case.n_changed == fewest)].min()
    assert np.isclose(answers.cost[0], best)


@pytest.mark.parametrize("seed", range(15))
def test_alternatives_keep_the_rules_and_none_holds_an_earlier_one(seed):
    case = Case([6, seed], ["sum", "together"], "largest")
    answers = case.search.solve(case.person[None], n_alternatives=2)
    if 0 not in answers.alternatives:
        return
    plans = [answers.values[0], *answers.alternatives[0].values]
    sets = []
    for values in plans:
        for rule in case.space.rules:
            assert naive_keeps(rule, case.encoder, case.person, values[None])[0]
        assert case.ensembles[0].decide(values[None])[0]
        columns = [list(axis.columns) for axis in case.encoder.axes]
        sets.append({tuple(at) for at in columns if (values[at] != case.person[at]).any()})
    assert not any(one <= other for k, other in enumerate(sets) for one in sets[:k])


def cheapest_by_cells(ensemble, encoder, cost, rules, own):
    """The least cost over all accepted cells, each by a linear program of its own.

    Cells are taken in the order of what they cost without the rules, until one costs more than
    the best.
    """
    ends = []
    for axis in encoder.axes:
        feature, j = axis.feature, axis.columns[0]
        low = feature.lower if feature.change in ("any", "decrease") else own[j]
        high = feature.upper if feature.change in ("any", "increase") else own[j]
        low, high = min(low, own[j]), max(high, own[j])
        cuts = np.unique(ensemble.threshold[ensemble.feature == j])
        cuts = np.append(cuts[(cuts >= low) & (cuts < high)], high)
        ends.append(list(zip([low, *np.nextafter(cuts[:-1], np.inf)], cuts, strict=True)))
    factors = np.array([np.ptp(cost.level(j, np.arange(2.0))) for j in range(len(own))])
    whole = np.array([axis.feature.kind != "continuous" for axis in encoder.axes])
    cells = np.array(list(itertools.product(*ends)))  # (cells, columns, 2)
    low, high = np.where(whole, np.ceil(cells[..., 0]), cells[..., 0]), cells[..., 1]
    high = np.where(whole, np.floor(high), high)
    kept = (low <= high).all(axis=1)
    kept[kept] = naive.naive_decision(ensemble, low[kept])
    low, high = low[kept], high[kept]
    efforts = factors * np.abs(np.clip(own, low, high) - own)
    least = efforts.max(axis=1) if cost.norm == "max" else efforts.sum(axis=1)
    best = np.inf
    for k in np.argsort(least):
        if least[k] >= best:
            break
        best = min(best, cheapest_inside(cost.norm, factors, rules, encoder, own, low[k], high[k]))
    return best


def cheapest_inside(norm, factors, rules, encoder, own, low, high):
    """The same in one cell: values and efforts are variables."""
    n, column = len(own), {axis.feature.name: axis.columns[0] for axis in encoder.axes}
    rows, upper = [], []
    for rule in rules:
        row = np.zeros(2 * n)
        for name, factor in rule.coefficients.items():
            row[column[name]] = factor
        rows += [row, -row] if rule.equal else [row]
        upper += [rule.upper, -rule.upper] if rule.equal else [rule.upper]
    for j, sign in itertools.product(range(n), (1, -1)):
        row = np.zeros(2 * n)
        row[j], row[n if norm == "max" else n + j] = sign * factors[j], -1
        rows.append(row)
        upper.append(sign * factors[j] * own[j])
    goal = np.append(np.zeros(n), np.ones(n))
    whole = [axis.feature.kind != "continuous" for axis in encoder.axes]
    found = milp(
        goal, integrality=np.append(whole, np.zeros(n)),
        bounds=Bounds(np.append(low, np.zeros(n)), np.append(high, np.full(n, np.inf))),
        constraints=LinearConstraint(np.array(rows), -np.inf, upper),
    )  # fmt: skip
    return found.fun if found.status == 0 else np.inf


@pytest.mark.parametrize("objective", ["range", "l1"])
@pytest.mark.parametrize("part", quick_of(1, range(20)))
def test_numbers_without_steps_take_the_values_that_linear_programs_find(objective, part):
    for seed in range(6 * part, 6 * part + 6):
        rng = np.random.default_rng([9, seed])
        while True:
            with suppress(InvalidSpec):  # bounds that all lie outside of the table
                frame, actions = random_table(rng, 15, ["continuous", "integer"], (2, 3))
                texts = [random_rule(rng, kind, actions) for kind in ("order", "sum")]
                space = ActionSpace(actions, limits=None, steps=None, rules=texts)
                encoder = Encoder(frame, space)
                break
        matrix = encoder.matrix(frame)
        ensemble = random_ensemble(rng, matrix, 5)
        cost = make_cost(objective).fit(matrix.T, encoder.weights)
        kind = AdditiveSearch if objective == "l1" else ExactSearch
        ruling = Ruling(space.rules, encoder.axes, cost)
        search = RuledSearch(kind(ensemble, encoder.axes, cost), ruling)
        people = matrix[:3]
        ours = search.solve(people)
        for i, own in enumerate(people):
            least = cheapest_by_cells(ensemble, encoder, cost, space.rules, own)
            assert np.isclose(ours.cost[i], least, rtol=3e-5, atol=1e-7)
            assert ours.status[i] == (Status.OPTIMAL if np.isfinite(least) else Status.NONE)
            if np.isfinite(ours.cost[i]):
                assert ensemble.decide(ours.values[[i]])[0]
                assert ruling.hold(people[[i]], ours.values[[i]], 1e-9)[0]


def test_shares_keep_their_sum_and_cost_as_little_as_they_can():
    names, rng = ["rent", "food", "other"], np.random.default_rng(0)
    shares = rng.dirichlet([2, 2, 2], 40)
    space = ActionSpace(
        [Feature(name) for name in names], limits=None, steps=None,
        rules=["rent + food + other = 1"],
    )  # fmt: skip
    encoder = Encoder(pd.DataFrame(shares, columns=names), space)
    cost = make_cost("l1").fit(shares.T, encoder.weights)
    stump = with_random_values(rng, random_ensemble(rng, shares, 1), "sum")
    stump = dataclasses.replace(
        stump, feature=np.array([0, -1, -1], np.int32), threshold=np.array([0.3, 0, 0]),
        left=np.array([1, -1, -1], np.int32), right=np.array([2, -1, -1], np.int32),
        value=np.array([0.0, 1.0, 0.0]), label=np.array([0, 1, 0], np.int8),
        root=np.array([0], np.int32), base=0.0, cutoff=0.5, single=False,
    )  # fmt: skip
    ruling = Ruling(space.rules, encoder.axes, cost)
    search = RuledSearch(AdditiveSearch(stump, encoder.axes, cost), ruling)
    people = shares[shares[:, 0] > 0.31]
    answers = search.solve(people)
    assert (answers.status == Status.OPTIMAL).all()
    assert np.allclose(answers.values.sum(axis=1), 1, rtol=1e-9)
    widths = shares.max(axis=0) - shares.min(axis=0)
    for person, found in zip(people, answers.cost, strict=True):
        down, best = person[0] - 0.3, np.inf
        for part in np.linspace(0, 1, 2001):  # of what food takes up
            food, other = person[1] + part * down, person[2] + (1 - part) * down
            if food <= shares[:, 1].max() and other <= shares[:, 2].max():
                price = down / widths[0] + part * down / widths[1] + (1 - part) * down / widths[2]
                best = min(best, price)
        assert found <= best * (1 + 1e-9)
        assert found >= best * (1 - 2e-3)


@pytest.mark.parametrize(
    "text",
    [
        "a <= b", "2 * a - 0.5 * b <= 3", "`my a` + b = 1", "if a changes then b changes",
        "if job = `top manager` then age >= 22", "if x != 3 then y <= 2.5",
        "never job from clerk to `top manager`", "never job to clerk", "never licence from yes",
        "if `if then` stays then b stays",
    ],
)  # fmt: skip
def test_a_rule_is_read_as_it_is_written(text):
    assert as_rule(str(as_rule(text))) == as_rule(text)

"""Bounds against their definitions, the walk against a naive one, and both against the truth."""

import os
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import clopper_pearson_upper
from ract.data.costs import make_cost
from ract.data.datasets import LoansModel
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.models import guarantee
from ract.models.guarantee import (
    Guarantee,
    GuaranteeWarning,
    pac_people_needed,
    pac_slack,
    sequence_people_needed,
)
from ract.trees.cover import Attainment, majority_labels, own_leaves
from ract.trees.grower import GrowRules, People, grow_tree
from tests.builders import quick_of

relabel_pac = partial(guarantee.relabel, method="pac")
relabel_sequence = partial(guarantee.relabel, method="sequence")

CONFIDENCE = 0.9


@pytest.mark.parametrize("max_risk", [0.01, 0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("confidence", [0.5, 0.75, 0.9, 0.95, 0.99])
def test_the_numbers_of_people_needed_are_the_smallest_that_do(max_risk, confidence):
    for n_leaves in (0, 1, 7, 100):
        n = pac_people_needed(n_leaves, max_risk, confidence)
        assert pac_slack(n_leaves, n, confidence) <= max_risk
        assert n == 1 or pac_slack(n_leaves, n - 1, confidence) > max_risk
    n = sequence_people_needed(max_risk, confidence)
    assert clopper_pearson_upper(0, n, confidence) <= max_risk
    assert n == 1 or clopper_pearson_upper(0, n - 1, confidence) > max_risk


def test_slack_equals_the_proposition():
    expected = np.sqrt((np.log(2**12) - np.log(0.05)) / (2 * 800))
    assert pac_slack(12, 800, 0.95) == pytest.approx(expected)


def draw(rng, n, n_cells=12):
    """People on two axes, who can move up on the first; success grows with both."""
    cells = rng.integers(0, n_cells, (2, n))
    highest = cells.copy()
    highest[0] = np.minimum(cells[0] + rng.integers(0, 3, n), n_cells - 1)
    desired = rng.random(n) < cells.sum(axis=0) / (2.2 * n_cells)
    small = [array.astype(np.uint8) for array in (cells, cells, highest, desired)]
    return People(*small[:3], np.array([n_cells] * 2), (None, None), small[3])


def grown(seed, n_growing=300, n_calibration=400, depth=5, recourse_weight=0.0):
    rng = np.random.default_rng(seed)
    growing, calibration = draw(rng, n_growing), draw(rng, n_calibration)
    weights = rng.integers(1, 3, n_growing).astype(float)
    rules = GrowRules(recourse_weight, max_depth=depth, min_samples_leaf=10)
    return grow_tree(growing, weights, rules), growing, weights, calibration


def failures_of(tree, people, labels):
    return int((Attainment(tree, people).desired_reached(labels) == 0).sum())


def error_rate(tree, people, labels):
    return np.mean(labels[own_leaves(tree, people)] != people.desired)


@pytest.mark.parametrize("relabel", [relabel_pac, relabel_sequence])
@pytest.mark.parametrize("seed", range(10))
def test_the_guarantee_tells_what_was_done(seed, relabel):
    problem = grown(seed, recourse_weight=0.05)
    tree, _, _, calibration = problem
    labels, given = relabel(*problem, max_risk=0.25, confidence=0.9)
    before = majority_labels(tree)
    leaves = tree.leaves
    assert (labels[leaves] >= before[leaves]).all()
    assert given.flipped == (labels[leaves] > before[leaves]).sum()
    assert given.met and given.needed is None and given.n_people == 400
    assert given.empirical_risk == failures_of(tree, calibration, labels) / 400
    assert given.empirical_risk <= given.risk_bound <= 0.25
    rise = error_rate(tree, calibration, labels) - error_rate(tree, calibration, before)
    assert given.price == pytest.approx(rise)
    again, same = relabel(*problem, max_risk=0.25, confidence=0.9)
    np.testing.assert_array_equal(labels, again)
    assert given == same


@pytest.mark.parametrize("seed", range(10))
def test_pac_adds_its_slack_to_the_risk_on_held_out_people(seed):
    problem = grown(seed)
    tree, _, _, calibration = problem
    labels, given = relabel_pac(*problem, max_risk=0.25, confidence=0.9)
    slack = pac_slack(int((majority_labels(tree)[tree.leaves] == 0).sum()), 400, 0.9)
    assert given.risk_bound == pytest.approx(given.empirical_risk + slack)
    # One flip fewer would be too few.
    for leaf in tree.leaves[labels[tree.leaves] > majority_labels(tree)[tree.leaves]]:
        fewer = labels.copy()
        fewer[leaf] = 0
        assert failures_of(tree, calibration, fewer) / 400 + slack > 0.25


@pytest.mark.parametrize("max_risk", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(15))
def test_the_sequence_is_walked_from_the_safe_end(seed, max_risk, monkeypatch):
    orders = []

    def recorded(*args):
        orders.append(flip_order(*args))
        return orders[-1]

    flip_order = guarantee.flip_order
    monkeypatch.setattr(guarantee, "flip_order", recorded)
    problem = grown(seed, depth=7)
    tree, growing, _, calibration = problem
    labels, given = relabel_sequence(*problem, max_risk=max_risk, confidence=0.9)

    passed = majority_labels(tree)
    passed[orders[0]] = 1
    assert failures_of(tree, growing, passed) == failures_of(tree, calibration, passed) == 0
    for leaf in orders[0][::-1]:
        fewer = passed.copy()
        fewer[leaf] = 0
        n_failures = failures_of(tree, calibration, fewer)
        if clopper_pearson_upper(n_failures, 400, 0.9) > max_risk:
            break
        passed = fewer
    np.testing.assert_array_equal(labels[tree.leaves], passed[tree.leaves])

    bound = clopper_pearson_upper(failures_of(tree, calibration, labels), 400, 0.9)
    if labels[tree.leaves].all():
        assert given.risk_bound == 0
    elif given.flipped == 0:
        assert given.risk_bound == bound
    else:
        # For a tree that the walk chose, only the level of the test is shown.
        levels = [clopper_pearson_upper(k, 400, 0.9) for k in range(150)]
        assert bound <= given.risk_bound == max(b for b in levels if b <= max_risk)


def few(people, n):
    cut = {name: getattr(people, name)[:, :n].copy() for name in ("cells", "lowest", "highest")}
    return replace(people, **cut, desired=people.desired[:n])


def test_pac_says_what_it_lacks():
    tree, growing, weights, calibration = grown(0)
    n_undesired = int((majority_labels(tree)[tree.leaves] == 0).sum())
    needed = pac_people_needed(n_undesired, 0.1, 0.95)
    slack = pac_slack(n_undesired, 100, 0.95)
    message = f"100 held-out people leave a slack of {slack:.3f} for .* {needed} people are needed"
    with pytest.warns(GuaranteeWarning, match=message):
        labels, given = relabel_pac(
            tree, growing, weights, few(calibration, 100), max_risk=0.1, confidence=0.95
        )
    assert not given.met and given.needed == needed
    assert given.empirical_risk <= 0.1 < given.risk_bound
    assert given.risk_bound == pytest.approx(given.empirical_risk + slack)
    assert given.empirical_risk == failures_of(tree, few(calibration, 100), labels) / 100
    many = draw(np.random.default_rng(5), needed)
    assert relabel_pac(tree, growing, weights, many, max_risk=0.1, confidence=0.95)[1].met


def test_the_sequence_says_what_it_lacks():
    tree, growing, weights, calibration = grown(0)
    with pytest.warns(GuaranteeWarning, match="all of the 28 held-out people .* 29 are needed"):
        labels, given = relabel_sequence(
            tree, growing, weights, few(calibration, 28), max_risk=0.1, confidence=0.95
        )
    assert not given.met and given.needed == 29
    without = Attainment(tree, growing).desired_reached(labels) == 0
    assert 0 < weights[without].sum() <= 0.1 * weights.sum()
    n_failures = failures_of(tree, few(calibration, 28), labels)
    assert given.risk_bound == clopper_pearson_upper(n_failures, 28, 0.95)
    enough = few(calibration, 29)
    labels, given = relabel_sequence(tree, growing, weights, enough, max_risk=0.1, confidence=0.95)
    assert given.met and given.empirical_risk == 0


@pytest.mark.parametrize("relabel", [relabel_pac, relabel_sequence])
def test_where_every_leaf_is_desired_no_people_are_needed(relabel):
    tree, growing, weights, calibration = grown(0)
    tree = replace(tree, masses=tree.masses * [0, 1, 1])
    few_people = few(calibration, 3)
    labels, given = relabel(tree, growing, weights, few_people, max_risk=0.01, confidence=0.99)
    assert labels[tree.leaves].all()
    assert (given.met, given.risk_bound, given.flipped, given.price) == (True, 0.0, 0, 0.0)


def test_plain_words():
    given = Guarantee("sequence", 0.9, 0.95, True, 0.0951, 0.08, 1500, 7, 0.0042)
    assert str(given) == (
        "With 95% confidence at most 9.6% of people are without recourse (asked: 10%), "
        "from 1500 held-out people; 7 leaves flipped, accuracy falls by 0.4 points."
    )
    exact = replace(given, risk_bound=0.1, price=-0.002, flipped=1).describe()
    assert "at most 10% of people" in exact
    assert "1 leaf flipped, accuracy rises by 0.2 points" in exact
    unmet = replace(given, met=False, needed=2300, n_people=900, risk_bound=0.173, price=0.0)
    assert str(unmet) == (
        "With 95% confidence at most 17.3% of people are without recourse (asked: 10%), "
        "from 900 held-out people, too few: 2300 are needed; 7 leaves flipped, "
        "accuracy stays the same."
    )


def test_wrong_input_is_refused():
    problem = grown(0)
    for relabel in (relabel_pac, relabel_sequence):
        for wrong in (0.0, 1.0, -0.1, float("nan")):
            with pytest.raises(InvalidSpec, match="max_risk must be a share between 0 and 1, got"):
                relabel(*problem, max_risk=wrong, confidence=0.9)
            with pytest.raises(InvalidSpec, match="confidence must be a share between 0 and 1"):
                relabel(*problem, max_risk=0.1, confidence=wrong)
        with pytest.raises(InvalidSpec, match="needs held-out people, got none"):
            relabel(*problem[:3], few(problem[3], 0), max_risk=0.1, confidence=0.9)
    with pytest.raises(InvalidSpec, match="method must be 'sequence' or 'pac', got 'exact'"):
        guarantee.relabel(*problem, max_risk=0.1, confidence=0.9, method="exact")
    with pytest.raises(InvalidSpec, match="got -1 and 10"):
        pac_slack(-1, 10, 0.9)


@pytest.mark.parametrize("relabel", [relabel_pac, relabel_sequence])
def test_the_promise_where_it_is_hardest_to_keep(relabel):
    """A share just above max_risk is stuck in the undesired leaf: it must be flipped."""
    rng, n, max_risk = np.random.default_rng(0), 400, 0.1

    def stuck_or_desired(stuck):
        cells = (~stuck)[None].astype(np.uint8)
        return People(cells, cells, cells, np.array([2]), (None,), cells[0])

    growing, weights = stuck_or_desired(np.arange(100) < 10), np.ones(100)
    tree = grow_tree(growing, weights, GrowRules(max_depth=1))
    kept = 0
    for _ in range(500):
        calibration = stuck_or_desired(rng.random(n) < max_risk + 1e-6)
        labels, _ = relabel(
            tree, growing, weights, calibration, max_risk=max_risk, confidence=CONFIDENCE
        )
        kept += not labels[tree.leaves].all()
    assert kept <= binom.ppf(0.999, 500, 1 - CONFIDENCE)
    if relabel is relabel_sequence:  # and no safer than it has to be
        tolerated = max(k for k in range(n) if clopper_pearson_upper(k, n, CONFIDENCE) <= max_risk)
        assert kept >= binom.ppf(0.001, 500, binom.cdf(tolerated, n, max_risk))


# The promise itself: over many samples, how often does the true risk exceed what was asked?

N_GROWING, N_CALIBRATION, BUDGET = 500, 1_000, 0.2
# Name -> rules of growing, method, max_risk. PAC takes trees of few leaves.
SMALL, LARGE = (
    GrowRules(max_depth=5, min_samples_leaf=15),
    GrowRules(max_depth=12, min_samples_leaf=3),
)
SETTINGS = {
    "pac 0.2": (SMALL, relabel_pac, 0.2),
    "sequence 0.2": (SMALL, relabel_sequence, 0.2),
    "pac 0.1": (SMALL, relabel_pac, 0.1),
    "sequence 0.1": (SMALL, relabel_sequence, 0.1),
    "sequence 0.1, large trees": (LARGE, relabel_sequence, 0.1),
}


def as_people(prices, columns, target):
    cells = prices.grid.cells(columns)
    reach = prices.reach(columns, cells, BUDGET)
    desired = (target == "approved").to_numpy().astype(np.uint8)
    return People(
        cells, reach.lowest, reach.highest, prices.grid.n_cells, reach.categories, desired
    )


def one_draw(seed, encoder, population):
    """Grow on one part of a sample, relabel on the other; true figures of every setting."""
    frame, target = LoansModel().sample(N_GROWING + N_CALIBRATION, np.random.default_rng(seed))
    columns = list(encoder.encode(frame))
    first = [column[:N_GROWING] for column in columns]
    cost = make_cost("percentile").fit(first, encoder.weights)
    prices = Grid.from_columns(encoder.axes, first, 64).price(cost)
    growing = as_people(prices, first, target[:N_GROWING])
    calibration = as_people(prices, [c[N_GROWING:] for c in columns], target[N_GROWING:])
    everyone = as_people(prices, *population)
    weights = np.ones(N_GROWING)
    trees = {rules: grow_tree(growing, weights, rules) for rules in (SMALL, LARGE)}
    figures = {}
    for name, (rules, relabel, max_risk) in SETTINGS.items():
        tree = trees[rules]
        labels, given = relabel(
            tree, growing, weights, calibration, max_risk=max_risk, confidence=CONFIDENCE
        )
        risk = failures_of(tree, everyone, labels) / len(everyone.desired)
        accuracy = 1 - error_rate(tree, everyone, labels)
        above = risk > max_risk, risk > given.risk_bound
        figures[name] = (risk, accuracy, given.flipped, given.met, *above)
    return figures


@pytest.fixture(scope="module", params=quick_of(1, [60, 200]))
def simulation(request):
    """Per setting (draws, figures): risk, accuracy, flips, met, above max_risk, above bound."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") != "0":
        pytest.skip("takes too long without compiled kernels")
    frame, target = LoansModel().sample(20_000, np.random.default_rng(10**6))
    encoder = Encoder(frame, LoansModel().actions)
    population = (list(encoder.encode(frame)), target)
    draws = [one_draw(seed, encoder, population) for seed in range(request.param)]
    figures = {name: np.array([draw[name] for draw in draws], float) for name in SETTINGS}
    print("\nmeans over draws: risk, accuracy, flips, met, above max_risk, above bound")
    for name, table in figures.items():
        print(f"{name:26}", " ".join(f"{mean:7.4f}" for mean in table.mean(axis=0)))
    return figures


@pytest.mark.parametrize("name", SETTINGS)
def test_the_true_risk_is_larger_no_more_often_than_promised(simulation, name):
    figures = simulation[name]
    assert figures[:, 3].all()
    most = binom.ppf(0.999, len(figures), 1 - CONFIDENCE)
    assert figures[:, 4].sum() <= most and figures[:, 5].sum() <= most


@pytest.mark.parametrize("max_risk", [0.1, 0.2])
def test_the_sequence_costs_less_accuracy_than_pac(simulation, max_risk):
    pac, sequence = simulation[f"pac {max_risk}"], simulation[f"sequence {max_risk}"]
    assert sequence[:, 1].mean() > pac[:, 1].mean()
    assert sequence[:, 2].mean() < pac[:, 2].mean()
    assert pac[:, 0].mean() < sequence[:, 0].mean() < max_risk

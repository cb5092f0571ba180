"""Relabelling against brute force: every subset of leaves."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ract._utils.errors import InvalidSpec
from ract.trees import cover
from ract.trees.cover import (
    Attainment,
    allowed_mass,
    exact_cover,
    flip_costs,
    flip_order,
    greedy_cover,
    majority_labels,
    own_leaves,
    whole_units,
)
from ract.trees.grower import GrowRules, grow_tree
from tests.builders import each_seed
from tests.trees.problems import leaf_of, leaves_by_enumeration, random_people, random_problem


def mostly_undesired(problem):
    """The tree with more undesired leaves than the majority makes, and what they cost."""
    tree, n_nodes = problem.tree, len(problem.tree.axis)
    labels = majority_labels(tree) * (problem.rng.random(n_nodes) < 0.3).astype(np.uint8)
    return replace(tree, masses=tree.masses * [1, 0, 1] + [0.5, 0, 0]), labels


def uncovered_mass(attained, weights, desired_leaves):
    return sum(w for s, w in zip(attained, weights, strict=True) if not s & desired_leaves)


def desired_leaves(tree, labels):
    return {int(leaf) for leaf in tree.leaves if labels[leaf]}


def undesired_leaves(tree, labels):
    return [int(leaf) for leaf in tree.leaves if not labels[leaf]]


def cheapest_by_enumeration(attained, weights, tree, labels, within):
    """Cost of the cheapest set of undesired leaves that leaves an acceptable mass uncovered."""
    costs, given = flip_costs(tree), desired_leaves(tree, labels)
    undesired = undesired_leaves(tree, labels)
    best = np.inf
    for k in range(len(undesired) + 1):
        for chosen in itertools.combinations(undesired, k):
            cost = sum(costs[leaf] for leaf in chosen)
            if cost < best and within(uncovered_mass(attained, weights, given | set(chosen))):
                best = cost
    return best


def naive_greedy(attained, weights, tree, labels, allowed):
    """Algorithm 3 from its definition, everything counted anew in every step."""
    costs, desired = flip_costs(tree), desired_leaves(tree, labels)
    order = []
    while (missing := uncovered_mass(attained, weights, desired) - allowed) > 0:
        best, best_ratio = None, 0.0
        for leaf in undesired_leaves(tree, labels):
            if leaf not in desired:
                left = uncovered_mass(attained, weights, desired | {leaf}) - allowed
                ratio = min(missing - left, missing) / costs[leaf]
                if ratio > best_ratio:
                    best, best_ratio = leaf, ratio
        order.append(best)
        desired.add(best)
    return order


def naive_needed(attained, weights, tree, labels, flipped, allowed):
    """The flips without those that are not needed, the dearest undone first."""
    costs, kept = flip_costs(tree), set(flipped)
    for leaf in sorted(flipped, key=lambda leaf: (-costs[leaf], leaf)):
        others = desired_leaves(tree, labels) | (kept - {leaf})
        if uncovered_mass(attained, weights, others) <= allowed:
            kept.remove(leaf)
    return [leaf for leaf in flipped if leaf in kept]


def test_majority_labels_and_costs_follow_the_masses():
    problem = random_problem(0)
    tree = replace(problem.tree, masses=np.array([[3.0, 2, 5], [2, 2, 4], [1, 4, 5]]))
    assert majority_labels(tree).tolist() == [0, 1, 1]
    assert flip_costs(tree).tolist() == [1, 0, -3]


def no_flip_is_redundant(attained, weights, tree, result, within):
    left = desired_leaves(tree, result.labels)
    return all(
        not within(uncovered_mass(attained, weights, left - {int(leaf)})) for leaf in result.flipped
    )


@pytest.mark.parametrize("kind", ["ones", "counts", "floats"])
@each_seed(range(80))
def test_covers_against_every_subset_of_leaves(seed, kind):
    problem = random_problem(seed, kind)
    (tree, labels), people, weights = mostly_undesired(problem), problem.people, problem.weights
    attained, attainment = leaves_by_enumeration(tree, people), Attainment(tree, people)
    max_risk, total = float(problem.rng.choice([0.0, 0.05, 0.1, 0.3, 0.6])), weights.sum()

    def within(mass):
        return mass / total <= max_risk + (1e-9 if kind == "floats" else 0)

    greedy = greedy_cover(attainment, weights, labels, max_risk)
    exact = exact_cover(attainment, weights, labels, max_risk)
    for result in (greedy, exact):
        flipped = result.flipped.tolist()
        assert set(flipped) <= set(undesired_leaves(tree, labels))
        assert desired_leaves(tree, result.labels) == desired_leaves(tree, labels) | set(flipped)
        left = uncovered_mass(attained, weights, desired_leaves(tree, result.labels))
        assert within(left)
        assert result.total - result.covered == pytest.approx(left)
        assert result.risk == pytest.approx(left / total)
        assert result.cost == pytest.approx(flip_costs(tree)[flipped].sum())
        assert no_flip_is_redundant(attained, weights, tree, result, within)
    if len(undesired_leaves(tree, labels)) <= 10:
        best = cheapest_by_enumeration(attained, weights, tree, labels, within)
        assert exact.cost == pytest.approx(best)
    harmonic = sum(1 / k for k in range(1, len(weights) + 1))
    assert exact.cost - 1e-9 <= greedy.cost <= (2 * harmonic + 3) * exact.cost + 1e-9


@pytest.mark.parametrize("kind", ["ones", "counts"])
@each_seed(range(60))
def test_lazy_greedy_equals_counting_everything_anew(seed, kind):
    problem = random_problem(seed, kind)
    (tree, labels), people, weights = mostly_undesired(problem), problem.people, problem.weights
    attained, attainment = leaves_by_enumeration(tree, people), Attainment(tree, people)
    total = weights.sum()
    order = flip_order(attainment, weights, labels)
    expected = naive_greedy(attained, weights, tree, labels, 0)
    assert order[: len(expected)].tolist() == expected
    rest = order[len(expected) :].tolist()
    assert rest == sorted(rest, key=lambda leaf: (flip_costs(tree)[leaf], leaf))
    assert sorted(order) == undesired_leaves(tree, labels)

    allowed = int(total * 0.1)
    staged = flip_order(attainment, weights, labels, [allowed / total])
    first = naive_greedy(attained, weights, tree, labels, allowed)
    assert staged[: len(first)].tolist() == first
    assert sorted(staged) == sorted(order)
    kept = greedy_cover(attainment, weights, labels, allowed / total).flipped
    assert kept.tolist() == naive_needed(attained, weights, tree, labels, first, allowed)


@each_seed(range(20))
def test_trees_along_the_order_are_nested_and_end_without_risk(seed):
    problem = random_problem(seed, "floats")
    tree, attainment = problem.tree, Attainment(problem.tree, problem.people)
    labels = majority_labels(tree)
    before = attainment.desired_reached(labels) > 0
    for leaf in flip_order(attainment, problem.weights, labels, [0.3, 0.1]):
        labels[leaf] = 1
        after = attainment.desired_reached(labels) > 0
        assert (before <= after).all()
        before = after
    assert before.all()


@pytest.mark.parametrize("unit", [0.1, 1 / 3, 0.7, 1e-9, 3e7])
def test_equal_weights_count_people_whatever_their_size(unit):
    flips = 0
    for seed in range(40):
        problem = random_problem(seed, "ones", n=30)
        attainment, labels = Attainment(problem.tree, problem.people), majority_labels(problem.tree)
        for k in (0, 1, 3, 9):
            ones = greedy_cover(attainment, np.ones(30), labels, k / 30)
            scaled = greedy_cover(attainment, np.full(30, unit), labels, k / 30)
            np.testing.assert_array_equal(ones.flipped, scaled.flipped)
            assert 30 - ones.covered <= k
            flips += len(ones.flipped)
    assert flips > 50


def test_a_share_allows_exactly_its_number_of_people():
    for n in [*range(1, 120), 1_000, 99_991]:
        for k in range(0, n + 1, 1 + n // 100):
            assert allowed_mass(n, k / n) == k
    assert allowed_mass(10, 0.3) == 3 and allowed_mass(10, np.nextafter(0.3, 0)) == 2


def test_whole_units_are_exact():
    counts = np.array([3.0, 0.0, 5.0])
    units, rounding = whole_units(counts)
    assert units.tolist() == [3, 0, 5] and rounding == 0
    weights = np.random.default_rng(0).exponential(size=1000)
    units, rounding = whole_units(weights)
    assert (units == np.floor(units)).all() and units.sum() < 2**53
    np.testing.assert_allclose(units / units.sum(), weights / weights.sum(), rtol=1e-9)
    assert rounding == 500


def some_leaves_undesired(seed=3):
    """A tree of several leaves, all undesired, and its attainment."""
    problem = random_problem(seed, "ones", n=60)
    assert len(problem.tree.leaves) >= 4
    return problem, np.zeros(len(problem.tree.axis), np.uint8)


def test_leaves_that_cost_nothing_come_first():
    problem, labels = some_leaves_undesired()
    masses = problem.tree.masses.copy()
    free = problem.tree.leaves[1:3]
    masses[problem.tree.leaves, 0] = masses[problem.tree.leaves, 1] + 1
    masses[free, 0] = masses[free, 1]
    tree = replace(problem.tree, masses=masses)
    attainment = Attainment(tree, problem.people)
    assert flip_order(attainment, problem.weights, labels)[0] in free
    for find in (greedy_cover, exact_cover):
        result = find(attainment, problem.weights, labels, 0.0)
        assert result.covered == result.total
    # What is free suffices: nothing else is flipped.
    attains = attainment.who_attains(int(free[0]), np.arange(60))
    for find in (greedy_cover, exact_cover):
        result = find(attainment, attains.astype(float), labels, 0.0)
        assert result.cost == 0 and set(result.flipped) <= set(free)


def test_nothing_is_flipped_where_nothing_is_needed():
    problem, labels = some_leaves_undesired()
    attainment = Attainment(problem.tree, problem.people)
    for find in (greedy_cover, exact_cover):
        result = find(attainment, problem.weights, labels, 1.0)
        assert len(result.flipped) == 0 and result.cost == 0 and result.risk == 1


def test_a_tree_of_one_leaf():
    rng = np.random.default_rng(0)
    people = random_people(rng, 10)
    tree = grow_tree(people, np.ones(10), GrowRules(max_depth=0))
    attainment, labels = Attainment(tree, people), np.zeros(1, np.uint8)
    assert own_leaves(tree, people).tolist() == [0] * 10
    assert flip_order(attainment, np.ones(10), labels).tolist() == [0]
    assert flip_order(attainment, np.ones(10), labels + 1).tolist() == []
    for find in (greedy_cover, exact_cover):
        assert find(attainment, np.ones(10), labels, 0.5).flipped.tolist() == [0]


def test_input_is_left_alone_and_results_repeat():
    problem, labels = some_leaves_undesired()
    attainment = Attainment(problem.tree, problem.people)
    first = greedy_cover(attainment, problem.weights, labels, 0.1)
    assert not labels.any() and (problem.weights == 1).all()
    again = greedy_cover(attainment, problem.weights, labels, 0.1)
    np.testing.assert_array_equal(first.flipped, again.flipped)
    np.testing.assert_array_equal(first.labels, again.labels)


def test_what_the_exact_cover_cannot_prove_it_refuses(monkeypatch):
    problem, labels = some_leaves_undesired()
    attainment = Attainment(problem.tree, problem.people)
    with monkeypatch.context() as patch:
        patch.setattr(cover, "MOST_ENTRIES", 2)
        with pytest.raises(InvalidSpec, match="takes at most 2 pairs of a leaf and a set"):
            exact_cover(attainment, problem.weights, labels, 0.0)
    monkeypatch.setattr(cover, "milp", lambda *_, **__: SimpleNamespace(status=1, x=None))
    with pytest.raises(InvalidSpec, match="not proved optimal within 5 seconds"):
        exact_cover(attainment, problem.weights, labels, 0.0, time_limit=5.0)


@each_seed(range(300))
def test_attained_leaves_equal_enumeration_of_every_point(seed, monkeypatch):
    monkeypatch.setattr(cover, "CHUNK", 7)
    problem = random_problem(seed, "floats", n=20)
    tree, people, rng = problem.tree, problem.people, problem.rng
    attained, attainment = leaves_by_enumeration(tree, people), Attainment(tree, people)
    who = rng.permutation(20)[: rng.integers(1, 20)]
    seen = []
    for part, start, leaves in attainment.leaves(who):
        for k, person in enumerate(part):
            own = leaves[start[k] : start[k + 1]].tolist()
            assert len(own) == len(set(own)) and set(own) == attained[person]
            seen.append(person)
    assert seen == list(who)
    for leaf in tree.leaves:
        np.testing.assert_array_equal(
            attainment.who_attains(leaf, who), [leaf in attained[i] for i in who]
        )
    labels = rng.integers(0, 2, len(tree.axis)).astype(np.uint8)
    expected = [sum(labels[leaf] for leaf in attained[i]) for i in range(20)]
    np.testing.assert_array_equal(attainment.desired_reached(labels), expected)
    np.testing.assert_array_equal(
        own_leaves(tree, people), [leaf_of(tree, people, people.cells[:, i]) for i in range(20)]
    )


@each_seed(range(60))
def test_growing_covers_those_who_attain_a_desired_leaf(seed):
    problem = random_problem(seed, "counts", recourse_weight=0.3)
    reached = Attainment(problem.tree, problem.people).desired_reached(problem.tree.label)
    grown_on = problem.weights > 0
    np.testing.assert_array_equal(problem.tree.covered[grown_on], reached[grown_on] > 0)

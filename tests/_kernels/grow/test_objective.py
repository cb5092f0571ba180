import itertools

import numpy as np
import pytest

from ract._kernels.grow import objective
from ract._kernels.grow.objective import ENTROPY, GINI, Sides
from tests._kernels.plain import plain
from tests.builders import each_seed
from tests.naive import entropy_mass, gini_mass


def limits_of(direction, frozen):
    limits = np.zeros(6)
    plain(objective.set_limits)(limits, direction, frozen)
    return limits


@each_seed(range(50))
def test_labels_are_the_best_of_all_four(seed):
    rng = np.random.default_rng(seed)
    sides = Sides(*rng.integers(0, 9, 7).astype(float))
    weight, floor, cut = rng.random(), rng.choice([0.0, 0.3]), rng.choice([0.5, 0.4])

    def value(left, right):
        pos, neg = (sides.pos_l, sides.pos_r), (sides.neg_l, sides.neg_r)
        shares = [p / (p + n) if p + n else 1.0 for p, n in zip(pos, neg, strict=True)]
        if any(label and share < floor for label, share in zip((left, right), shares, strict=True)):
            return np.inf
        errors = sum(
            2 * cut * n if label else (2 - 2 * cut) * p
            for label, p, n in zip((left, right), pos, neg, strict=True)
        )
        without = {(1, 1): 0.0, (1, 0): sides.miss_l, (0, 1): sides.miss_r, (0, 0): sides.exposed}
        return errors + weight * without[left, right]

    found = plain(objective.best_labels)(sides, weight, floor, cut, limits_of(0, -1))
    best = min(value(*labels) for labels in itertools.product((0, 1), repeat=2))
    assert found[2] == pytest.approx(best) == value(*found[:2])


def test_frozen_labels_and_directions_rule_rows_out():
    sides = Sides(5.0, 1.0, 1.0, 5.0, 0.0, 0.0, 0.0)  # the left is better
    labels = plain(objective.best_labels)
    assert labels(sides, 0.0, 0.0, 0.5, limits_of(0, 0))[:2] == (0, 0)
    assert labels(sides, 0.0, 0.0, 0.5, limits_of(0, 1))[:2] == (1, 1)
    assert labels(sides, 0.0, 0.0, 0.5, limits_of(-1, -1))[:2] == (1, 0)
    assert labels(sides, 0.0, 0.0, 0.5, limits_of(1, -1))[:2] != (1, 0)


def test_a_direction_is_kept_by_labels_and_by_shares():
    keeps = plain(objective.keeps_direction)
    assert keeps(limits_of(1, -1), 0, 1, 1.0, 3.0, 3.0, 1.0)
    assert not keeps(limits_of(1, -1), 1, 0, 1.0, 3.0, 3.0, 1.0)
    assert not keeps(limits_of(-1, -1), 1, 1, 1.0, 3.0, 3.0, 1.0)
    assert keeps(limits_of(0, -1), 1, 0, 1.0, 3.0, 3.0, 1.0)


@pytest.mark.parametrize(("criterion", "mass"), [(GINI, gini_mass), (ENTROPY, entropy_mass)])
def test_impurity_is_that_of_both_sides(criterion, mass, rng):
    for pos_l, neg_l, pos_r, neg_r in rng.integers(1, 9, (20, 4)).astype(float):
        found = plain(objective.impurity)(criterion, pos_l, neg_l, pos_r, neg_r)
        assert found == pytest.approx(mass(pos_l, neg_l) + mass(pos_r, neg_r))


def test_a_majority_is_by_the_cut_and_the_floor():
    majority = plain(objective.majority)
    assert majority(2.0, 2.0, 0.0, 0.5) == 1
    assert majority(2.0, 2.0, 0.0, 0.6) == 0
    assert majority(7.0, 93.0, 0.07, 0.05) == 1
    assert majority(7.0, 93.0, 0.08, 0.05) == 0

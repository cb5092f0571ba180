"""Boxes and ranges that searches with effects and for plausible actions stand on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ract.data.costs import LinearCost, make_cost
from ract.data.encoder import Encoder
from ract.recourse.common.anchors import Anchors, admitted_categories, inside, tree_boxes
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import Outcomes
from tests import naive
from tests.builders import (
    SquareRootCost,
    random_actions,
    random_causal_problem,
    random_ensemble,
)


def test_a_tree_puts_just_the_points_of_a_box_into_its_leaf():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = np.round(rng.normal(size=(30, 3)), 1)
        ensemble = random_ensemble(rng, points, 4)
        lower, upper = tree_boxes(ensemble, points[:5])
        leaves = naive.naive_leaves(ensemble, points)
        for p in range(5):
            for t in range(4):
                box = inside(points, lower[p, t], upper[p, t])
                np.testing.assert_array_equal(box, leaves[:, t] == leaves[p, t])


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
def test_a_region_keeps_the_class_whatever_trees_are_dear(combine):
    kept = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        points = np.round(rng.normal(size=(60, 3)), 1)
        ensemble = random_ensemble(rng, points, 5)
        if combine != "votes":
            value = rng.normal(size=len(ensemble.feature))
            cutoff = 0.1 if combine == "mean" else 0.5
            ensemble = dataclasses.replace(ensemble, value=value, combine=combine, cutoff=cutoff)
        anchors = Anchors.among(ensemble, points)
        assert ensemble.decide(anchors.points).all()
        probes = rng.normal(size=(400, 3))
        for r in range(len(anchors.points)):
            lower, upper = anchors.region(r, rng.random(5))
            assert inside(anchors.points[[r]], lower, upper)[0]
            within = probes[inside(probes, lower, upper)]
            assert ensemble.decide(within).all()
            kept += len(within)
            low, high = anchors.points[r] - 0.1, anchors.points[r] + 0.1
            assert r in anchors.meeting(low, high)
    assert kept > 1000


def test_a_box_that_no_region_can_meet_is_not_met():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = np.round(rng.normal(size=(40, 2)), 1)
        ensemble = random_ensemble(rng, points, 5)
        anchors = Anchors.among(ensemble, points)
        low = rng.normal(size=2)
        high = low + rng.uniform(0, 0.5, 2)
        met = anchors.meeting(low, high)
        probes = rng.uniform(low, high, (200, 2))
        for r in range(len(anchors.points)):
            lower, upper = anchors.region(r, rng.random(5))
            if inside(probes, lower, upper).any():
                assert r in met


def test_categories_in_a_box_are_those_whose_one_hot_row_is_in_it():
    rng = np.random.default_rng(0)
    lower = rng.choice([-np.inf, -0.5, 0.5], (200, 3))
    upper = rng.choice([np.inf, 1.5, 0.5], (200, 3))
    admitted = admitted_categories(lower, upper)
    for k in range(3):
        row = np.tile(np.eye(3)[k], (200, 1))
        np.testing.assert_array_equal(admitted[:, k], inside(row, lower, upper))


def test_ranges_end_where_costs_exceed():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, _, cost, _ = random_causal_problem(rng)
        others = [LinearCost("max", rng.uniform(0, 2, matrix.shape[1])), SquareRootCost()]
        cost = rng.choice(np.array([cost, cost, *others], dtype=object))
        moves = Moves(encoder.axes, cost)
        person = matrix[0]
        costs = np.array([0.0, 0.1, 0.37, 5.0])
        lowest, highest = moves.ranges(person, costs)
        for axis in encoder.axes:
            f, j = axis.feature, axis.columns[0]
            if f.is_categorical:
                assert (lowest[:, list(axis.columns)] == person[list(axis.columns)]).all()
                continue
            for ends, sign in ((highest[:, j], 1), (lowest[:, j], -1)):
                wanted = ("any", "increase") if sign == 1 else ("any", "decrease")
                bound = f.upper if sign == 1 else f.lower
                for c, end in zip(costs, ends, strict=True):
                    effort = np.ptp(cost.level(j, np.array([person[j], end])))
                    assert effort <= c + 1e-9
                    step = 1.0 if f.kind != "continuous" else 1e-6
                    further = end + sign * step
                    beyond = f.change not in wanted or sign * further > sign * bound
                    more = np.ptp(cost.level(j, np.array([person[j], further])))
                    assert beyond or more > c - 1e-9
        every = moves.dearest(person)
        tried = random_actions(rng, encoder, person, 300)
        efforts = [
            np.abs(cost.level(j, tried[:, j]) - cost.level(j, person[[j]])) for j in moves.numeric
        ]
        assert np.max(efforts, initial=0.0) <= every + 1e-9


def test_outcomes_lie_in_their_boxes_and_parts_cover_the_whole():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, _, cost, effects = random_causal_problem(rng)
        moves, own = Moves(encoder.axes, cost), matrix[0]
        total = np.where(moves.actionable, effects.total, 0.0)
        outcomes = Outcomes(own, moves, total)
        tried = random_actions(rng, encoder, own, 300)
        price = cost.between(np.tile(own, (300, 1)), tried)
        ends = np.array([naive.outcome(own, row, total) for row in tried])
        np.testing.assert_allclose(outcomes.ends(tried), ends, atol=1e-9)
        cap = 0.4
        low, high = outcomes.hull(cap)
        cheap = price <= cap
        assert ((ends >= low - 1e-9) & (ends <= high + 1e-9))[cheap].all()
        parts = [outcomes.everything()]
        for _ in range(4):
            parts = [half for part in parts for half in outcomes.split(part, cap, None) or [part]]
        covered = np.zeros(300, bool)
        for part in parts:
            here = ((tried >= part.lowest) & (tried <= part.highest))[:, moves.numeric].all(axis=1)
            for columns, allowed in zip(moves.groups, part.categories, strict=True):
                here &= allowed[tried[:, columns].argmax(axis=1)]
            covered |= here
            reached = outcomes.reached(part, cap)
            if (here & cheap).any():
                numeric = moves.numeric
                within = (ends >= reached.low[0]) & (ends <= reached.high[0])
                assert within[here & cheap][:, numeric].all()
        assert covered.all()


def test_no_bounds_no_moves():
    encoder = Encoder(np.arange(6.0).reshape(3, 2))
    cost = make_cost("range").fit(np.arange(6.0).reshape(3, 2).T, np.ones(2))
    moves = Moves(encoder.axes, cost)
    lowest, highest = moves.ranges(np.array([9.0, -9.0]), np.array([1.0]))  # beyond the bounds
    assert highest[0, 0] == 9.0 and lowest[0, 1] == -9.0
    assert lowest[0, 0] < 9.0 and highest[0, 1] > -9.0

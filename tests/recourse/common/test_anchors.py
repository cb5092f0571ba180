"""Boxes and ranges that searches with effects and for plausible actions stand on."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ract.recourse.common.anchors import Anchors, admitted_categories, inside, tree_boxes
from tests import naive
from tests.builders import (
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

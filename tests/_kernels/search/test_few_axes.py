"""The most that trees add up to with few changes, beside every set of changed axes."""

import itertools

import numpy as np
import pytest

from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.few_axes import MOST_AXES, most_with_few
from tests import naive
from tests._kernels.search.builders import random_boxes


@pytest.mark.parametrize("seed", range(40))
def test_the_most_of_few_axes_equals_that_of_every_set(seed):
    rng = np.random.default_rng(seed)
    boxes = random_boxes(rng, int(rng.integers(1, 20)))
    value = rng.integers(-9, 10, len(boxes.tree)).astype(float)
    away = [
        {
            a
            for a in range(6)
            if not naive.trees_at(
                [boxes.current[a]], boxes.tree[[r]], boxes.first[[r]][:, [a]],
                boxes.last[[r]][:, [a]], boxes.categorical[[a]],
            )
        }
        for r in range(len(value))
    ]  # fmt: skip
    for changes in (1, 2, 3):
        known = max(
            sum(
                max(v for v, t, d in zip(value, boxes.tree, away, strict=True) if t == k and d <= s)
                for k in range(boxes.tree[-1] + 1)
            )
            for s in map(set, itertools.combinations(range(6), changes))
        )
        assert most_with_few(boxes, value, changes) == pytest.approx(known)
    assert most_with_few(boxes, value, 4) == np.inf


def test_too_many_axes_have_no_bound():
    n = MOST_AXES + 1
    ends = np.zeros((1, n), np.int64), np.ones((1, n), np.int64)
    one, none = np.zeros(1, np.int64), np.zeros(n, np.int64)
    start = np.zeros((n, 3), np.int64)
    of_person = start, none, none - 1, none, none > 0
    boxes = LeafBoxes(one, one, *ends, none + 2, *of_person)
    assert most_with_few(boxes, np.ones(1), 3) == np.inf

from types import SimpleNamespace

import numpy as np
import pytest

from ract._kernels.grow import exposure
from tests._kernels.plain import plain


@pytest.mark.parametrize("seed", range(10))
def test_the_exposed_attain_no_other_desired_node(seed):
    rng = np.random.default_rng(seed)
    covered, pending = rng.random(20) < 0.3, rng.integers(0, 3, 20)
    arena, weights = rng.permutation(20).astype(np.uint32), rng.integers(1, 4, 20).astype(float)
    before, exposed, masses = arena.copy(), np.zeros(20, np.uint32), np.zeros(20)
    end, n, mass = plain(exposure.gather_exposed)(
        arena, 3, 17, covered, pending, 1, weights, exposed, masses
    )
    listed = [i for i in before[3:17] if not covered[i]]
    assert arena[3:end].tolist() == listed
    assert exposed[:n].tolist() == [i for i in listed if pending[i] == 1]
    assert mass == weights[exposed[:n]].sum() == masses[:n].sum()


@pytest.mark.parametrize("authors", [False, True])
def test_people_attain_the_sides_that_their_reach_meets(authors, rng):
    lowest, highest = np.sort(rng.integers(0, 6, (2, 1, 12)), axis=0)
    layout, inside = np.array([[6, -1, -1, 0, -1, -1]]), rng.integers(0, 2, 12)
    data = SimpleNamespace(layout=layout, lowest=lowest, highest=highest, cells=lowest)
    scratch = SimpleNamespace(spare=np.zeros(12, np.uint32), pending=np.ones(12, np.int64))
    arena = np.arange(12).astype(np.uint32)
    n_right, n_left = plain(exposure.split_attaining)(
        data, np.array([0, 2, 1, 0, 0]), 1, arena, 0, 12, 0, 1, None,
        inside if authors else None, scratch,
    )  # fmt: skip
    left, right = lowest[0] <= 2, highest[0] > 2
    if authors:  # whoever is outside attains both or none
        left, right = (np.where(inside == 1, side, left & right) for side in (left, right))
    assert arena[:n_right].tolist() == np.flatnonzero(right).tolist()
    assert scratch.spare[:n_left].tolist() == np.flatnonzero(left).tolist()
    np.testing.assert_array_equal(scratch.pending, left)

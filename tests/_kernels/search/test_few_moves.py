"""The most that points with few moves are worth, beside every point."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from ract._kernels._jit import making_kernel
from ract._kernels.search.bits import make_bits
from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.depth_first import new_state
from ract._kernels.search.few_moves import best_with_few, guess_few, new_few


@making_kernel
def most_with_cells(boxes, cells, n_left, changes, worth, guess):
    """What few.best becomes, the moves left, and whether there is a guess."""
    bits = make_bits(boxes, 1, False, np.zeros(1, np.uint8))
    few, state = new_few(bits), new_state(bits, 1)
    few.rest[:] = worth
    state.lists[2] = cells
    state.n_left[: n_left.shape[0]] = n_left
    state.losses[:] = -worth
    left = best_with_few(boxes, bits, state, changes, few)
    best = few.best.copy()
    return best, left, guess_few(boxes, bits, state, changes, few, guess)


def random_case(rng):
    """Axes with some cells left, and what these are worth, often the same."""
    n_cells = rng.integers(2, 5, int(rng.integers(1, 6)))
    current = np.array([rng.integers(n) for n in n_cells])
    n_axes, offset = len(n_cells), np.cumsum([0, *n_cells])
    boxes = LeafBoxes(
        *np.zeros((2, 1), np.int64), np.zeros((1, n_axes), np.int64), (n_cells - 1)[None],
        n_cells, np.zeros((n_axes, 6), np.int64), current, np.full(n_axes, -1), current,
        np.zeros(n_axes, bool),
    )  # fmt: skip
    kept = [np.sort(rng.choice(n, rng.integers(1, n + 1), replace=False)) for n in n_cells]
    cells, worth = np.zeros(offset[-1], np.int64), np.zeros(offset[-1])
    for first, some in zip(offset, kept, strict=False):
        cells[first : first + len(some)] = some
        worth[first : first + len(some)] = rng.integers(-3, 4, len(some))
    changes = int(rng.integers(0, n_axes + 1))
    return SimpleNamespace(**{k: v for k, v in locals().items() if k != "rng"})


@pytest.mark.parametrize("block", range(4))
def test_the_most_with_each_cell_equals_that_of_every_point(block):
    rng, seen = np.random.default_rng(block), set()
    for _ in range(250):
        case = random_case(rng)
        guess, n_left = np.zeros(case.n_axes, np.int64), np.array([len(k) for k in case.kept])
        best, left, few_enough = most_with_cells(
            case.boxes, case.cells, n_left, case.changes, case.worth,
            guess,
        )  # fmt: skip
        cells, current, first = case.kept, case.current, case.offset
        points = [
            q
            for q in product(*(range(n) for n in n_left))
            if sum(cells[i][k] != current[i] for i, k in enumerate(q)) <= case.changes
        ]
        sums = [sum(case.worth[first[i] + k] for i, k in enumerate(q)) for q in points]
        assert left == case.changes - sum(h not in k for h, k in zip(current, cells, strict=True))
        seen.add((bool(points), left > 0))
        assert few_enough == bool(points)
        if not points:
            continue
        for i, k in np.argwhere(np.arange(n_left.max()) < n_left[:, None]).tolist():
            with_it = [s for s, q in zip(sums, points, strict=True) if q[i] == k]
            assert best[first[i] + k] == max(with_it, default=-np.inf)
        chosen = tuple(int(np.flatnonzero(c == g)[0]) for c, g in zip(cells, guess, strict=True))
        assert sums[points.index(chosen)] == max(sums)
    assert seen == {(True, True), (True, False), (False, False)}

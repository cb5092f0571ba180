import itertools

import numpy as np

from ract._kernels.grow import gaps
from tests._kernels.plain import plain

N_CELLS = 4  # ordered cells; the next one holds people without a value


def admitted(spans):
    """Cells that a node admits, N_CELLS for people without a value."""
    cells = set(range(spans[0, 0, 1], spans[0, 0, 2] + 1))
    return cells | ({N_CELLS} if spans[0, 0, 0] else set())


def left_of(cell, missing_left):
    return set(range(cell + 1)) | ({N_CELLS} if missing_left else set())


def test_sides_are_attained_if_a_cell_in_reach_lies_in_them():
    ends = list(itertools.combinations_with_replacement(range(N_CELLS), 2))
    for (low, high), (first, last), stays in itertools.product(ends, ends, (0, 1)):
        spans = np.array([[[stays, first, last]]])
        reach = (set(range(low, high + 1)) | {N_CELLS}) & admitted(spans)
        for cell, missing_left in itertools.product(range(N_CELLS - 1), (False, True)):
            found = plain(gaps.attains_sides)(low, high, cell, missing_left, spans, 0, 0)
            left = left_of(cell, missing_left)
            assert found == (bool(reach & left), bool(reach - left))


def test_children_admit_what_is_on_their_side():
    for cell, missing_left in itertools.product(range(N_CELLS - 1), (0, 1)):
        spans = np.zeros((2, 1, 3), np.int32)
        missing, slots = np.array([-1, N_CELLS]), np.array([-1, 0])
        plain(gaps.whole_spans)(spans, 0, missing, slots)
        assert admitted(spans) == set(range(N_CELLS + 1))
        plain(gaps.push_spans)(spans, 0, 0, cell, missing_left)
        left = left_of(cell, missing_left)
        assert admitted(spans[1:]) == left
        assert admitted(spans[:1]) == set(range(N_CELLS + 1)) - left


def test_the_highest_cell_in_use_is_found():
    touched = np.array([0b1010, 0b1], np.uint64)
    highest = plain(gaps.highest_in_use)
    assert [highest(touched, n) for n in (100, 64, 3, 1)] == [64, 3, 1, -1]

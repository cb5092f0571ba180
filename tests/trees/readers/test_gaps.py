"""Numbers that are missing values to a library, split into parts by hand."""

import numpy as np
import pytest

from ract.trees.readers.gaps import ABOVE, BELOW, INSIDE, MissingSpan, MissingSpans

SPAN = MissingSpan(column=2, low=-1.0, high=1.0, without=INSIDE)


def spans(low=-1.0):
    """One span that matters at node 0 of two; its parts come after four values."""
    span = MissingSpan(2, low, 1.0, INSIDE)
    return MissingSpans((span,), np.array([0, -1]), np.array([True, False]), first=4)


def test_parts_that_still_get_there():
    allowed = np.ones((2, 7), bool)
    spans(low=-np.inf).start(allowed)
    assert allowed[:, 4 + BELOW].tolist() == [False, False]
    parts = spans().parts(np.array([0, 1]), allowed)
    assert parts.tolist() == [[False, True, True], [False, False, False]]


@pytest.mark.parametrize("has_above", [True, False])
def test_a_span_is_split_from_above_and_then_from_below(has_above):
    parts = np.array([[True, True, has_above]])
    left, right = np.ones((1, 7), bool), np.ones((1, 7), bool)
    column, threshold, goes_left = spans().split(np.array([0]), parts, left, right)
    assert column.tolist() == [2] and threshold.tolist() == [1.0 if has_above else -1.0]
    # People without a value go with the numbers inside.
    assert goes_left.tolist() == [has_above]
    assert left[0, 4:].tolist() == [True, has_above, False]
    assert right[0, 4:].tolist() == [False, not has_above, True]
    assert left[0, :4].all() and right[0, :4].all() and ABOVE == 2

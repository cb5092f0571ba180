"""The order of the doubles, searched by parts."""

import numpy as np
import pytest

from ract.trees.readers.doubles import largest, moved


@pytest.mark.parametrize("width", [2, 3, 256])
def test_the_last_double_at_which_it_holds(width):
    ends = np.array([-5e-324, -1.0, 0.1, -1e300]), np.array([1.0, 5e-324, 0.3, 1e300])
    last = np.array([0.0, -5e-324, 0.1 + 0.1, -7.25])
    found = largest(lambda x: x <= last[:, None], *ends, width=width)
    assert found.tolist() == last.tolist()


def test_never_and_always():
    ends = np.array([0.0, 0.0]), np.array([1.0, 1.0])
    found = largest(lambda x: x < np.array([[0.0], [2.0]]), *ends, width=4)
    assert found.tolist() == [-np.inf, np.inf]


def test_places_are_those_of_nextafter():
    x = np.array([-1.0, -5e-324, 0.0, 5e-324, 1.5, 1e300])
    assert moved(x, np.array([1])).tolist() == np.nextafter(x, np.inf).tolist()
    assert moved(x, np.array([-1])).tolist() == np.nextafter(x, -np.inf).tolist()

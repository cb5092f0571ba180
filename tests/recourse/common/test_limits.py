"""Limits of the search for each of many people."""

import numpy as np

from ract.recourse.common.limits import Limits


def test_limits_of_some_people():
    limits = Limits(time_limit=3.0).after(np.array([1.0, 2.0, 9.0]))
    assert limits.of_rows(np.array([0, 2])).time_limit.tolist() == [2, 0]
    assert Limits().after(np.ones(3)).of_rows(np.array([1])).time_limit is None

"""A table that is seen once, in batches."""

import numpy as np
import pandas as pd
import pytest

from ract import InvalidData
from ract.data.sketch import Points, TableSketch


def sketch(frame, most=1000):
    return TableSketch.of(frame, None, {}, most)


def test_few_values_are_kept_exactly_whatever_the_batches():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.integers(0, 50, 400), "t": rng.choice(["a", "b"], 400)})
    parts = np.split(np.arange(400), [7, 100, 101, 320])
    whole = sketch(frame.iloc[parts[0]])
    for part in parts[1:]:
        whole += sketch(frame.iloc[part])
    values, counts = np.unique(frame["x"], return_counts=True)
    points = whole.columns["x"].points
    np.testing.assert_array_equal(points.values, values)
    np.testing.assert_array_equal(points.counts, counts)
    assert (whole.error, whole.n_people) == (0.0, 400)
    assert whole.columns["t"].texts["a"] == [(frame["t"] == "a").sum()] * 2
    assert whole.table().quartiles("x") == tuple(np.quantile(frame["x"], [0.25, 0.5, 0.75]))


@pytest.mark.parametrize("seed", range(5))
def test_ranks_are_off_by_no_more_than_is_said(seed):
    rng = np.random.default_rng(seed)
    values = rng.lognormal(0, 2, 3000)
    points = Points.of(values[:1000], None).thinned(100)
    for part in np.split(values[1000:], 4):
        points = points.joined(Points.of(part, None).thinned(100), 100)
    reached = np.cumsum(points.mass)
    exact = np.searchsorted(np.sort(values), points.values, side="right")
    assert np.abs(reached - exact).max() <= points.error
    assert len(points.values) <= 200 and points.mass.sum() == 3000
    assert points.values[0] == values.min() and points.values[-1] == values.max()


def test_parts_that_do_not_fit_are_refused():
    with pytest.raises(InvalidData, match="differ in their columns"):
        sketch(pd.DataFrame({"a": [1]})) + sketch(pd.DataFrame({"b": [1]}))
    with pytest.raises(InvalidData, match="'a' is text in some parts and numbers in others"):
        sketch(pd.DataFrame({"a": [1]})) + sketch(pd.DataFrame({"a": ["x"]}))

"""Rows are divided without a gap, and the work is the same for any number of threads."""

import numpy as np
import pytest

from ract.trees.blocks import Blocks


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_rows", [0, 1, 6, 7, 40])
def test_every_row_is_in_one_block(n_threads, n_rows):
    rows = np.zeros(50, int)

    def work(first, last, k):
        rows[first:last] += 1
        return k, last - first

    with Blocks(n_threads, fewest=3) as blocks:
        done = blocks(4, 4 + n_rows, work)
        bounds = blocks.bounds(4, 4 + n_rows)
    assert rows[4 : 4 + n_rows].tolist() == [1] * n_rows and rows.sum() == n_rows
    assert [k for k, _ in done] == list(range(len(done)))
    assert len(done) == max(1, min(n_threads, n_rows // 3)) == len(bounds) - 1
    if len(done) > 1:
        assert min(size for _, size in done) >= 3
        assert [size for _, size in done] == np.diff(bounds).tolist()

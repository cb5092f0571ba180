import numpy as np
import pytest

from ract._kernels.grow import histogram
from tests._kernels.plain import plain


def marked(touched, n_cells):
    return [c for c in range(n_cells) if int(touched[c >> 6]) >> (c & 63) & 1]


@pytest.mark.parametrize("n_cells", [3, 70, 200])
def test_people_are_counted_alike_one_by_one_and_in_bulk(n_cells, rng):
    cells = rng.integers(0, n_cells, 60).astype(np.uint8)
    order, first, last = rng.permutation(60).astype(np.uint32), 5, 45
    labels, weights = rng.integers(0, 2, 40), rng.integers(1, 4, 40).astype(float)
    results = []
    for bulk in (False, True):
        counts, touched = np.zeros((n_cells, 6)), np.zeros((n_cells + 63) >> 6, np.uint64)
        people = cells, order, first, last, labels, weights
        if bulk:
            ends = plain(histogram.add_many)(*people, True, n_cells, counts, touched)
        else:
            ends = plain(histogram.add_people)(*people, counts, touched)
            plain(histogram.add_numbers)(cells, order, first, last, counts)
        results.append((counts, marked(touched, n_cells), ends))
    here = cells[order[first:last]]
    for counts, in_use, ends in results:
        for label, column in enumerate((histogram.NEG, histogram.POS)):
            known = np.bincount(here, weights * (labels == label), n_cells)
            np.testing.assert_array_equal(counts[:, column], known)
        numbers = np.bincount(here, minlength=n_cells)
        np.testing.assert_array_equal(counts[:, histogram.NUMBER], numbers)
        assert in_use == np.unique(here).tolist()
        assert ends == (here.min(), here.max())


@pytest.mark.parametrize("n_cells", [3, 100])
def test_the_exposed_are_counted_by_both_ends_of_their_reach(n_cells, rng):
    lowest, highest = np.sort(rng.integers(0, n_cells, (2, 50)), axis=0)
    exposed, weights = rng.permutation(50)[:20], rng.integers(1, 4, 20).astype(float)
    known = [np.bincount(end[exposed], weights, n_cells) for end in (lowest, highest)]
    ends, bulk = histogram.add_exposed, histogram.add_many_exposed
    for add, room in ((ends, ()), (bulk, (n_cells,))):
        counts, touched = np.zeros((n_cells, 6)), np.zeros((n_cells + 63) >> 6, np.uint64)
        plain(add)(lowest, highest, exposed, 20, weights, *room, counts, touched)
        np.testing.assert_array_equal(counts[:, [histogram.LOWEST, histogram.HIGHEST]].T, known)
        used = np.unique([lowest[exposed], highest[exposed]])
        assert marked(touched, n_cells) == used.tolist()


def test_only_equal_cells_are_constant():
    cells, order = np.array([1, 2, 2, 2]), np.array([3, 1, 2, 0])
    assert plain(histogram.is_constant)(cells, order, 0, 3)
    assert not plain(histogram.is_constant)(cells, order, 0, 4)

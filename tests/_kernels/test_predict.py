import numpy as np
import pytest

from ract._kernels.predict import BLOCK, add_totals, find_leaves


def random_trees(rng, n_trees, n_columns):
    """Thresholds, steps, missing_left and roots of random trees of up to 15 nodes."""
    steps, threshold, root = [], [], []
    for _ in range(n_trees):
        root.append(len(steps))
        waiting = [len(steps)]
        steps.append([0, 0, 0])
        while waiting:
            node = waiting.pop()
            if len(steps) - root[-1] < 15 and rng.random() < 0.8:
                steps[node] = [len(steps), len(steps) + 1, int(rng.integers(n_columns))]
                waiting += steps[node][:2]
                steps += [[0, 0, 0], [0, 0, 0]]
            else:
                steps[node] = [node, node, 0]
    threshold = rng.integers(0, 4, len(steps)).astype(float)
    missing_left = rng.integers(0, 2, len(steps)).astype(np.uint8)
    return threshold, np.array(steps, np.int32), missing_left, np.array(root, np.int32)


def leaf_of(row, threshold, steps, missing_left, node):
    while steps[node, 0] != node:
        x = row[steps[node, 2]]
        left = missing_left[node] if np.isnan(x) else x <= threshold[node]
        node = steps[node, 0 if left else 1]
    return node


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n", [1, 7, 8, 30])
def test_leaves_and_totals_equal_those_of_one_row_at_a_time(missing, n, rng):
    threshold, steps, missing_left, root = random_trees(rng, 9, 3)
    X = rng.integers(0, 5, (n, 3)).astype(float)
    X[rng.random(X.shape) < 0.2 * missing] = np.nan
    given = missing_left if missing else None
    at, out = np.empty(min(n, BLOCK), np.int32), np.empty((n, len(root)), np.int32)
    find_leaves(X, threshold, steps, given, root, at, out)
    known = [[leaf_of(row, threshold, steps, missing_left, r) for r in root] for row in X]
    np.testing.assert_array_equal(out, known)
    label, value = rng.integers(0, 2, len(steps)).astype(np.uint8), rng.normal(size=len(steps))
    votes, sums = np.zeros(n, np.int64), np.zeros(n)
    add_totals(X, threshold, steps, given, label, value, root, at, votes, sums)
    np.testing.assert_array_equal(votes, label[np.array(known)].sum(axis=1))
    np.testing.assert_allclose(sums, value[np.array(known)].sum(axis=1))

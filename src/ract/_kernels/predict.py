"""Sending people down trees."""

from __future__ import annotations

from ract._kernels._jit import kernel


@kernel
def find_leaves(X, feature, threshold, left, right, root, out):
    """Leaf of each person in each tree.

    X (people, columns) float64. feature (-1: leaf), threshold, left, right (nodes,).
    root (trees,). out (people, trees) int32.
    """
    for i in range(X.shape[0]):
        for t in range(root.shape[0]):
            node = root[t]
            while feature[node] >= 0:
                node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
            out[i, t] = node

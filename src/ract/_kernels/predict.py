"""Sending people down trees.

One tree at a time over a block of people, so that the tree stays in the processor's cache, and
GROUP people at a time, so that it waits for their next nodes at once rather than in turn. There
is no branch to mispredict: a node's children are looked up by the outcome of its comparison, and
both children of a leaf are the leaf, so that a group steps on until nobody in it moves:

    steps   node 0: [1, 2, column]      node 1, a leaf: [1, 1, 0]

Nobody's value is missing unless missing_left has an entry for each node: whether people without a
value go left there. It is None else, and what is about them is not compiled.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, kernel

GROUP = 8
BLOCK = 16_384


@inner
def walk_known(X, first, last, threshold, steps, root, at):
    """As walk, where no value is missing."""
    n = last - first
    for k in range(n):
        at[k] = root
    for start in range(0, n - GROUP + 1, GROUP):
        moved = True
        while moved:
            moved = False
            for k in range(start, start + GROUP):
                node = at[k]
                left = X[first + k, steps[node, 2]] <= threshold[node]
                child = steps[node, 1 - np.int64(left)]
                moved = moved | (child != node)
                at[k] = child
    for k in range(n - n % GROUP, n):
        node = root
        while steps[node, 0] != node:
            left = X[first + k, steps[node, 2]] <= threshold[node]
            node = steps[node, 1 - np.int64(left)]
        at[k] = node


@inner
def walk(X, first, last, threshold, steps, missing_left, root, at):
    """Leaf of each of the people X[first:last] in the tree at root, into at[:last - first]."""
    if missing_left is None:
        walk_known(X, first, last, threshold, steps, root, at)
    else:
        for k in range(last - first):
            node = root
            while steps[node, 0] != node:
                x = X[first + k, steps[node, 2]]
                left = x <= threshold[node] or (missing_left[node] == 1 and x != x)
                node = steps[node, 1 - np.int64(left)]
            at[k] = node


@kernel
def find_leaves(X, threshold, steps, missing_left, root, at, out):
    """Leaf of each person in each tree.

    X (people, columns) float64. threshold (nodes,) float64. steps (nodes, 3) int32: left, right
    (both the node itself at a leaf), column. missing_left (nodes,) uint8 or None. root (trees,)
    int32. at (people, at most BLOCK) int32: room. out (people, trees) int32.
    """
    n = X.shape[0]
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for t in range(root.shape[0]):
            walk(X, first, last, threshold, steps, missing_left, root[t], at)
            for k in range(last - first):
                out[first + k, t] = at[k]


@kernel
def add_totals(X, threshold, steps, missing_left, label, value, root, at, votes, sums):
    """Add up the labels and the values of the leaves that each person is in.

    label (nodes,) uint8. value (nodes,) float64. votes (people,) int64. sums (people,) float64,
    or float32: a double that is rounded after every sum of two singles is the single sum.
    The rest as in find_leaves. A person's values are added in the order of the trees, so that
    their sum does not depend on who else is predicted.
    """
    n = X.shape[0]
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        for t in range(root.shape[0]):
            walk(X, first, last, threshold, steps, missing_left, root[t], at)
            for k in range(last - first):
                votes[first + k] += label[at[k]]
                sums[first + k] += value[at[k]]

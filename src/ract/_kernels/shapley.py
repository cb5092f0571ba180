"""Interventional Shapley values of trees, exact and polynomial.

Someone is compared with a reference person. A leaf is open to a mixture of the two whose features
are the person's or the reference's, so that every feature on the leaf's path is one of

    both pass its splits     no matter whose it is
    only the person does     must be the person's      (a of these)
    only the reference does  must be the reference's   (b of these)
    neither does             no mixture comes here

A leaf of value v then adds v (a-1)! b! / (a+b)! to each feature that must be the person's and takes
v a! (b-1)! / (a+b)! from each that must be the reference's. A walk down from the root finds the
leaves that are open, and no others: it divides where the two differ in a feature for the first
time, and goes on with whoever the feature was given to afterwards.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inlined, making_kernel

FREE, PERSON, REFERENCE = 0, 1, 2


@inlined
def branches_left(value, threshold, missing_left):
    """Whether someone goes left at a split; NaN is a missing value."""
    return value <= threshold or (missing_left == 1 and value != value)


@making_kernel
def add_shapley(
    X, Z, column, threshold, missing_left, left, right, value, root, player, ordered, weights, out
):
    """Add each tree's values, summed over the reference people.

    X (people, columns), Z (reference people, columns) float64. column (nodes,) int32, -1 at a
    leaf; threshold, value (nodes,) float64; missing_left (nodes,) uint8: whether people without a
    value go left; left, right (nodes,) int32. root (trees + 1,) int64, ascending: the nodes of
    tree t are root[t] to root[t + 1]. player (columns,) int64: the feature of a column. ordered
    (features,) int64: the column of a feature that is a number, or -1. weights (n + 1, n + 1)
    float64: [a, b] is (a-1)! b! / (a+b)!. out (people, features, 3) float64: what comes of
    reference people whose number is not larger, larger, and missing.
    """
    n_people, n_reference, n_trees = X.shape[0], Z.shape[0], root.shape[0] - 1
    most = 0
    for t in range(n_trees):
        most = max(most, root[t + 1] - root[t])
    x_left = np.empty(most, np.bool_)
    z_left = np.empty((n_reference, most), np.bool_)
    owner = np.zeros(ordered.shape[0], np.int8)
    given = np.empty(ordered.shape[0], np.int64)  # features that differ, in the order met
    # Branches that wait: their node, how many features were given before, and which one then.
    node_of, n_before, given_then = np.empty((3, ordered.shape[0] + 1), np.int64)
    for t in range(n_trees):
        first = root[t]
        n_nodes = root[t + 1] - first
        for k in range(n_nodes):
            j = column[first + k]
            if j >= 0:
                for z in range(n_reference):
                    z_left[z, k] = branches_left(
                        Z[z, j], threshold[first + k], missing_left[first + k]
                    )
        for i in range(n_people):
            for k in range(n_nodes):
                j = column[first + k]
                if j >= 0:
                    x_left[k] = branches_left(
                        X[i, j], threshold[first + k], missing_left[first + k]
                    )
            for z in range(n_reference):
                node_of[0], n_before[0], given_then[0] = first, 0, -1
                waiting, n_given = 1, 0
                while waiting > 0:
                    waiting -= 1
                    while n_given > n_before[waiting]:
                        n_given -= 1
                        owner[given[n_given]] = FREE
                    node = node_of[waiting]
                    if given_then[waiting] >= 0:
                        given[n_given] = given_then[waiting]
                        owner[given[n_given]] = REFERENCE
                        n_given += 1
                    while column[node] >= 0:
                        go_left = x_left[node - first]
                        of_reference = z_left[z, node - first]
                        if go_left != of_reference:
                            p = player[column[node]]
                            if owner[p] == REFERENCE:
                                go_left = of_reference
                            elif owner[p] == FREE:
                                node_of[waiting] = left[node] if of_reference else right[node]
                                n_before[waiting], given_then[waiting] = n_given, p
                                waiting += 1
                                owner[p] = PERSON
                                given[n_given] = p
                                n_given += 1
                        node = left[node] if go_left else right[node]
                    if value[node] != 0.0:
                        a = 0
                        for k in range(n_given):
                            if owner[given[k]] == PERSON:
                                a += 1
                        b = n_given - a
                        for k in range(n_given):
                            p = given[k]
                            j, part = ordered[p], 0
                            if j >= 0 and Z[z, j] > X[i, j]:
                                part = 1
                            elif j >= 0 and Z[z, j] != Z[z, j]:
                                part = 2
                            if owner[p] == PERSON:
                                out[i, p, part] += value[node] * weights[a, b]
                            else:
                                out[i, p, part] -= value[node] * weights[b, a]
                while n_given > 0:
                    n_given -= 1
                    owner[given[n_given]] = FREE

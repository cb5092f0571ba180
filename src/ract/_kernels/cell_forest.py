"""A vote forest in cells, and what is left of it inside a box of cells.

For a fixed cost, what a person attains is a box: an interval of cells on every ordinal axis, a set
of categories (bits of a word) on every categorical one. Inside a box most trees are constant:
they are counted and dropped. What stays of the others is much smaller than the trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ract._kernels._jit import inner


class Forest(NamedTuple):
    """Nodes of all trees, every child after its parent.

    axis (-1: leaf), cell, left, right, parent: int32 (nodes,); label: uint8; root: int32 (trees,).
    People go left when their cell is at most this, or, on a categorical axis, not this.
    """

    axis: Any
    cell: Any
    left: Any
    right: Any
    parent: Any
    label: Any
    root: Any


class Box(NamedTuple):
    """lowest, highest int64 (axes,); categories uint64 (axes,), a bit per category."""

    lowest: Any
    highest: Any
    categories: Any


@inner
def count_votes(forest, cells, categorical):
    """How many trees vote for the desired class in a point of cells."""
    votes = 0
    for t in range(forest.root.shape[0]):
        node = forest.root[t]
        while forest.axis[node] >= 0:
            axis = forest.axis[node]
            here, cell = cells[axis], forest.cell[node]
            to_left = here != cell if categorical[axis] else here <= cell
            node = forest.left[node] if to_left else forest.right[node]
        votes += forest.label[node]
    return votes


@inner
def set_box(own, costs, n_cells, categorical, limit, box):
    """The box of cells that cost at most limit."""
    for axis in range(own.shape[0]):
        if categorical[axis]:
            bits = np.uint64(1) << np.uint64(own[axis])
            for k in range(n_cells[axis]):
                if costs[axis, k] <= limit:
                    bits |= np.uint64(1) << np.uint64(k)
            box.categories[axis] = bits
            box.lowest[axis] = 0
            box.highest[axis] = 0
            continue
        low, high = own[axis], own[axis]
        while low > 0 and costs[axis, low - 1] <= limit:
            low -= 1
        while high < n_cells[axis] - 1 and costs[axis, high + 1] <= limit:
            high += 1
        box.lowest[axis] = low
        box.highest[axis] = high


@inner
def sides_met(forest, node, box, categorical, admitted):
    """Which children of a node the box meets, as bits: 1 left, 2 right.

    admitted uint64: categories that the node's path still admits on the node's own axis.
    """
    axis, cell = forest.axis[node], forest.cell[node]
    met = 0
    if categorical[axis]:
        bit = np.uint64(1) << np.uint64(cell)
        if admitted & ~bit != np.uint64(0):
            met |= 1
        if admitted & bit != np.uint64(0):
            met |= 2
        return met
    if box.lowest[axis] <= cell:
        met |= 1
    if box.highest[axis] > cell:
        met |= 2
    return met


@inner
def path_categories(forest, node, axis, box):
    """Categories of an axis that lie in the box and that the path to a node admits."""
    admitted = box.categories[axis]
    while forest.parent[node] >= 0:
        parent = forest.parent[node]
        if forest.axis[parent] == axis:
            bit = np.uint64(1) << np.uint64(forest.cell[parent])
            admitted &= ~bit if forest.left[parent] == node else bit
        node = parent
    return admitted


NOTHING, DESIRED, MIXED = 0, 1, 2


@inner
def judge_nodes(forest, first, box, categorical, visited, met, verdict):
    """Visit what the box meets of the tree at root first; returns the number of nodes visited.

    visited (nodes,) int32: nodes in order, parents first. met (nodes,) uint8: children met.
    verdict (nodes,) uint8: NOTHING (no desired leaf), DESIRED (only desired leaves) or MIXED.
    """
    n = 1
    visited[0] = first
    k = 0
    while k < n:
        node = visited[k]
        k += 1
        axis = forest.axis[node]
        if axis < 0:
            met[node] = 0
            continue
        admitted = np.uint64(0)
        if categorical[axis]:
            admitted = path_categories(forest, node, axis, box)
        met[node] = sides_met(forest, node, box, categorical, admitted)
        if met[node] & 1:
            visited[n] = forest.left[node]
            n += 1
        if met[node] & 2:
            visited[n] = forest.right[node]
            n += 1
    for k in range(n - 1, -1, -1):
        node = visited[k]
        if met[node] == 0:
            verdict[node] = forest.label[node]
        elif met[node] == 1:
            verdict[node] = verdict[forest.left[node]]
        elif met[node] == 2:
            verdict[node] = verdict[forest.right[node]]
        else:
            left, right = verdict[forest.left[node]], verdict[forest.right[node]]
            verdict[node] = left if left == right else MIXED
    return n


@inner
def copy_mixed(forest, first, met, verdict, out, n):
    """Append the mixed part of a judged tree to out, constant parts as leaves; returns the size."""
    root = n
    out.label[n] = 0
    out.parent[n] = -1
    out.left[n] = first  # until a copied node is expanded, left holds the original
    n += 1
    k = root
    while k < n:
        node = out.left[k]
        while verdict[node] == MIXED and met[node] != 3:
            node = forest.left[node] if met[node] == 1 else forest.right[node]
        if verdict[node] != MIXED:
            out.axis[k] = -1
            out.label[k] = verdict[node]
            out.left[k] = -1
            out.right[k] = -1
        else:
            out.axis[k] = forest.axis[node]
            out.cell[k] = forest.cell[node]
            out.left[k] = n
            out.right[k] = n + 1
            for child in range(2):
                out.parent[n + child] = k
                out.label[n + child] = 0
            out.left[n] = forest.left[node]
            out.left[n + 1] = forest.right[node]
            n += 2
        k += 1
    return n


@inner
def empty_forest(n_nodes, n_trees):
    """Room for a forest."""
    return Forest(
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.uint8),
        np.empty(n_trees, np.int32),
    )


@inner
def prune(forest, box, categorical, visited, met, verdict, out):
    """What is left of a forest in a box; returns trees that always vote desired, trees, nodes.

    out: a forest with room for as much as there is; its first trees and nodes are filled.
    """
    always, n_trees, n = 0, 0, 0
    for t in range(forest.root.shape[0]):
        first = forest.root[t]
        judge_nodes(forest, first, box, categorical, visited, met, verdict)
        if verdict[first] == DESIRED:
            always += 1
        elif verdict[first] == MIXED:
            out.root[n_trees] = n
            n_trees += 1
            n = copy_mixed(forest, first, met, verdict, out, n)
    return always, n_trees, n


@inner
def take(forest, n_trees, n_nodes):
    """The first trees and nodes of a forest."""
    return Forest(
        forest.axis[:n_nodes],
        forest.cell[:n_nodes],
        forest.left[:n_nodes],
        forest.right[:n_nodes],
        forest.parent[:n_nodes],
        forest.label[:n_nodes],
        forest.root[:n_trees],
    )


@inner
def cheapest_leaves(forest, own, costs, n_cells, categorical, cap, out):
    """Least cost at which each tree can vote desired; inf beyond cap. out (trees,).

    Exact for ordinal axes; on categorical ones a lower bound.
    """
    depth = 64
    stack, prices = np.empty(depth, np.int32), np.empty(depth)
    for t in range(forest.root.shape[0]):
        best = np.inf
        stack[0] = forest.root[t]
        prices[0] = 0.0
        n = 1
        while n > 0:
            n -= 1
            node, price = stack[n], prices[n]
            if price >= best:
                continue
            axis = forest.axis[node]
            if axis < 0:
                if forest.label[node] == 1:
                    best = price
                continue
            if n + 2 > depth:
                depth *= 2
                longer, dearer = np.empty(depth, np.int32), np.empty(depth)
                for k in range(n):
                    longer[k] = stack[k]
                    dearer[k] = prices[k]
                stack, prices = longer, dearer
            cell, here = forest.cell[node], own[axis]
            if categorical[axis]:
                at_home = here != cell
                change = costs[axis, cell] if at_home else np.inf
                if not at_home:
                    for k in range(n_cells[axis]):
                        if k != cell and costs[axis, k] < change:
                            change = costs[axis, k]
            else:
                at_home = here <= cell
                change = costs[axis, cell + 1] if at_home else costs[axis, cell]
            near, far = forest.left[node], forest.right[node]
            if not at_home:
                near, far = far, near
            if change < price:
                change = price
            if change < best and change <= cap:
                stack[n] = far
                prices[n] = change
                n += 1
            stack[n] = near
            prices[n] = price
            n += 1
        out[t] = best

"""A forest in cells, and what is left of it inside a box of cells.

For a fixed cost, what a person attains is a box: an interval of cells on every ordinal axis, a set
of categories (bits of a word) on every categorical one. Inside a box most trees are constant:
they are added up and dropped. What stays of the others is much smaller than the trees.

Nor can anybody come to a leaf whose path leaves the person's own cells on more axes than they may
change, so that such leaves are left out as well.

People without a value are in the last cell of an ordinal axis, which has no place in the order:
every split says on which side they are. Someone who can supply a value attains an interval and
that cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner, kernel


class Forest(NamedTuple):
    """Nodes of all trees, every child after its parent.

    axis (-1: leaf), cell, left, right, parent, label: int32 (nodes,); root: int32 (trees,).
    People go left when their cell is at most this, or, on a categorical axis, not this. label of
    a leaf: votes 0 or 1; else the rank of its value among all values. missing_left int32 (nodes,):
    1 where people without a value go left. missing int64 (axes,): their cell on an ordinal axis,
    or -1.
    """

    axis: np.ndarray
    cell: np.ndarray
    left: np.ndarray
    right: np.ndarray
    parent: np.ndarray
    label: np.ndarray
    missing_left: np.ndarray
    root: np.ndarray
    missing: np.ndarray


class Box(NamedTuple):
    """lowest, highest int64 (axes,); categories int64 (axes,), a bit per category.

    On an ordinal axis lowest and highest are cells in order; if there are none, lowest is above
    all of them and highest is -1. categories is 1 there if the cell of people without a value
    belongs to the box, else 0.
    """

    lowest: np.ndarray
    highest: np.ndarray
    categories: np.ndarray


MIXED = -1


@inner
def fill_affordable_box(own, costs, n_cells, categorical, missing, limit, box):
    """The box of cells that cost at most limit."""
    for axis in range(own.shape[0]):
        low = high = own[axis]
        bits = 0
        if categorical[axis]:
            bits = 1 << own[axis]
            for k in range(n_cells[axis]):
                if costs[axis, k] <= limit:
                    bits |= 1 << k
            low = high = 0
        else:
            last = n_cells[axis] - 1
            if missing[axis] >= 0:
                last -= 1
                if own[axis] > last or costs[axis, last + 1] <= limit:
                    bits = 1
            if own[axis] > last:  # whatever may be supplied
                low, high = 0, last
                while low <= last and not costs[axis, low] <= limit:
                    low += 1
                while high >= 0 and not costs[axis, high] <= limit:
                    high -= 1
            else:
                while low > 0 and costs[axis, low - 1] <= limit:
                    low -= 1
                while high < last and costs[axis, high + 1] <= limit:
                    high += 1
        box.categories[axis] = bits
        box.lowest[axis] = low
        box.highest[axis] = high


@inner
def path_categories(forest, node, axis, categories):
    """Those of some categories of an axis that the path to a node admits."""
    while forest.parent[node] >= 0:
        parent = forest.parent[node]
        if forest.axis[parent] == axis:
            bit = 1 << np.int64(forest.cell[parent])
            categories &= ~bit if forest.left[parent] == node else bit
        node = np.int64(parent)
    return categories


@inner
def children_met(forest, node, box, categorical):
    """Which children of an inner node a box meets, as bits: 1 left, 2 right."""
    axis, cell = forest.axis[node], forest.cell[node]
    if categorical[axis]:
        admitted = path_categories(forest, np.int64(node), np.int64(axis), box.categories[axis])
        bit = 1 << np.int64(cell)
        to_left, to_right = admitted & ~bit != 0, admitted & bit != 0
    else:
        to_left, to_right = box.lowest[axis] <= cell, box.highest[axis] > cell
        if box.categories[axis] != 0:
            missing_left = forest.missing_left[node] != 0
            to_left, to_right = to_left or missing_left, to_right or not missing_left
    return (1 if to_left else 0) + (2 if to_right else 0)


@inner
def own_child(forest, node, own, categorical):
    """The child of an inner node to which a person goes: 1 left, 2 right."""
    axis, cell = forest.axis[node], forest.cell[node]
    if own[axis] == forest.missing[axis]:
        return 1 if forest.missing_left[node] != 0 else 2
    to_left = own[axis] != cell if categorical[axis] else own[axis] <= cell
    return 1 if to_left else 2


@inner
def has_left(forest, node, own, categorical):
    """Whether the path to an inner node has left a person's own cell on the axis of its split."""
    axis = forest.axis[node]
    while forest.parent[node] >= 0:
        parent = forest.parent[node]
        if forest.axis[parent] == axis:
            side = 1 if forest.left[parent] == node else 2
            if side != own_child(forest, parent, own, categorical):
                return True
        node = parent
    return False


@inner
def judge_nodes(forest, first, box, own, changes, categorical, visited, met, away, verdict):
    """Visit what the box meets of the tree at root first, leaving at most so many own cells.

    visited (nodes,) int32: nodes in order, parents first. met (nodes,) int32: children met, as
    bits: 1 left, 2 right. away (nodes,) int32: axes on which the path has left the own cells.
    verdict (nodes,) int32: the label of every leaf met, or MIXED.
    """
    n, limited = 1, changes < own.shape[0]
    visited[0] = first
    away[first] = 0
    k = 0
    while k < n:
        node = visited[k]
        k += 1
        met[node] = 0
        if forest.axis[node] < 0:
            continue
        met[node] = children_met(forest, node, box, categorical)
        if limited:
            mine = own_child(forest, node, own, categorical)
            more = away[node]
            if met[node] & ~mine and not has_left(forest, node, own, categorical):
                more += 1
            if more > changes:
                met[node] = mine
            away[forest.left[node]] = away[node] if mine == 1 else more
            away[forest.right[node]] = away[node] if mine == 2 else more
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
            continue
        left = forest.left[node] if met[node] != 2 else forest.right[node]
        right = forest.right[node] if met[node] != 1 else left
        verdict[node] = verdict[left] if verdict[left] == verdict[right] else MIXED


@inner
def copy_mixed(forest, first, met, verdict, out, n):
    """Append the mixed part of a marked tree to out, constant parts as leaves; returns the size."""
    k = n
    out.parent[n] = -1
    out.left[n] = first  # until a copied node is expanded, left holds the original
    n += 1
    while k < n:
        node = out.left[k]
        while verdict[node] == MIXED and met[node] != 3:
            node = forest.left[node] if met[node] == 1 else forest.right[node]
        out.label[k] = verdict[node]
        if verdict[node] != MIXED:
            out.axis[k] = -1
        else:
            out.axis[k] = forest.axis[node]
            out.cell[k] = forest.cell[node]
            out.missing_left[k] = forest.missing_left[node]
            out.left[k] = n
            out.right[k] = n + 1
            out.parent[n] = out.parent[n + 1] = k
            out.left[n] = forest.left[node]
            out.left[n + 1] = forest.right[node]
            n += 2
        k += 1
    return n


@kernel
def prune(forest, weight, own, costs, n_cells, categorical, limit, changes, numbers, root, room):
    """What is left of a forest in the box of what costs at most limit, for so many changes.

    weight float64 (labels,), ascending. own int64 (axes,), costs float64 (axes, cells): a person's
    cells and what each cell costs them. numbers int64 (3, axes): set to the arrays of a Box. root
    int32 (trees,): set to the roots of the trees that are not constant. room int32 (11, nodes): the
    first seven rows are set to what else makes a Forest of those. Returns the weight of the
    constant trees, the most that the others can weigh, and how many nodes and trees these have.
    """
    box = Box(numbers[0], numbers[1], numbers[2])
    fill_affordable_box(own, costs, n_cells, categorical, forest.missing, limit, box)
    visited, met, away, verdict = room[7], room[8], room[9], room[10]
    out = Forest(
        room[0], room[1], room[2], room[3], room[4], room[5], room[6], root, forest.missing
    )
    constant, most, n_trees, n = 0.0, 0.0, 0, np.int64(0)
    for t in range(forest.root.shape[0]):
        first = forest.root[t]
        judge_nodes(forest, first, box, own, changes, categorical, visited, met, away, verdict)
        if verdict[first] != MIXED:
            constant += weight[verdict[first]]
        else:
            root[n_trees] = n
            n_trees += 1
            n = copy_mixed(forest, first, met, verdict, out, n)
            best = np.int32(0)
            for k in range(root[n_trees - 1], n):
                best = max(best, out.label[k])
            most += weight[best]
    return constant, most, n, n_trees


@inner
def best_label(forest, first, box, categorical, stack):
    """The largest label of the leaves that a box meets of the tree at root first."""
    best, n = np.int32(0), 1
    stack[0] = first
    while n > 0:
        n -= 1
        node = stack[n]
        if forest.axis[node] < 0:
            best = max(best, forest.label[node])
            continue
        met = children_met(forest, node, box, categorical)
        if met & 1:
            stack[n] = forest.left[node]
            n += 1
        if met & 2:
            stack[n] = forest.right[node]
            n += 1
    return best


@kernel
def first_price(forest, weight, own, costs, n_cells, categorical, prices, needed, numbers, stack):
    """Position of the lowest price in whose box the trees can weigh what is needed.

    prices float64 (n,), ascending; the last one if none of those before it is enough. stack int32
    (nodes,): room. The rest as in prune.
    """
    box, n_trees = Box(numbers[0], numbers[1], numbers[2]), forest.root.shape[0]
    low, high = 0, prices.shape[0] - 1
    while low < high:
        middle = (low + high) >> 1
        fill_affordable_box(own, costs, n_cells, categorical, forest.missing, prices[middle], box)
        most = 0.0
        for t in range(n_trees):
            most += weight[best_label(forest, forest.root[t], box, categorical, stack)]
        if most >= needed:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def sum_of_leaves(forest, first, last, weight, base, single, cells, categorical):
    """Weight of a point of cells in some trees, added up from base (in float32 if single)."""
    sum_ = base
    for t in range(first, last):
        node = forest.root[t]
        while forest.axis[node] >= 0:
            axis = forest.axis[node]
            here, cell = cells[axis], forest.cell[node]
            to_left = here != cell if categorical[axis] else here <= cell
            if here == forest.missing[axis]:
                to_left = forest.missing_left[node] != 0
            node = forest.left[node] if to_left else forest.right[node]
        sum_ += weight[forest.label[node]]
        if single:
            sum_ = np.float64(np.float32(sum_))
    return sum_


class PointRule(NamedTuple):
    """When a point is wanted: (base + weights of its leaves) / divisor >= cutoff, or not so.

    weight float64 (labels,). against float64 (labels,): weights of the other class, where the
    larger of the two sums wins instead; else empty. ahead: by how much it must be larger. single:
    sums are rounded to float32 after every tree. wanted: False turns it around.
    """

    weight: np.ndarray
    against: np.ndarray
    ahead: float
    base: float
    single: bool
    divisor: float
    cutoff: float
    wanted: bool


class PointRules(NamedTuple):
    """The rule of each model, whose trees stand one after the other in one forest.

    first int64 (models + 1,): first tree of each model. weight, against float64 (labels,): of the
    labels of all models. compares bool (models,): whether a model has weights of the other class.
    The rest (models,) as in PointRule.
    """

    first: np.ndarray
    weight: np.ndarray
    against: np.ndarray
    compares: np.ndarray
    ahead: np.ndarray
    base: np.ndarray
    single: np.ndarray
    divisor: np.ndarray
    cutoff: np.ndarray
    wanted: np.ndarray


class Needs(NamedTuple):
    """What is asked of the trees that are left of each model.

    first int64 (models + 1,): first tree of each model. by_votes bool (models,). least float64
    (models,): no point with fewer votes, or a smaller sum, is accepted.
    """

    first: np.ndarray
    by_votes: np.ndarray
    least: np.ndarray


@inner
def is_wanted(forest, rules, cells, categorical):
    """Whether every model wants a point of cells."""
    for g in range(rules.base.shape[0]):
        first, last, base = rules.first[g], rules.first[g + 1], rules.base[g]
        single, divisor = rules.single[g], rules.divisor[g]
        sum_ = (
            sum_of_leaves(forest, first, last, rules.weight, base, single, cells, categorical)
            / divisor
        )
        accepted = sum_ >= rules.cutoff[g]
        if rules.compares[g]:
            other = sum_of_leaves(
                forest, first, last, rules.against, base, single, cells, categorical
            )
            other /= divisor
            accepted = sum_ - other >= rules.ahead[g]
        if accepted != rules.wanted[g]:
            return False
    return True


@kernel
def polish(forest, rules, own, costs, categorical, stop, point):
    """Move the dearest axis of a point back while all models want it; returns its cost.

    stop (1,) uint8: set from outside to leave the point as it is by then.
    """
    while True:
        dearest, price = -1, 0.0
        for a in range(own.shape[0]):
            if point[a] != own[a] and costs[a, point[a]] > price:
                dearest, price = a, costs[a, point[a]]
        if dearest < 0:
            return price
        here = point[dearest]
        cell = own[dearest]
        kept = False
        while cell != here and not kept and not stop[0]:
            point[dearest] = cell
            kept = costs[dearest, cell] < price and is_wanted(forest, rules, point, categorical)
            if categorical[dearest]:
                break
            cell += 1 if here > cell else -1
        if not kept:
            point[dearest] = here
            return price


@kernel
def tidy(forest, rules, own, categorical, point):
    """Undo every change of a point that all models want without it too."""
    for a in range(own.shape[0]):
        here = point[a]
        if here != own[a]:
            point[a] = own[a]
            if not is_wanted(forest, rules, point, categorical):
                point[a] = here


@kernel
def settle(forest, rules, categorical, axis, cells, point):
    """Move an axis of a point that all models want to the first of some cells that they want."""
    here = point[axis]
    for k in range(cells.shape[0]):
        point[axis] = cells[k]
        if is_wanted(forest, rules, point, categorical):
            return
    point[axis] = here

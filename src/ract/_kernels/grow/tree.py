"""Growing one tree, depth first and left first (Algorithm 1 of the paper).

Whose recourse a split decides is kept in lists of the people who attain each node
(ract._kernels.grow.exposure).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, kernel
from ract._kernels.grow.exposure import gather_exposed, mark_inside, split_attaining
from ract._kernels.grow.gaps import push_spans, sweep_missing
from ract._kernels.grow.histogram import (
    add_exposed,
    add_exposed_categories,
    add_many,
    add_many_exposed,
    add_numbers,
    add_people,
    is_constant,
)
from ract._kernels.grow.objective import middle_is_low, set_limits
from ract._kernels.grow.split import (
    TO_LARGER,
    MissingRows,
    Node,
    sweep_axis,
    sweep_categories,
)
from ract._kernels.splitmix import next_below


class Data(NamedTuple):
    """The training people.

    cells, lowest, highest (axes, people): cell and reach of everyone. layout (axes, 6) int64:
    number of cells; where a categorical axis' table starts in can_enter, and its set in a node's
    admitted categories (-1 for ordinal axes); direction of a monotonic constraint, or 0; the cell
    of missing values of an ordinal axis, and its place in spans (-1 if there is none).
    can_enter: flat boolean tables, row = own. desired (people,) uint8. weights, sample_weight
    (people,) float64: of someone's error, and of someone without recourse.
    """

    cells: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    layout: np.ndarray
    can_enter: np.ndarray
    desired: np.ndarray
    weights: np.ndarray
    sample_weight: np.ndarray


class GrowthRules(NamedTuple):
    """What to optimise and when to stop.

    floor: the least share of desired people of a desired leaf. cut: the share from which on a leaf
    is desired where recourse is not at stake. counted: whether min_leaf needs
    numbers of people that differ from their weights. by_authors: whether splits compete by the
    rules of the authors' code (``authors_splits`` in ract.trees.grower).
    """

    recourse_weight: float
    criterion: int
    max_depth: int
    min_leaf: int
    counted: bool
    floor: float
    cut: float
    max_features: int
    by_authors: bool


class Scratch(NamedTuple):
    """Working memory, one element per person of the sample unless said otherwise.

    order uint32: the sample, in the order of the nodes. spare, exposed uint32: people. labels,
    weights: of the present node's people. exposed_weights. axes (axes,): for sampling.
    state (1,): of the generator. pending, covered (people,). inside (people,) int32: the last node
    that someone was in, for the authors' rule, or None. admitted (stack, categories). spans: see
    ract._kernels.grow.gaps.
    stack (stack, 7): node, first and last of its people and of those who attain it, depth, label
    that everything below is frozen to (-1: free).
    """

    order: np.ndarray
    spare: np.ndarray
    exposed: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    exposed_weights: np.ndarray
    axes: np.ndarray
    state: np.ndarray
    pending: np.ndarray
    covered: np.ndarray
    inside: np.ndarray | None
    admitted: np.ndarray
    spans: np.ndarray | None
    stack: np.ndarray


@inner
def draw_below(state, bound):
    """Next number in [0, bound), without a division."""
    return (next_below(state, 1 << 31) * bound) >> 31


@kernel
def draw_with_replacement(state, n_drawn, times):
    """Draw people with replacement: how often each is drawn is added to times (people,) float64.

    state (1,) uint64: of the generator, which moves on.
    """
    for _ in range(n_drawn):
        times[draw_below(state, times.shape[0])] += 1.0


@inner
def gather_people(order, first, last, desired, weights, node_labels, node_weights):
    """Copy labels and weights of a node's people side by side; returns both class weights."""
    neg, pos = 0.0, 0.0
    for k in range(first, last):
        i = order[k]
        label, weight = desired[i], weights[i]
        node_labels[k - first] = label
        node_weights[k - first] = weight
        pos += weight * label
        neg += weight * (1 - label)
    return neg, pos


@inner
def draw_axis(axes, j, state):
    """Draw the j-th axis without replacement: one step of a Fisher-Yates shuffle."""
    r = j + draw_below(state, axes.shape[0] - j)
    drawn = axes[r]
    axes[r] = axes[j]
    axes[j] = drawn
    return drawn


@inner
def draw_sorted(axes, n, state):
    """Draw n axes without replacement and put them in the order of their index."""
    for j in range(n):
        drawn = draw_axis(axes, j, state)
        k = j
        while k > 0 and axes[k - 1] > drawn:
            axes[k] = axes[k - 1]
            k -= 1
        axes[k] = drawn


@inlined
def choose_split(
    data, rules, node, frozen, first, last, n_exposed, row, spans, scratch, histograms, best
):
    """Search the sampled axes for the split with the least objective.

    Axes that are constant in the node do not count as sampled, as in scikit-learn.
    """
    layout, n_axes = data.layout, data.layout.shape[0]
    axes, state = scratch.axes, scratch.state
    counts, touched = histograms.counts, histograms.touched
    order, labels, weights = scratch.order, scratch.labels, scratch.weights
    exposed, exposed_weights = scratch.exposed, scratch.exposed_weights
    best.value[0] = np.inf
    best.split[0] = -1
    everything = rules.max_features >= n_axes
    by_index = rules.by_authors  # their tie rule
    if by_index and not everything:
        draw_sorted(axes, rules.max_features, state)
    visited = 0
    for j in range(n_axes):
        if visited >= rules.max_features:
            break
        axis = j
        if not everything:
            axis = axes[j] if by_index else draw_axis(axes, j, state)
        n_cells, cells = layout[axis, 0], data.cells[axis]
        if not by_index and is_constant(cells, order, first, last):
            continue
        visited += 1
        set_limits(best.limits, layout[axis, 3], frozen)
        if last - first > n_cells:
            low, high = add_many(
                cells, order, first, last, labels, weights, rules.counted, n_cells, counts, touched
            )
        else:
            low, high = add_people(cells, order, first, last, labels, weights, counts, touched)
            if rules.counted:
                add_numbers(cells, order, first, last, counts)
        if layout[axis, 1] >= 0:
            add_exposed_categories(cells, exposed, n_exposed, exposed_weights, counts)
            sweep_categories(axis, data, node, rules, scratch.admitted, row, histograms, best)
            continue
        if spans is not None:
            if layout[axis, 4] >= 0:
                sweep_missing(
                    axis, data, node, frozen, low, high, n_exposed, row, spans, scratch, rules,
                    histograms, best,
                )  # fmt: skip
                continue
        lowest, highest = data.lowest[axis], data.highest[axis]
        gap = MissingRows(TO_LARGER, 0.0, 0.0, 0.0, 0.0, 1, 0, True)
        if n_exposed > n_cells:
            add_many_exposed(
                lowest, highest, exposed, n_exposed, exposed_weights, n_cells, counts, touched
            )
        elif n_exposed > 0:
            add_exposed(lowest, highest, exposed, n_exposed, exposed_weights, counts, touched)
        sweep_axis(axis, n_cells, low, high, n_exposed, node, gap, rules, histograms, best)


@inner
def partition(cells, order, first, last, cell, categorical, also, spare):
    """Put the left side's people first, both sides in their old order; returns the boundary.

    also: a further cell whose people go left, or -1.

    order:  [ first ... left ... | ... right ... last )
    """
    end, kept = np.uint64(first), np.uint64(0)
    for k in range(np.uint64(first), np.uint64(last)):
        i = order[k]
        here = np.int64(cells[i])
        left = (here != cell) if categorical else (here <= cell) | (here == also)
        order[end] = i
        spare[kept] = i
        end += np.uint64(left)
        kept += np.uint64(not left)
    for k in range(kept):
        order[end + k] = spare[k]
    return np.int64(end)


@inner
def push_node(stack, row, node, first, last, first_attaining, last_attaining, depth, frozen):
    """Write a row of the stack."""
    stack[row, 0] = node
    stack[row, 1] = first
    stack[row, 2] = last
    stack[row, 3] = first_attaining
    stack[row, 4] = last_attaining
    stack[row, 5] = depth
    stack[row, 6] = frozen


@inner
def push_admitted(admitted, row, first_set, n_cells, cell):
    """Categories admitted right (row) and left (row + 1) of a split of the node in row."""
    for k in range(admitted.shape[1]):
        admitted[row + 1, k] = admitted[row, k]
    if first_set >= 0:
        for k in range(first_set, first_set + n_cells):
            admitted[row, k] = k == first_set + cell
        admitted[row + 1, first_set + cell] = False


@inner
def freeze(direction, frozen, best, pos, neg, cut):
    """The label of everything left and right of the best split, -1 where it stays free.

    pos, neg: weights of the node. Of two different labels the middle of the shares decides which
    one stays (see ract.trees.monotone); of two equal ones only one may.
    """
    if direction == 0 or frozen >= 0:
        return frozen, frozen
    label_l, label_r = best.split[2], best.split[3]
    low_freezes = label_l == 0
    if label_l != label_r:
        pos_l, neg_l = best.value[1], best.value[2]
        low_freezes = middle_is_low(pos_l, neg_l, pos - pos_l, neg - neg_l, cut)
    free = np.int64(-1)
    return (label_l, free) if low_freezes == (direction == 1) else (free, label_r)


@inlined
def carry_out(data, rules, first, last, scratch, best):
    """Part the people by the best split; returns the boundary, or -1 if it must not be made."""
    axis = best.split[0]
    if axis < 0:
        return -1
    categorical = data.layout[axis, 1] >= 0
    also = data.layout[axis, 4] if best.split[4] else -1
    middle = partition(
        data.cells[axis], scratch.order, first, last, best.split[1], categorical, also,
        scratch.spare,
    )  # fmt: skip
    if middle - first < rules.min_leaf or last - middle < rules.min_leaf:
        return -1
    return middle


@kernel
def grow_tree_nodes(arena, row, n_nodes, data, rules, scratch, histograms, best, nodes, masses):
    """Grow a tree on the sample in scratch.order from a row of the stack on, while arena has room.

    nodes (most, 6) int32: axis (-1: leaf), cell, left, right, label, whether people without a value
    go left. masses (most, 3) float64: weight of undesired, weight of desired, number of people.
    scratch.covered is set for those who attain a desired leaf of the finished tree. Returns the
    row to go on from with a longer arena (-1: the tree is finished), and the number of nodes.
    """
    order, stack, spare, covered = scratch.order, scratch.stack, scratch.spare, scratch.covered
    labels, weights, pending = scratch.labels, scratch.weights, scratch.pending
    exposed, exposed_weights = scratch.exposed, scratch.exposed_weights
    while row >= 0:
        node, first, last, depth = stack[row, 0], stack[row, 1], stack[row, 2], stack[row, 5]
        first_attaining, last_attaining, frozen = stack[row, 3], stack[row, 4], stack[row, 6]
        if 2 * last_attaining - first_attaining > arena.shape[0]:
            break
        label = np.int64(nodes[node, 4])
        neg, pos = gather_people(order, first, last, data.desired, data.weights, labels, weights)
        number = np.float64(last - first)
        masses[node, 0] = neg
        masses[node, 1] = pos
        masses[node, 2] = number
        middle = np.int64(-1)
        if depth < rules.max_depth and pos > 0.0 and neg > 0.0:
            last_attaining, n_exposed, mass = gather_exposed(
                arena, first_attaining, last_attaining, covered, pending, label, data.sample_weight,
                exposed, exposed_weights,
            )  # fmt: skip
            present = Node(pos, neg, number, mass)
            choose_split(
                data, rules, present, frozen, first, last, n_exposed, row, scratch.spans, scratch,
                histograms, best,
            )  # fmt: skip
            middle = carry_out(data, rules, first, last, scratch, best)
        if middle < 0:
            nodes[node, 0] = -1
            if label == 1:
                for k in range(first_attaining, last_attaining):
                    covered[arena[k]] = True
            row -= 1
            continue

        axis, left, right = best.split[0], n_nodes, n_nodes + 1
        n_nodes += 2
        nodes[node, 0] = axis
        nodes[node, 1] = best.split[1]
        nodes[node, 2] = left
        nodes[node, 3] = right
        nodes[left, 4] = best.split[2]
        nodes[right, 4] = best.split[3]
        nodes[node, 5] = best.split[4]
        n_right, n_left = 0, 0
        if rules.recourse_weight > 0.0:
            mark_inside(scratch.inside, node, order, first, last)
            n_right, n_left = split_attaining(
                data, best.split, label, arena, first_attaining, last_attaining, row, node,
                scratch.spans, scratch.inside, scratch,
            )  # fmt: skip
            for k in range(n_left):
                arena[first_attaining + n_right + k] = spare[k]
        boundary = first_attaining + n_right
        missing = data.layout[axis, 4]
        # Known against missing has no direction.
        direction = data.layout[axis, 3] if best.split[1] != missing - 1 or missing < 0 else 0
        frozen_l, frozen_r = freeze(direction, frozen, best, pos, neg, rules.cut)
        push_node(stack, row, right, middle, last, first_attaining, boundary, depth + 1, frozen_r)
        push_node(
            stack, row + 1, left, first, middle, boundary, boundary + n_left, depth + 1, frozen_l
        )
        push_admitted(
            scratch.admitted, row, data.layout[axis, 2], data.layout[axis, 0], best.split[1]
        )
        push_spans(scratch.spans, row, data.layout[axis, 5], best.split[1], best.split[4])
        row += 1
    return row, n_nodes

"""The best split of a node on an axis with missing values.

The cell after the ordered ones holds people without a value. They are taken out of the histograms,
the ordered cells are swept with them on the left and with them on the right, and they are tried on
a side of their own:

    ordered cells          missing       "<= c or missing" against "> c"
    0  1  2 ... m - 1      m             "<= c" against "> c or missing"
                                         known against missing

Whoever is in cell m may, besides staying in it, enter the ordered cells between the ends of their
reach: what they may supply. It is the same for all of them. Whether a node admits cell m, and
which ordered cells it admits, is kept in spans, by axis with missing values:

    spans (stack, such axes, 3) int32: whether cell m is admitted, lowest and highest ordered cell

Where no axis has missing values spans are None, and what is about them is not compiled.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.grow.histogram import HIGHEST, LOWEST, NEG, POS, mark
from ract._kernels.grow.objective import set_limits
from ract._kernels.grow.split import (
    NOWHERE,
    TO_LARGER,
    TO_LEFT,
    TO_RIGHT,
    MissingRows,
    is_allowed,
    number_with,
    offer_threshold,
    sweep_axis,
)


@inner
def take_missing(counts, touched, missing, rules):
    """Take people without a value out of the histograms: weights, and number as sweeps count."""
    neg, pos = counts[missing, NEG], counts[missing, POS]
    number = number_with(0.0, neg, pos, missing, counts, rules)
    for k in range(counts.shape[1]):
        counts[missing, k] = 0.0
    touched[missing >> 6] &= ~(np.uint64(1) << np.uint64(missing & 63))
    return neg, pos, number


@inner
def highest_in_use(touched, n_cells):
    """The highest cell in use; -1 if there is none."""
    cell = n_cells - 1
    while cell >= 0 and not (touched[cell >> 6] >> np.uint64(cell & 63)) & np.uint64(1):
        cell -= 1
    return cell


@inner
def add_exposed_known(axis, data, exposed, n_exposed, weights, missing, counts, touched):
    """Count exposed people who have a value by both ends of their reach.

    Returns the mass of the others, and the ordered cells that they may supply (none: m to m).
    """
    mass, low, high = 0.0, missing, missing
    for k in range(n_exposed):
        i = exposed[k]
        lowest, highest = np.int64(data.lowest[axis, i]), np.int64(data.highest[axis, i])
        if np.int64(data.cells[axis, i]) == missing:
            mass += weights[k]
            low, high = lowest, highest
            continue
        counts[lowest, LOWEST] += weights[k]
        counts[highest, HIGHEST] += weights[k]
        mark(touched, lowest)
        mark(touched, highest)
    return mass, low, high


@inner
def sweep_missing(
    axis, data, node, frozen, low, high, n_exposed, row, spans, scratch, rules, histograms, best
):
    """Every split of an axis with missing values; its histograms have the node's people.

    low, high: lowest and highest cell of the node's people.
    """
    counts, touched = histograms.counts, histograms.touched
    missing, slot = data.layout[axis, 4], data.layout[axis, 5]
    neg, pos, number = take_missing(counts, touched, missing, rules)
    if high == missing:
        high = highest_in_use(touched, missing)
    mass, first, last = add_exposed_known(
        axis, data, scratch.exposed, n_exposed, scratch.exposed_weights, missing, counts, touched
    )
    first = max(first, np.int64(spans[row, slot, 1]))
    last = min(last, np.int64(spans[row, slot, 2]))
    if mass > 0.0 and first <= last:
        mark(touched, first)
        mark(touched, last)
    if neg + pos == 0.0:
        toward = TO_LARGER if spans[row, slot, 0] else NOWHERE
        gap = MissingRows(toward, 0.0, 0.0, 0.0, mass, first, last, True)
        sweep_axis(axis, missing, low, high, n_exposed, node, gap, rules, histograms, best)
        return
    # Known against missing: nothing in it is more or less of the feature.
    set_limits(best.limits, np.int64(0), frozen)
    known = node.number - number if rules.min_leaf > 1 else 1.0
    if (
        is_allowed(known, node, rules) or rules.by_authors
    ):  # whose winner is judged by its sides later
        alone = MissingRows(TO_RIGHT, 0.0, 0.0, 0.0, mass, first, last, False)
        offer_threshold(
            axis, missing - 1, node.pos - pos, node.neg - neg, node.exposed - mass, 0.0, alone,
            node, rules, best,
        )  # fmt: skip
    set_limits(best.limits, data.layout[axis, 3], frozen)
    # Thresholds outside of the ordered cells that the node admits would part missing from known
    # again, with a side that people with a value seem to attain and do not.
    lowest, highest = np.int64(spans[row, slot, 1]), np.int64(spans[row, slot, 2])
    gap = MissingRows(TO_LEFT, neg, pos, number, mass, first, last, False)
    sweep_axis(axis, missing, lowest, high, n_exposed, node, gap, rules, histograms, best)
    gap = MissingRows(TO_RIGHT, 0.0, 0.0, 0.0, mass, first, last, True)
    sweep_axis(axis, missing, low, highest, n_exposed, node, gap, rules, histograms, best)


@inner
def attains_sides(lowest, highest, cell, missing_left, spans, row, slot):
    """Whether someone without a value attains the left and the right of a threshold in a node.

    lowest, highest: the ordered cells that they may supply, or the missing cell.
    """
    stays = spans[row, slot, 0] == 1
    low, high = np.int64(spans[row, slot, 1]), np.int64(spans[row, slot, 2])
    low, high = max(lowest, low), min(highest, high)
    to_left = (stays and missing_left) or low <= min(high, cell)
    to_right = (stays and not missing_left) or max(low, cell + 1) <= high
    return to_left, to_right


@inner
def narrow_left(spans, row, slot, cell, missing_left):
    """What is left of a threshold."""
    spans[row, slot, 0] &= missing_left
    spans[row, slot, 2] = min(np.int64(spans[row, slot, 2]), cell)


@inner
def narrow_right(spans, row, slot, cell, missing_left):
    """What is right of a threshold."""
    spans[row, slot, 0] &= 1 - missing_left
    spans[row, slot, 1] = max(np.int64(spans[row, slot, 1]), cell + 1)


@inner
def copy_spans(spans, source, target):
    """Copy the spans of a row."""
    for slot in range(spans.shape[1]):
        for k in range(3):
            spans[target, slot, k] = spans[source, slot, k]


@inner
def push_spans(spans, row, slot, cell, missing_left):
    """Spans right (row) and left (row + 1) of a split of the node in row."""
    if spans is not None:
        copy_spans(spans, row, row + 1)
        if slot >= 0:
            narrow_right(spans, row, slot, cell, missing_left)
            narrow_left(spans, row + 1, slot, cell, missing_left)


@inner
def whole_spans(spans, row, layout_missing, slots):
    """Spans of a root: everything."""
    if spans is not None:
        for axis in range(slots.shape[0]):
            slot = slots[axis]
            if slot >= 0:
                spans[row, slot, 0] = 1
                spans[row, slot, 1] = 0
                spans[row, slot, 2] = layout_missing[axis] - 1

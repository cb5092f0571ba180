"""The most that the alive boxes of a node can win, and what that loses in a part of the node.

A model that votes needs so many trees with an alive box; its trees share words, and one pass over
the words counts them. Any other model, and every one of several, adds up the best alive box of each
tree; a tree of a model that votes is worth nothing there without one.

What is lost is measured in what there is to lose, so that several models can be compared:

    model   best sum   needed   lost with a cell
    1           9.0      7.0         .5             a quarter
    2          61       60          1               all: no more may be lost
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.search.bits import best_box, count_trees


class Score(NamedTuple):
    """What boxes are worth, and what each model needs.

    first int64 (models + 1,): first tree of each model. least float64 (models,): no point that wins
    less is accepted. empty float64 (trees,): what a tree without an alive box is worth. value
    float64 (boxes,), the best of each tree first. shared: whether one model votes by words that
    its trees share. best int64 (trees,),
    most float64 (models,): set by ``can_win``.
    """

    first: np.ndarray
    least: np.ndarray
    empty: np.ndarray
    value: np.ndarray
    shared: bool
    best: np.ndarray
    most: np.ndarray


@inner
def can_win(bits, score, alive, everything):
    """Set the most that each model can win; returns whether all can have enough.

    everything int64 (1, words): all boxes.
    """
    if score.shared:
        score.most[0] = count_trees(bits, alive, everything, np.int64(0))
        return score.most[0] >= score.least[0]
    for g in range(score.least.shape[0]):
        sum_ = 0.0
        for t in range(score.first[g], score.first[g + 1]):
            r = best_box(bits, t, alive, everything, np.int64(0))
            score.best[t] = r
            sum_ += score.value[r] if r >= 0 else score.empty[t]
        score.most[g] = sum_
        if not sum_ >= score.least[g]:
            return False
    return True


@inner
def part_lost(bits, score, alive, sets, row):
    """The part of what there is to lose that is lost in a row of sets; infinite if it is more.

    Of several models the largest. To be called after ``can_win`` of the same boxes.
    """
    if score.shared:
        lost = score.most[0] - count_trees(bits, alive, sets, row)
        slack = score.most[0] - score.least[0]
        return 0.0 if lost == 0 else (lost / slack if lost <= slack else np.inf)
    part = 0.0
    for g in range(score.least.shape[0]):
        lost, slack = 0.0, score.most[g] - score.least[g]
        for t in range(score.first[g], score.first[g + 1]):
            r = score.best[t]
            if r < 0 or sets[row, bits.slot[r]] & bits.bit[r] != 0:
                continue
            other = best_box(bits, t, alive, sets, row)
            lost += score.value[r] - (score.value[other] if other >= 0 else score.empty[t])
            if lost > slack:
                return np.inf
        if lost > 0:
            part = max(part, lost / slack)
    return part


@inner
def shortfall(bits, score, alive, sets, row):
    """What models lack in a row of sets, added up; 0 if all have enough."""
    if score.shared:
        return max(0.0, score.least[0] - count_trees(bits, alive, sets, row))
    lacks = 0.0
    for g in range(score.least.shape[0]):
        sum_ = 0.0
        for t in range(score.first[g], score.first[g + 1]):
            r = best_box(bits, t, alive, sets, row)
            sum_ += score.value[r] if r >= 0 else score.empty[t]
        lacks += max(0.0, score.least[g] - sum_)
    return lacks

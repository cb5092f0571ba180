"""From yes-or-no questions to the cheapest action.

Under a cost that is the largest effort of one feature, the optimum is one of finitely many
prices. Go up from the lowest in growing steps until a solution turns up, halve what lies between
by quick questions, and settle what they left open with a thorough one just below the best:

    refuted   |   quick questions came to no answer   | found
    ----------|---------------------------------------x-------
           proved                                    high
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ract._kernels.search.decide_votes import NO, UNKNOWN, YES

OPTIMAL, NONE, FOUND, OPEN = 0, 1, 2, 3
QUICK_NODES = 40


@dataclass(frozen=True)
class Answer:
    """What a question found out: YES with a point and its cost, NO, or UNKNOWN."""

    answer: int
    nodes: int
    point: np.ndarray | None = None
    cost: float = np.inf


@dataclass(frozen=True)
class Cheapest:
    """The outcome for one person: status, cost, lower bound, point of cells and nodes."""

    status: int
    cost: float
    bound: float
    point: np.ndarray | None
    nodes: int


Question = Callable[[float, int], Answer]


def cheapest(ask: Question, prices: np.ndarray, max_nodes: int) -> Cheapest:
    """The lowest price at which a question is answered with yes.

    Parameters
    ----------
    ask : callable
        ``ask(limit, max_nodes)``: is there a solution that costs at most limit?
    prices : float array, ascending
        All that a solution can cost.
    max_nodes : int
        For all questions together.

    Examples
    --------
    >>> def ask(limit, max_nodes):
    ...     return Answer(YES, 1, np.zeros(1), 0.3) if limit >= 0.3 else Answer(NO, 1)
    >>> cheapest(ask, np.array([0.1, 0.2, 0.3, 0.4]), 100).cost
    0.3
    """
    n = len(prices)
    # proved: every price below this index is refuted. low: the next that is worth asking, which
    # a quick question without an answer moves on too. high: index of the best found.
    proved, low, high, at, step = 0, 0, n, 0, 1 + n // 24
    best, used = Answer(UNKNOWN, 0), 0
    while proved < high:
        going_up = high == n
        thorough = low >= high or (going_up and at >= n - 1)
        if thorough:
            at = high - 1
        elif not going_up:
            at = (low + high) >> 1
        allowed = max_nodes - used
        reply = ask(float(prices[at]), allowed if thorough else min(allowed, QUICK_NODES))
        used += reply.nodes
        if reply.answer == YES:
            best, high = reply, int(np.searchsorted(prices, reply.cost))
            low = proved if low > high or thorough else low
        elif reply.answer == NO:
            proved = at + 1
            low = max(low, proved)
        elif thorough:
            status = OPEN if going_up else FOUND
            return Cheapest(status, best.cost, float(prices[proved]), best.point, used)
        else:
            low = at + 1
        if going_up and reply.answer != YES:
            at, step = min(at + step, n - 1), step * 2
    if best.point is None:
        return Cheapest(NONE, np.inf, np.inf, None, used)
    return Cheapest(OPTIMAL, best.cost, best.cost, best.point, used)

"""In place of one strength of plans several, of which each person gets the highest that there is.

Searches that can do so try the levels while they have a person's costs at hand; for others whole
questions are asked, one for each level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ract.trees.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from ract.recourse.result import Recourse


@dataclass(frozen=True)
class Levels:
    """Several strengths, of which a plan has the highest that the person can have.

    A plan that holds for everyone who does more is not given up for a stronger one that does not.

    Parameters
    ----------
    shares : tuple of float
        Of the way from what the decision needs to certainty, ascending.
    beside : bool
        Keep the cheapest plan as a further one (``Plan.smaller``) where a stronger one is given.

    Examples
    --------
    >>> forest = TreeEnsemble.joined([TreeEnsemble.stump(0, cut) for cut in range(4)], 3)
    >>> Levels((0.0, 0.4)).strengths(forest)
    [0.75, 0.85]
    """

    shares: tuple[float, ...] = ()
    beside: bool = False

    def strengths(self, ensemble: TreeEnsemble) -> list[float]:
        """The strengths of a model."""
        return [ensemble.strength_above(share) for share in self.shares]


def highest(ask: Callable[[float | None, np.ndarray | None], Recourse], levels: Levels) -> Recourse:
    """Plans of the highest level, by questions about people at one level after the other.

    Parameters
    ----------
    ask : callable
        Plans of a strength (None: the cheapest) for some rows (None: all).
    levels : Levels
    """
    found = ask(None, None)
    answers, strengths = found.answers, levels.strengths(found.question.ensemble)
    n, rows = len(answers.status), np.flatnonzero(found.found)
    cheapest, safe = answers.take(np.arange(n)), answers.beyond
    reached, missed = np.full(n, -1), np.full(n, len(strengths))
    level = missed - 1
    while len(rows := rows[missed[rows] - reached[rows] > 1]):
        now = level[rows[0]]
        asked = rows[level[rows] == now]
        again = ask(strengths[now], asked)
        better = again.found
        if safe is not None and again.answers.beyond is not None:
            better = better & (again.answers.beyond | ~safe[asked])
        reached[asked[better]], missed[asked[~better]] = now, now
        level[asked] = (reached[asked] + missed[asked]) // 2
        answers.replace(asked[better], again.answers, np.flatnonzero(better))
    for row in np.flatnonzero(reached >= 0).tolist() if levels.beside else ():
        plan = cheapest.take(np.array([row]))
        plan.weaker = np.ones(1, bool)
        further = answers.alternatives.get(row)
        answers.alternatives[row] = plan if further is None else further.with_rows(plan)
    return found

"""What becomes of people who carry out their plans, by a judge of outcomes or by a known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.frames import read_table
from ract.models.judge import OutcomeJudge

# A judge, or a function from a table to probabilities of the desired class.
Judge = OutcomeJudge | Callable[[Any], Any]


@dataclass(frozen=True)
class Outcomes:
    """Probabilities of the undesired outcome of some people.

    Parameters
    ----------
    bad : float (people,)
    by_half : float (people, halves)
        What each half of the judge's table says; one column where a truth is known.
    """

    bad: np.ndarray
    by_half: np.ndarray

    @classmethod
    def of(cls, judge: Judge, X: Any, people: Any) -> Outcomes:
        """Those of people who have become X."""
        if not len(X):
            return cls(np.zeros(0), np.zeros((0, 1)))
        if isinstance(judge, OutcomeJudge):
            check_is_fitted(judge)
            halves = judge._calibrated(judge._shares(X, people))
            middle = judge._estimates(X, people)[:, 0]
            return cls(1 - middle, 1 - halves)
        good = np.asarray(judge(X), float)
        if good.shape != (read_table(X).n_rows,) or not ((good >= 0) & (good <= 1)).all():
            raise InvalidData("A judge must give one probability between 0 and 1 per person.")
        return cls(1 - good, 1 - good[:, None])

    def judge_error(self, counts: np.ndarray) -> float:
        """Standard error that the judge adds to the mean of some of the people.

        How far halves of the judge's table, which share nobody, disagree on that mean: an error
        that they all make about these people does not average out over people.
        """
        by_half = self.by_half[counts]
        if by_half.shape[1] < 2 or not len(by_half):
            return 0.0
        known = ~np.isnan(by_half)
        means = np.where(known, by_half, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        return float(np.std(means[known.any(axis=0)], ddof=1)) if known.any() else 0.0


def check_judge(judge: Any) -> None:
    """Refuse what is no judge."""
    if not isinstance(judge, OutcomeJudge) and not callable(judge):
        raise InvalidSpec(
            "judge must be an OutcomeJudge or a function from a table to probabilities of the "
            f"desired class, got {type(judge).__name__}."
        )

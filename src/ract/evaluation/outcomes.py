"""What becomes of people who carry out their plans, by a judge of outcomes or by a known truth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.typing import ColumnLike, Label, TableLike
from ract.data.frames import read_table
from ract.models.judge import OutcomeJudge

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# A judge, or a function from a table to probabilities of the desired class.
Judge: TypeAlias = "OutcomeJudge | Callable[[Any], ArrayLike]"


@dataclass(frozen=True)
class JudgedOutcomes:
    """Probabilities of people's undesired outcome.

    Parameters
    ----------
    bad : float (people,)
    by_half : float (people, halves)
        What each half of the judge's table says; one column where a truth is known.
    """

    bad: np.ndarray
    by_half: np.ndarray

    @classmethod
    def of(cls, judge: Judge, X: TableLike, people: TableLike) -> JudgedOutcomes:
        """What a judge says of people who have become X."""
        if not len(X):
            return cls(np.zeros(0), np.zeros((0, 1)))
        if isinstance(judge, OutcomeJudge):
            middle, halves = judge.by_half(X, people)
            return cls(1 - middle, 1 - halves)
        good = np.asarray(judge(X), float)
        if good.shape != (read_table(X).n_rows,) or not ((good >= 0) & (good <= 1)).all():
            raise InvalidData("A judge must give one probability between 0 and 1 per person.")
        return cls(1 - good, 1 - good[:, None])


def judge_error(by_half: np.ndarray) -> float:
    """Standard error that a judge adds to the mean of people (people x halves, NaN if unknown).

    How far halves of the judge's table, which share nobody, disagree on that mean: an error that
    they all make about these people does not average out over people.
    """
    if by_half.shape[1] < 2 or not len(by_half):
        return 0.0
    known = ~np.isnan(by_half)
    means = np.where(known, by_half, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return float(np.std(means[known.any(axis=0)], ddof=1)) if known.any() else 0.0


def check_judge(judge: object) -> None:
    """Refuse what is neither a judge nor a function."""
    if not isinstance(judge, OutcomeJudge) and not callable(judge):
        raise InvalidSpec(
            "judge must be an OutcomeJudge or a function from a table to probabilities of the "
            f"desired class, got {type(judge).__name__}."
        )


def bad_of(y: ColumnLike, desired: Label, n_people: int) -> np.ndarray:
    """Who did not have the desired outcome (people,)."""
    bad = np.asarray(y) != desired
    if bad.shape != (n_people,):
        raise InvalidData(f"X has {n_people} rows but y has shape {bad.shape}.")
    return np.asarray(bad)

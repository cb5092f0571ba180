"""What answers have in common: something for each person, and a table of one row per change."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import pandas as pd

from ract.data.invalid_rows import InvalidRows
from ract.recourse.plan import Plan
from ract.recourse.question import Question

T = TypeVar("T")

# Values keep their own types: a whole number stays one, whoever else
# is in the table.
COLUMNS: dict[str, Any] = {
    "person": None,
    "plan": "int64",
    "feature": None,
    "from": object,
    "to": object,
    "goal": object,
    "low": float,
    "high": float,
    "effort": float,
    "cost": float,
    "strength": float,
    "lasting": float,
    "only supplied": bool,
    "status": None,
    "reason": None,
    "budget needed": float,
    "message": None,
}


class ByPerson(Sequence[T]):
    """An answer to a question: something for each person, made when it is looked at."""

    question: Question
    invalid_rows: InvalidRows | None

    @abstractmethod
    def _of(self, i: int) -> T:
        """What there is for the person at a position."""

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self._of(i) for i in range(*index.indices(len(self)))]
        if not hasattr(index, "__index__"):
            raise TypeError(
                f"People are taken by position, such as [0], got {index!r}; the position of a "
                f"label is .labels.get_loc({index!r})."
            )
        try:
            i = range(len(self))[index]
        except IndexError:
            raise IndexError(f"There are {len(self)} people, from [0] on; got [{index}].") from None
        return self._of(i)

    def __iter__(self) -> Iterator[T]:
        return (self._of(i) for i in range(len(self)))

    @property
    def people(self) -> Any:
        """The people as they were given."""
        return self.question.people if self.invalid_rows is None else self.invalid_rows.table

    @property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        return self.question.labels if self.invalid_rows is None else self.invalid_rows.labels

    @property
    def messages(self) -> dict[int, str]:
        """By position: what is wrong with the rows that cannot be read."""
        return {} if self.invalid_rows is None else self.invalid_rows.messages

    @property
    def desired(self) -> Any:
        """The class that people want."""
        return self.question.tree.desired

    def _scatter(self, values: np.ndarray, fill: Any) -> np.ndarray:
        """Values of the people in valid rows, in their places among all."""
        return values if self.invalid_rows is None else self.invalid_rows.scatter(values, fill)


def long_frame(plans: Iterable[Plan]) -> pd.DataFrame:
    """One row per change of each plan and of its alternatives."""
    rows = [
        (plan.person, rank, *row)
        for first in plans
        for rank, plan in enumerate((first, *first.alternatives))
        for row in _rows(plan)
    ]
    return frame_of(rows, COLUMNS)


def frame_of(rows: list[tuple[Any, ...]], columns: dict[str, Any]) -> pd.DataFrame:
    """Rows as a frame, with the columns and types that are given, even if there are none."""
    values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return pd.DataFrame(
        {
            name: pd.Series(list(column), dtype=kind)
            for (name, kind), column in zip(columns.items(), values, strict=True)
        }
    )


def _rows(plan: Plan) -> list[tuple[Any, ...]]:
    reason = None if plan.has_recourse or plan.message else plan.describe()
    needed = np.nan if plan.obstacle is None else plan.obstacle.budget
    lasting = np.nan if plan.lasting is None else plan.lasting
    said = plan.status, reason, needed, plan.message or None
    whole = (plan.cost, plan.strength, lasting, plan.only_supplied, *said)
    if not plan.changes:
        empty = (None, None, None, None, None, None, np.nan)
        return [(*empty, *whole)]
    return [
        (c.feature, c.before, c.after, c.goal, c.low, c.high, c.effort, *whole)
        for c in plan.changes
    ]

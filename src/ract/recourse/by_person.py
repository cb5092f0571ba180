"""What every answer to a question is: something for each person, in their order."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import pandas as pd

from ract.recourse.question import Question

T = TypeVar("T")


class ByPerson(Sequence[T]):
    """Something for each person of a question, made when it is looked at."""

    question: Question

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
        return self._of(range(len(self))[index])

    def __iter__(self) -> Iterator[T]:
        return (self._of(i) for i in range(len(self)))

    @property
    def people(self) -> Any:
        """The people as they were given."""
        return self.question.everyone

    @property
    def labels(self) -> pd.Index:
        """Labels of the people: the index of a pandas frame, else 0, 1, ..."""
        return self.question.labels_of_everyone

    @property
    def messages(self) -> dict[int, str]:
        """By position: what is wrong with the rows that cannot be read."""
        return self.question.messages

    @property
    def desired(self) -> Any:
        """The class that people want."""
        return self.question.tree.desired

    def _among_read(self, i: int) -> int:
        """The position, among those who were read, of someone who was."""
        unread = self.question.unread
        return i if unread is None else int(np.searchsorted(unread.rows, i))

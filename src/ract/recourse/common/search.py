"""What every search is: encoded people and a budget in, a table of answers out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract.recourse.common.answers import Answers
from ract.recourse.common.limits import Limits, ceilings_of


@dataclass(frozen=True)
class Batch:
    """People to search for, the most that each may spend, and the table of their answers.

    ``budgets`` are ceilings: costs up to them are within the budget (``ract.data.costs.within``).
    """

    people: np.ndarray
    budgets: np.ndarray
    limits: Limits
    answers: Answers

    @classmethod
    def of(cls, people: np.ndarray, budget: float | np.ndarray, limits: Limits) -> Batch:
        """Encoded people, with one budget for all or one for each."""
        answers = Answers.unknown(people)
        return cls(answers.values.copy(), ceilings_of(budget, len(people)), limits, answers)


class RecourseSearch(ABC):
    """A search for the cheapest action of each of many people."""

    def solve(
        self, people: np.ndarray, budget: float | np.ndarray = np.inf, **options: Any
    ) -> Answers:
        """The cheapest action that is found for each person within a budget.

        Parameters
        ----------
        people : float (people, columns)
            Encoded people.
        budget : float or array of float
            The same for everyone, or one for each; inf for any action at all.
        **options
            ``max_changes``, ``time_limit``, ``max_nodes``, ``n_jobs`` and ``progress`` as in
            ``Limits``; what a search takes besides stands in its class.
        """
        shared = {name: options.pop(name) for name in Limits.names() if name in options}
        return self.answers(Batch.of(people, budget, Limits(**shared)), **options)

    def answers(self, batch: Batch, **options: Any) -> Answers:
        """The table of a batch, filled."""
        self.fill(batch, **options)
        return batch.answers

    @abstractmethod
    def fill(self, batch: Batch) -> None:
        """Search for everyone and write into the table."""

"""What every search is: encoded people and a budget in, a table of answers out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from ract.recourse.common.answers import Answers
from ract.recourse.common.limits import Limits, budgets_of


class Search(ABC):
    """A search for the cheapest action of each of many people."""

    def solve(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_changes: int | None = None,
        time_limit: float | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
        **further: Any,
    ) -> Answers:
        """The cheapest action that is found for each person within a budget.

        Parameters
        ----------
        people : float (people, columns)
            Encoded people.
        budget : float or array of float
            The same for everyone, or one for each; inf for any action at all.
        max_changes, time_limit, n_jobs, progress
            As in ``ract.recourse.common.limits.Limits``.
        **further
            What this search takes besides; see its class.

        Returns
        -------
        Answers
        """
        limits = Limits(max_changes, time_limit, n_jobs, progress)
        answers = Answers.unknown(people)
        budgets = budgets_of(budget, len(answers.values))
        self.fill(answers, answers.values.copy(), budgets, limits, **further)
        return answers

    @abstractmethod
    def fill(
        self,
        answers: Answers,
        people: np.ndarray,
        budgets: np.ndarray,
        limits: Limits,
        **further: Any,
    ) -> None:
        """Search for everyone and write into the table."""

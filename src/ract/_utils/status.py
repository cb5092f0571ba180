"""What a search can say about a person: numbers in arrays, words at the edge."""

from __future__ import annotations

from enum import IntEnum

import numpy as np


class Status(IntEnum):
    """The outcome of a search for one person.

    ACCEPTED
        The person has the desired class already.
    OPTIMAL
        The cheapest action, proved.
    FOUND
        An action; a cheaper one may exist.
    NONE_WITHIN_BUDGET
        No action within the budget, proved; a larger budget may do.
    NONE
        No action at all, proved. What a search returns, which knows of its own budget only, means
        "none within that budget".
    UNKNOWN
        The search ended without an action and without proof.
    INVALID
        The row cannot be read.

    Examples
    --------
    >>> Status.NONE_WITHIN_BUDGET.word
    'none within budget'
    """

    ACCEPTED = 0
    OPTIMAL = 1
    FOUND = 2
    NONE_WITHIN_BUDGET = 3
    NONE = 4
    UNKNOWN = 5
    INVALID = 6

    @property
    def word(self) -> str:
        """The status as users see it."""
        return self.name.lower().replace("_", " ")


_WORDS = np.array([status.word for status in Status], dtype=object)


def status_words(status: np.ndarray) -> np.ndarray:
    """Statuses as users see them.

    >>> status_words(np.array([Status.FOUND, Status.NONE]))
    array(['found', 'none'], dtype=object)
    """
    return _WORDS[status]

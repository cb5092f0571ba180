"""Counting people again, for a check of a certificate.

With a witness file every action in it is checked without a search (``checker``): a person counts
as having recourse only if their action stands. All others are searched for again, and of those
who are found to have none a sample is proved by another engine, OR-Tools' CP-SAT, which shares
the model's cells and their prices with the exact search but no step of the search itself. Without
a witness file everyone is searched for again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ract._utils.errors import InvalidFile
from ract._utils.status import Status
from ract.evaluation.certificates.checker import accepts, wrong_action
from ract.evaluation.certificates.record import Count
from ract.evaluation.certificates.witnesses import rows_and_values
from ract.recourse.common.by_pattern import solve_by_pattern
from ract.recourse.common.search import Batch, Limits
from ract.recourse.question import Question
from ract.recourse.reachable import reach
from ract.recourse.solver import SolverSearch


@dataclass(frozen=True)
class Recount:
    """The question of whoever checks, and the limits of their search.

    Parameters
    ----------
    question : Question
    limits : Limits
    """

    question: Question
    limits: Limits

    def by_search(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Everyone's status, or that of the people in some rows, by the exact search."""
        question = self.question if rows is None else self.question.of_rows(rows)
        return reach(question, self.limits, supply=False)

    def by_witnesses(self, witnesses: np.ndarray) -> np.ndarray:
        """Everyone's status; an InvalidFile for an action that does not stand."""
        question, people = self.question, self.question.matrix
        rows, values = rows_and_values(witnesses, *people.shape)
        accepted = accepts(question.ensemble, people)
        if accepted[rows].any():
            raise InvalidFile(f"row {rows[accepted[rows].argmax()]} is accepted without an action")
        acted = ~np.isnan(values).all(axis=1)
        if (np.isnan(values[acted]) & ~np.isnan(people[rows[acted]])).any():
            raise InvalidFile("it has values that are not finite")
        wrong = wrong_action(
            question.ensemble, question.axes_without_supply, question.cost, people[rows[acted]],
            values[acted], question.budget, self.limits.max_changes,
        )  # fmt: skip
        if wrong is not None:
            raise InvalidFile(f"the action of row {rows[acted][wrong[0]]} fails: {wrong[1]}")
        allowed = question.keeps_rules(rows[acted], values[acted])
        if not allowed.all():
            row = rows[acted][allowed.argmin()]
            raise InvalidFile(f"the action of row {row} fails: it breaks a rule between features")
        status = np.full(len(people), Status.ACCEPTED, np.int8)
        status[rows[acted]] = Status.FOUND
        rest = np.setdiff1d(np.flatnonzero(~accepted), rows[acted])
        if len(rest):
            status[rest] = self.by_search(rest)
        return status

    def prove_again(
        self, without: np.ndarray, n_sample: int, random_state: int | None
    ) -> tuple[str, str]:
        """What is wrong, and what became of a sample of the people who have no action."""
        rows = np.flatnonzero(without)
        n = min(n_sample, len(rows))
        if not n:
            return "", f"Nobody of {len(rows)} people without recourse was to be proved again."
        sample = np.sort(np.random.default_rng(random_state).choice(rows, n, replace=False))
        who = f"a sample of {n} of the {len(rows)} people without recourse"
        question, limits = self.question, replace(self.limits, max_nodes=None)
        people = Batch.of(question.matrix[sample], question.budget, limits)
        try:
            make = partial(SolverSearch, cost=question.cost)
            trees, axes = question.ensemble, question.axes_without_supply
            found = solve_by_pattern(make, trees, axes, people)
        except ImportError:
            return "", f"Nobody of {who} was proved again, since OR-Tools is not installed."
        n_proved = int((found.status == Status.NONE).sum())
        note = f"Of {who}, {n_proved} were proved again by OR-Tools"
        # An action that breaks a rule says nothing: this engine knows no rules.
        acts = found.found & question.keeps_rules(sample, found.values)
        if acts.any():
            row = sample[acts.argmax()]
            return f"OR-Tools finds an action for row {row}, counted as without one.", f"{note}."
        if n_proved < n:
            why = "which knows no rules" if question.joint_rules else "since its time was up"
            note += f"; {n - n_proved} were not, {why}"
        return "", f"{note}."


def is_without(status: np.ndarray) -> np.ndarray:
    """Who is proved to have no action."""
    return np.isin(status, (Status.NONE, Status.NONE_WITHIN_BUDGET))


def contradiction(stated: Count, counted: Count) -> str:
    """Why two counts of the same people cannot both be right; empty if they can.

    Whom one of them leaves open, the other may count as they like.
    """
    if (stated.n_people, stated.accepted) == (counted.n_people, counted.accepted) and all(
        one.served <= other.served + other.unknown and one.without <= other.without + other.unknown
        for one, other in ((stated, counted), (counted, stated))
    ):
        return ""
    who = "" if stated.group is None else f" of group {stated.group!r}"
    words = "{} people, {} accepted, {} with an action, {} without and {} unknown"
    return (
        f"the record counts {words.format(*stated.numbers)}{who}; this check finds "
        f"{words.format(*counted.numbers)}."
    )

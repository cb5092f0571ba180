"""Checking a certificate again.

The record is checked against itself, the model and the people against their fingerprints. What it
says of the people is then checked in one of two ways, and the result says in which:

- With the witness file, every action in it is checked without a search (``checker``): a person
  counts as having recourse only if their action stands. Of those who are said to have none, a
  sample is proved again by another engine, OR-Tools' CP-SAT, which shares the model's cells and
  their prices with the exact search but no step of the search itself. Whom it cannot answer for
  in time, or if it is not installed, is reported as not proved again.
- Without, the counts are found again by the same search. That finds a changed record, not an
  error of the search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ract._fingerprint import cost_fingerprint, is_fingerprint_of, model_fingerprint
from ract.certificates.checker import accepts, wrong_action
from ract.certificates.record import Certificate, Count, digest_of, read_record
from ract.certificates.witnesses import read_witnesses, rows_and_values
from ract.errors import InvalidData, InvalidFile
from ract.groups import groups_of
from ract.guarantee import clopper_pearson_upper
from ract.interop import read_model
from ract.recourse.common.by_pattern import solve_by_pattern
from ract.recourse.question import TIME_LIMIT, Question
from ract.recourse.reachable import reach
from ract.recourse.solver.search import SolverSearch
from ract.status import Status

CLOSE = 1e-9


@dataclass(frozen=True)
class Verification:
    """What a check found.

    Parameters
    ----------
    checked : tuple of str
        What was looked at: "record", and, where it was given, "model", "data", "witnesses" and
        "counts".
    problems : dict
        From what is wrong to why.
    notes : tuple of str
        How the counts were checked, and what was not.

    Examples
    --------
    >>> print(Verification(("record", "model"), {"model": "it decides otherwise."}))
    The model does not agree with the certificate: it decides otherwise.
    """

    checked: tuple[str, ...]
    problems: dict[str, str]
    notes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{_PROBLEMS[what]}: {why}" for what, why in self.problems.items()]
        if self:
            lines = [f"The certificate agrees with its {' and '.join(self.checked)}."]
        return "\n".join([*lines, *self.notes])


_PROBLEMS = {
    "record": "The record is not as it was written",
    "model": "The model does not agree with the certificate",
    "data": "The data do not agree with the certificate",
    "witnesses": "The witness file does not agree with the certificate",
    "counts": "The counts do not agree with the certificate",
}


def verify(
    certificate: Certificate | dict[str, Any] | str | Path,
    model: Any = None,
    X: Any = None,
    *,
    groups: Any = None,
    witnesses: str | Path | None = None,
    search: bool = True,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: Any = None,
    time_limit: float | None = TIME_LIMIT,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Verification:
    """Check a certificate: its record, and the model and the people if they are at hand.

    Parameters
    ----------
    certificate : Certificate, dict, or path
        The certificate, its JSON values, or its file.
    model, X : optional
        The model and the people it speaks of. Their fingerprints are compared; with both, the
        counts are checked as well (unless ``search`` is False).
    groups : optional
        As they were given to ``certify``, to count groups again.
    witnesses : path, optional
        The witness file that ``certify`` wrote: each action in it is checked without a search,
        and a sample of those without recourse is proved again by another engine. Without it the
        counts are found again by the same search.
    search : bool
        Whether to check the counts.
    actions, desired, threshold, reference, cost
        As they were given to ``certify``.
    time_limit : float or None
        Seconds of the other engine for each person of the sample; who needs more is reported as
        not proved again.
    n_jobs, progress
        Of the searches.

    Returns
    -------
    Verification
        True if nothing is wrong; its text says what is, and how the counts were checked.

    Examples
    --------
    >>> from ract.certificates import certify
    >>> from ract.datasets import load_loans
    >>> from ract.examples import loans_tree
    >>> (tree, _), held_out = loans_tree(max_depth=3), load_loans(200, random_state=1)
    >>> record = certify(tree, held_out.frame).to_dict()
    >>> print(verify(record, tree, held_out.frame))
    The certificate agrees with its record and model and data and counts.
    The counts were found again by the same search.
    >>> record["everyone"]["risk_bound"] = 0.001
    >>> print(verify(record))
    The record is not as it was written: its digest does not fit.
    """
    record: Any = certificate
    if isinstance(certificate, Certificate):
        record = certificate.to_dict()
    elif isinstance(certificate, (str, Path)):
        record = read_record(certificate)
    try:
        stated = Certificate.from_dict(record)
        wrong = _wrong_record(record, stated)
    except InvalidData as damage:
        return Verification(("record",), {"record": str(damage)})
    checked, problems = ["record"], {"record": wrong} if wrong else {}
    notes: list[str] = []
    how: dict[str, Any] = {"actions": actions, "desired": desired, "threshold": threshold}
    question = None
    if model is not None:
        checked.append("model")
        known, people = X if reference is None else reference, reference if X is None else X
        fitted = getattr(model, "cost_", None)
        if model_fingerprint(read_model(model, known, **how)) != stated.model:
            problems["model"] = "it decides otherwise, or its rules for actions differ."
        elif people is not None:
            question = Question.of(
                model, people, **how, reference=reference, cost=cost, budget=stated.budget
            )
            fitted = question.cost
        if not problems and fitted is not None and cost_fingerprint(fitted) != stated.cost:
            problems["model"] = "its costs of actions differ."
    if X is not None:
        same = is_fingerprint_of(stated.data, X)
        if same is None:
            notes.append(
                "The people were not compared: an earlier version of ract made the record from "
                "parts of a table, whose fingerprint nobody can find again."
            )
        else:
            checked.append("data")
        if same is False:
            problems["data"] = "these are other people, or their values or order differ."
    shown = None
    if witnesses is not None:
        checked.append("witnesses")
        try:
            if stated.witnesses is None:
                raise InvalidFile("the record says that there is none")
            shown = read_witnesses(witnesses, stated.witnesses)
        except InvalidFile as error:
            problems["witnesses"] = f"{error}."
    if not search or question is None or X is None or problems:
        return Verification(tuple(checked), problems, tuple(notes))

    checked.append("counts")
    asked = _Asked(question, stated, {"n_jobs": n_jobs, "progress": progress})
    inside = {} if groups is None else groups_of(X, groups)
    if shown is None:
        status = asked.search_again()
        wrong = _search_differs(stated, _counts(status, inside))
        notes.append("The counts were found again by the same search.")
    else:
        try:
            status = asked.status_of(shown)
        except InvalidFile as error:
            return Verification(tuple(checked), {"witnesses": f"{error}."})
        wrong = _witnesses_differ(stated, _counts(status, inside))
        n_served = int((status == Status.FOUND).sum())
        notes.append(
            f"Each of the {n_served} actions in the witness file was checked without a search."
        )
        if not wrong:
            wrong, note = asked.prove_again(status == Status.NONE, time_limit)
            notes.append(note)
    return Verification(tuple(checked), {"counts": wrong} if wrong else {}, tuple(notes))


@dataclass(frozen=True)
class _Asked:
    """The question that a certificate answers, and what it states."""

    question: Question
    stated: Certificate
    how: dict[str, Any]

    @property
    def max_changes(self) -> int | None:
        return self.stated.search.get("max_changes")

    def search_again(self) -> np.ndarray:
        """Statuses by the search that the certificate rests on."""
        limits = {name: self.stated.search.get(name) for name in ("time_limit", "max_nodes")}
        return reach(
            self.question, supply=False, max_changes=self.max_changes, **limits, **self.how
        )

    def status_of(self, witnesses: np.ndarray) -> np.ndarray:
        """Statuses as the witnesses show them; an InvalidFile for one that does not stand."""
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
            values[acted], question.budget, self.max_changes,
        )  # fmt: skip
        if wrong is not None:
            raise InvalidFile(f"the action of row {rows[acted][wrong[0]]} fails: {wrong[1]}")
        status = np.full(len(people), Status.NONE, np.int8)
        status[accepted] = Status.ACCEPTED
        status[rows[acted]], status[rows[~acted]] = Status.FOUND, Status.UNKNOWN
        return status

    def prove_again(self, without: np.ndarray, time_limit: float | None) -> tuple[str, str]:
        """What is wrong, and what became of a sample of the people who are said to have none."""
        rows, rng = np.flatnonzero(without), np.random.default_rng(self.stated.seed)
        n = min(self.stated.none_sample, len(rows))
        sample = np.sort(rng.choice(rows, n, replace=False))
        if not n:
            return "", f"Nobody of {len(rows)} people without recourse was to be proved again."
        who = f"a sample of {n} of the {len(rows)} people without recourse"
        question = self.question
        try:
            found = solve_by_pattern(
                lambda ensemble, axes, _: SolverSearch(ensemble, axes, question.cost),
                question.ensemble, question.axes_without_supply, question.matrix[sample],
                question.budget, max_changes=self.max_changes, time_limit=time_limit, **self.how,
            )  # fmt: skip
        except ImportError:
            return "", f"Nobody of {who} was proved again, since OR-Tools is not installed."
        n_proved = int((found.status == Status.NONE).sum())
        note = f"Of {who}, {n_proved} were proved again by OR-Tools"
        if found.found.any():
            row = sample[found.found.argmax()]
            return f"OR-Tools finds an action for row {row}, counted as without one.", f"{note}."
        if n_proved < n:
            note += f"; {n - n_proved} were not, since its time was up"
        return "", f"{note}."


def _counts(status: np.ndarray, inside: dict[Any, np.ndarray]) -> dict[str | None, Count]:
    """Counts by group as JSON names it, everyone under None; their bounds are not used."""
    everyone = {None: np.ones(len(status), bool)}
    counts = [Count.of(group, status[rows], 0.5) for group, rows in (everyone | inside).items()]
    return {_name(count): count for count in counts}


def _name(count: Count) -> str | None:
    return None if count.group is None else str(count.group)


def _wrong_record(record: dict[str, Any], stated: Certificate) -> str:
    """Why a record cannot be as it was written; empty if it can."""
    if record.get("digest") != digest_of(record):
        return "its digest does not fit."
    for count in (stated.everyone, *stated.groups):
        bound = clopper_pearson_upper(
            count.without + count.unknown, count.n_people, count.confidence
        )
        if abs(bound - count.risk_bound) > CLOSE:
            return "a bound does not follow from its counts."
    each = 1 - (1 - stated.confidence) / max(len(stated.groups), 1)
    levels = [(stated.everyone, stated.confidence), *((count, each) for count in stated.groups)]
    if any(abs(count.confidence - level) > CLOSE for count, level in levels):
        return "a bound is not at the confidence that is stated."
    return ""


def _search_differs(stated: Certificate, again: dict[str | None, Count]) -> str:
    """Why counts cannot both be right; what a search cannot answer in time may vary."""
    for count in (stated.everyone, *stated.groups):
        other = again.get(_name(count))
        if other is None:
            continue
        certain = other.accepted == count.accepted and other.n_people == count.n_people
        if not certain or other.without > count.without + count.unknown:
            return f"the search finds {other.without} people without recourse."
        if count.without > other.without + other.unknown:
            return f"the search finds only {other.without} people without recourse."
    return ""


def _witnesses_differ(stated: Certificate, shown: dict[str | None, Count]) -> str:
    """Why counts are not those that the witnesses show."""
    for count in (stated.everyone, *stated.groups):
        other = shown.get(_name(count), count)
        same = replace(
            other, group=count.group, confidence=count.confidence, risk_bound=count.risk_bound
        )
        if same != count:
            return (
                f"the record counts {count.served} people with an action, {count.without} without "
                f"and {count.unknown} unknown; the witness file shows {other.served}, "
                f"{other.without} and {other.unknown}."
            )
    return ""

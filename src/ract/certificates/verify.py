"""Checking a certificate again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ract._fingerprint import cost_fingerprint, data_fingerprint, model_fingerprint
from ract.certificates.record import Certificate, Count, digest_of, read_record
from ract.errors import InvalidData
from ract.groups import groups_of
from ract.guarantee import clopper_pearson_upper
from ract.interop import read_model
from ract.recourse.question import Question
from ract.recourse.reachable import reach

CLOSE = 1e-9


@dataclass(frozen=True)
class Verification:
    """What became of a check.

    Parameters
    ----------
    checked : tuple of str
        What was looked at: "record", and, where it was given, "model", "data" and "counts".
    problems : dict
        From what is wrong to why.

    Examples
    --------
    >>> print(Verification(("record", "model"), {"model": "it decides otherwise."}))
    The model does not agree with the certificate: it decides otherwise.
    """

    checked: tuple[str, ...]
    problems: dict[str, str]

    def __bool__(self) -> bool:
        return not self.problems

    def __str__(self) -> str:
        if self:
            return f"The certificate agrees with its {' and '.join(self.checked)}."
        verb = {"data": "do", "counts": "do"}
        return "\n".join(
            f"The {what} {verb.get(what, 'does')} not agree with the certificate: {why}"
            if what != "record"
            else f"The record is not as it was written: {why}"
            for what, why in self.problems.items()
        )


def verify(
    certificate: Certificate | dict[str, Any] | str | Path,
    model: Any = None,
    X: Any = None,
    *,
    groups: Any = None,
    search: bool = True,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: Any = None,
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
        counts are found again by another search (unless ``search`` is False).
    groups : optional
        As they were given to ``certify``, to count groups again.
    actions, desired, threshold, reference, cost
        As they were given to ``certify``.
    n_jobs, progress
        Of the search.

    Returns
    -------
    Verification
        True if nothing is wrong; its text says what is.

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> from ract.certificates import certify
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=600)
    >>> tree = RecourseTreeClassifier(loans.actions, max_depth=3)
    >>> tree = tree.fit(loans.frame[:400], loans.target[:400])
    >>> record = certify(tree, loans.frame[400:]).to_dict()
    >>> bool(verify(record, tree, loans.frame[400:]))
    True
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
        told = Certificate.from_dict(record)
        wrong = _wrong_record(record, told)
    except InvalidData as damage:
        return Verification(("record",), {"record": str(damage)})
    checked, problems = ["record"], {"record": wrong} if wrong else {}
    how = {"actions": actions, "desired": desired, "threshold": threshold, "reference": reference}
    if model is not None:
        checked.append("model")
        known = reference if X is None else X
        _check_model(told, model, known, how, cost, problems)
    if X is not None:
        checked.append("data")
        if data_fingerprint(X) != told.data:
            problems["data"] = "these are other people, or their values or order differ."
    if search and model is not None and X is not None and not problems:
        checked.append("counts")
        status = reach(
            Question.of(model, X, **how, cost=cost, budget=told.budget),
            max_changes=told.search.get("max_changes"),
            time_limit=told.search.get("time_limit"), n_jobs=n_jobs, progress=progress,
        )  # fmt: skip
        again = [Count.of(None, status, told.confidence)]
        if groups is not None:
            inside = groups_of(X, groups)
            again += [
                Count.of(group, status[rows], told.confidence) for group, rows in inside.items()
            ]
        why = _wrong_counts([told.everyone, *told.groups], again)
        if why:
            problems["counts"] = why
    return Verification(tuple(checked), problems)


def _wrong_record(record: dict[str, Any], told: Certificate) -> str:
    """Why a record cannot be as it was written; empty if it can."""
    if record.get("digest") != digest_of(record):
        return "its digest does not fit."
    for count in (told.everyone, *told.groups):
        bound = clopper_pearson_upper(count.without + count.unknown, count.people, count.confidence)
        if abs(bound - count.risk_bound) > CLOSE:
            return "a bound does not follow from its counts."
    each = 1 - (1 - told.confidence) / max(len(told.groups), 1)
    levels = [(told.everyone, told.confidence), *((count, each) for count in told.groups)]
    if any(abs(count.confidence - level) > CLOSE for count, level in levels):
        return "a bound is not at the confidence that is stated."
    return ""


def _check_model(
    told: Certificate,
    model: Any,
    known: Any,
    how: dict[str, Any],
    cost: Any,
    problems: dict[str, str],
) -> None:
    reference = how["reference"] if how["reference"] is not None else known
    tree = read_model(
        model, reference, how["actions"], desired=how["desired"], threshold=how["threshold"]
    )
    if model_fingerprint(tree) != told.model:
        problems["model"] = "it decides otherwise, or its rules for actions differ."
        return
    fitted = getattr(model, "cost_", None) if cost is None else None
    if fitted is None and known is not None:
        fitted = Question.of(model, known, **how, cost=cost).cost
    if fitted is not None and cost_fingerprint(fitted) != told.cost:
        problems["model"] = "its costs of actions differ."


def _wrong_counts(told: list[Count], again: list[Count]) -> str:
    """Why counts cannot both be right; what a search leaves open may differ from time to time."""
    by_group = {str(count.group): count for count in again}
    for count in told:
        other = by_group.get(str(count.group))
        if other is None:
            continue
        certain = other.accepted == count.accepted and other.people == count.people
        if not certain or other.without > count.without + count.unknown:
            return f"another search finds {other.without} people without recourse."
        if count.without > other.without + other.unknown:
            return f"another search finds only {other.without} people without recourse."
    return ""

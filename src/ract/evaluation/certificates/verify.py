"""Checking a certificate again.

Whoever checks puts the question, with the model, the people and the limits of their own; the
record only has to agree. Its bounds are checked against its counts, model and people against
their fingerprints, budget, confidence and largest number of changes against what is asked, and
the counts, by group too, are found again (``recount``). Whom the check leaves unknown speaks for
nothing: unless both have the same people in every count, the certificate is not verified. What
could not be checked is named.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.data.groups import groups_of
from ract.evaluation.certificates.certify import check_certified, confidence_of_each, overlap_of
from ract.evaluation.certificates.record import (
    Certificate,
    Count,
    digest_of,
    is_count,
    not_read,
    plain,
    read_record,
)
from ract.evaluation.certificates.recount import Recount, contradiction, is_without
from ract.evaluation.certificates.verification import NOBODY_CAN, Verification
from ract.evaluation.certificates.witnesses import read_witnesses
from ract.models.guarantee import clopper_pearson_upper
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import RecourseProblem
from ract.recourse.question import Question
from ract.trees.fingerprint import (
    OWN_COST,
    cost_fingerprint,
    is_fingerprint_of,
    model_fingerprint,
)
from ract.trees.readers import read_model

CLOSE = 1e-9
_COUNTED = ("everyone", "groups")
_ASKED = ("budget", "confidence", "max_changes")


def verify(
    certificate: Certificate | dict[str, Any] | str | Path,
    model: Any = None,
    X: Any = None,
    *,
    groups: Any = None,
    witnesses: str | Path | None = None,
    training: Any = None,
    search: bool = True,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: Any = None,
    budget: float | None = None,
    confidence: float = 0.95,
    max_changes: int | None = None,
    none_sample: int = 20,
    random_state: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
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
        counts are found again (unless ``search`` is False).
    groups : optional
        As they were given to ``certify``; a certificate with groups is not verified without.
    witnesses : path, optional
        The witness file that ``certify`` wrote: each action in it is checked without a search,
        and a sample of those without recourse is proved again by another engine. Without it all
        counts are found again by the same search.
    training : optional
        The training table, to check how many of the people are in it. Not needed for a model that
        was fitted by ract in this process.
    search : bool
        Whether to find the counts again.
    actions, desired, threshold, reference, cost, budget, confidence, max_changes
        The question that the certificate is to answer, as it was given to ``certify``.
    none_sample : int
        How many of those without recourse the other engine proves again.
    random_state : int, optional
        Seed with which they are drawn; another one each time by default.
    time_limit, max_nodes : optional
        Limits of this check's own searches for each person.
    n_jobs, progress
        Of the searches.

    Returns
    -------
    Verification
        True if the certificate is verified; its text says what is wrong, how the counts were
        checked, and what was not checked.

    Examples
    --------
    >>> from ract import certify, load_loans
    >>> from ract.models.examples import loans_tree
    >>> (tree, _), held_out = loans_tree(max_depth=3), load_loans(200, random_state=1)
    >>> record = certify(tree, held_out.frame).to_dict()
    >>> print(verify(record, tree, held_out.frame))
    The certificate agrees with its record and model and data and question and training and counts.
    The counts were found again by the same search.
    Not checked: witnesses (the record names none); date, version (nobody can).
    >>> record["everyone"]["risk_bound"] = 0.001
    >>> print(verify(record).problems["record"])
    its digest does not fit.
    """
    check_certified(confidence, None)
    if not is_count(none_sample):
        raise InvalidSpec(f"none_sample must be a whole number of 0 or more, got {none_sample!r}.")
    record: Any = certificate
    if isinstance(certificate, Certificate):
        record = certificate.to_dict()
    elif isinstance(certificate, (str, Path)):
        record = read_record(certificate)
    try:
        stated = Certificate.from_dict(record)
    except InvalidData as damage:
        return Verification(("record",), {"record": str(damage)})
    check = _Check.of(record, stated)
    rules: dict[str, Any] = {"actions": actions, "desired": desired, "threshold": threshold}
    question = None
    if model is not None:
        question = check.model(model, X, rules, reference, cost, budget)
    if X is not None:
        check.people(X)
    shown = None if witnesses is None else check.file(witnesses)
    if question is not None and X is not None and not check.problems:
        check.asked(question.budget, confidence, max_changes)
        check.training(overlap_of(model, question.encoder, question.matrix, training))
        if search and not check.problems:
            limits = {"max_changes": max_changes, "time_limit": time_limit, "max_nodes": max_nodes}
            again = Recount(question, limits, {"n_jobs": n_jobs, "progress": progress})
            inside = None if groups is None else groups_of(X, groups)
            check.counts(again, inside, shown, none_sample, random_state)
    return check.result()


@dataclass
class _Check:
    """A check under way: each step takes what it looked at off the list of what is open."""

    stated: Certificate
    problems: dict[str, str]
    open: dict[str, str]
    silent: frozenset[str]
    checked: list[str] = field(default_factory=lambda: ["record"])
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, record: dict[str, Any], stated: Certificate) -> _Check:
        wrong = _wrong_record(record, stated)
        both = dict.fromkeys(("everyone", "groups", *_ASKED), "model and people were not searched")
        left = {
            "model": "no model was given", "cost": "no model was given",
            "data": "no people were given", **both,
            "overlap": "the training table is not known", "witnesses": "the file was not given",
            **dict.fromkeys(not_read(record), "no check reads it"),
            **dict.fromkeys(NOBODY_CAN, "nobody can"),
        }  # fmt: skip
        silent = {name for name in ("overlap", "witnesses") if getattr(stated, name) is None}
        if stated.overlap is None:
            left["overlap"] = "the record says nothing of it"
        if stated.witnesses is None:
            left["witnesses"] = "the record names none"
        if not stated.groups:
            del left["groups"]  # unless groups are asked for
        silent |= set(not_read(record))
        return cls(stated, {"record": wrong} if wrong else {}, left, frozenset(silent))

    def model(
        self, model: Any, X: Any, rules: dict[str, Any], reference: Any, cost: Any, budget: Any
    ) -> Question | None:
        """Compare the model and its costs; the question to it, if it is the one."""
        self._done("model", ["model"])
        known, people = X if reference is None else reference, reference if X is None else X
        if model_fingerprint(read_model(model, known, **rules)) != self.stated.model:
            self.problems["model"] = "it decides otherwise, or its rules for actions differ."
            return None
        fitted, question = getattr(model, "cost_", None), None
        if people is not None:
            question = RecourseProblem(
                model, **rules, reference=reference, cost=cost, budget=budget
            ).encoded(people)
            fitted = question.cost
        if fitted is not None and cost_fingerprint(fitted) != self.stated.cost:
            self.problems["model"] = "its costs of actions differ."
        elif self.stated.cost.startswith(OWN_COST):
            self.open["cost"] = "of a cost of one's own the name of its class is compared"
        elif fitted is not None:
            del self.open["cost"]
        return question

    def people(self, X: Any) -> None:
        """Compare the people."""
        same = is_fingerprint_of(self.stated.data, X)
        if same is None:
            self.open["data"] = (
                "an earlier version of ract made the record from parts of a table, whose "
                "fingerprint nobody can find again"
            )
            return
        self._done("data", ["data"])
        if not same:
            self.problems["data"] = "these are other people, or their values or order differ."

    def file(self, witnesses: str | Path) -> np.ndarray | None:
        """The content of the witness file, if it is the one that the record names."""
        self._done("witnesses", ["witnesses"])
        try:
            if self.stated.witnesses is None:
                raise InvalidFile("the record says that there is none")
            return read_witnesses(witnesses, self.stated.witnesses)
        except InvalidFile as error:
            self.problems["witnesses"] = f"{error}."
        return None

    def asked(self, budget: float, confidence: float, max_changes: int | None) -> None:
        """Compare the question that the record answers with the one that is asked."""
        self._done("question", _ASKED)
        for name, value in zip(_ASKED, (budget, confidence, max_changes), strict=True):
            stated = getattr(self.stated, name)
            if stated != value:
                self.problems["question"] = (
                    f"its {name} is {_said(stated)}, and {_said(value)} was asked for."
                )
                return

    def training(self, overlap: int | None) -> None:
        """Compare how many people are in the training table, if it is known."""
        if overlap is None:
            return
        self.checked.append("training")
        if self.stated.overlap is not None or overlap:
            del self.open["overlap"]
        if overlap != (self.stated.overlap or 0):
            said = "nothing" if self.stated.overlap is None else self.stated.overlap
            self.problems["training"] = (
                f"{overlap} of the people are in it; the record says {said}."
            )

    def counts(
        self,
        again: Recount,
        inside: dict[Any, np.ndarray] | None,
        shown: np.ndarray | None,
        none_sample: int,
        random_state: int | None,
    ) -> None:
        """Count again and compare."""
        self.checked.append("counts")
        try:
            status = again.by_search() if shown is None else again.by_witnesses(shown)
        except InvalidFile as error:
            self.problems["witnesses"] = f"{error}."
            return
        wrong = self._compare(status, inside)
        served = self.stated.everyone.served
        if shown is None:
            self.notes.append("The counts were found again by the same search.")
        else:
            acted = int((~np.isnan(shown[:, 1:]).all(axis=1)).sum())
            self.notes.append(
                f"Each of the {acted} actions in the witness file was checked without a search; "
                "the other counts were found again by the same search."
            )
            if not wrong and acted != served:
                wrong = f"the record counts {served} people with an action; the file has {acted}."
            if not wrong:
                wrong, note = again.prove_again(is_without(status), none_sample, random_state)
                self.notes.append(note)
        if wrong:
            self.problems["counts"] = wrong

    def _compare(self, status: np.ndarray, inside: dict[Any, np.ndarray] | None) -> str:
        """Why the counts are wrong; what the two leave open differently stays on the list."""
        stated = self.stated
        own = Count.of(None, status, stated.confidence)
        pairs = [("everyone", stated.everyone, own)]
        if inside is None and stated.groups:
            self.open["groups"] = "the groups were not given"
        else:
            names = [plain(group) for group in inside or ()]
            if not _same_labels([count.group for count in stated.groups], names):
                listed = [count.group for count in stated.groups]
                return f"the record has the groups {listed!r} and not {names!r}."
            each = confidence_of_each(stated.confidence, len(names))
            counts = (Count.of(None, status[rows], each) for rows in (inside or {}).values())
            pairs += [("groups", *pair) for pair in zip(stated.groups, counts, strict=True)]
        for _, said, found in pairs:
            wrong = contradiction(said, found)
            if wrong:
                return wrong
        for name in dict.fromkeys(name for name, *_ in pairs):
            if all(_numbers(a) == _numbers(b) for other, a, b in pairs if other == name):
                self.open.pop(name, None)
            else:
                self.open[name] = (
                    f"the record leaves {stated.everyone.unknown} people unknown and this check "
                    f"{own.unknown}"
                )
        return ""

    def _done(self, what: str, entries: Iterable[str]) -> None:
        self.checked.append(what)
        for name in entries:
            self.open.pop(name, None)

    def result(self) -> Verification:
        return Verification(
            tuple(self.checked), self.problems, self.open, tuple(self.notes), self.silent
        )


def _wrong_record(record: dict[str, Any], stated: Certificate) -> str:
    """Why a record cannot be as it was written; empty if it can."""
    if record.get("digest") != digest_of(record):
        return "its digest does not fit."
    if stated.everyone.group is not None or any(count.group is None for count in stated.groups):
        return "a group is not named, or everyone is."
    for count in (stated.everyone, *stated.groups):
        bound = clopper_pearson_upper(
            count.without + count.unknown, count.n_people, count.confidence
        )
        if abs(bound - count.risk_bound) > CLOSE:
            return "a bound does not follow from its counts."
    each = confidence_of_each(stated.confidence, len(stated.groups))
    levels = [(stated.everyone, stated.confidence), *((count, each) for count in stated.groups)]
    if any(abs(count.confidence - level) > CLOSE for count, level in levels):
        return "a bound is not at the confidence that is stated."
    return ""


def _numbers(count: Count) -> tuple[int, ...]:
    return (count.n_people, count.accepted, count.served, count.without, count.unknown)


def _same_labels(stated: list[Any], own: list[Any]) -> bool:
    """Whether labels are the same in their order; 1 is 1.0, but neither True nor "1"."""
    return len(stated) == len(own) and all(
        a == b and isinstance(a, bool) == isinstance(b, bool)
        for a, b in zip(stated, own, strict=True)
    )


def _said(value: Any) -> str:
    return "not limited" if value is None or value == math.inf else f"{value!r}"

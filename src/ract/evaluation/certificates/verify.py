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
from typing import Any, Unpack

import numpy as np

from ract._utils.errors import InvalidData, InvalidFile
from ract._utils.signature import refuse_unknown_keywords
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import COUNT, as_python, check_value
from ract.data.groups import group_masks
from ract.evaluation.certificates.certify import check_certified, confidence_of_each, overlap_of
from ract.evaluation.certificates.record import (
    Certificate,
    Count,
    not_read,
    read_record,
    record_digest,
)
from ract.evaluation.certificates.recount import Recount, contradiction, is_without
from ract.evaluation.certificates.verification import NOBODY_CAN, Verification
from ract.evaluation.certificates.witnesses import read_witnesses
from ract.recourse.common.search import Limits
from ract.recourse.options import TIME_LIMIT
from ract.recourse.problem import PROBLEM_KEYWORDS, ProblemKeywords, RecourseProblem
from ract.recourse.question import Question
from ract.trees.fingerprint import (
    OWN_COST,
    cost_fingerprint,
    is_fingerprint_of,
    model_fingerprint,
)
from ract.trees.readers import read_model

CLOSE = 1e-12  # relative: as exactly as every version of SciPy finds a bound
_ASKED = ("budget", "confidence", "max_changes")
# Entries that may be empty: why they are open at first, and what their emptiness says.
_OPTIONAL = {
    "overlap": ("the training table is not known", "the record says nothing of it"),
    "witnesses": ("the file was not given", "the record names none"),
}


def verify(
    certificate: Certificate | dict[str, Any] | str | Path,
    model: Classifier | RecourseProblem | None = None,
    X: TableLike | None = None,
    *,
    groups: str | ColumnLike | None = None,
    witnesses: str | Path | None = None,
    training: TableLike | None = None,
    search: bool = True,
    confidence: float = 0.95,
    max_changes: int | None = None,
    none_sample: int = 20,
    random_state: int | None = None,
    time_limit: float | None = TIME_LIMIT,
    max_nodes: int | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> Verification:
    """Check a certificate: its record, and the model and the people if they are at hand.

    Parameters
    ----------
    certificate : Certificate, dict, or path
        The certificate, its JSON values, or its file.
    model, X : optional
        The model and the people whom the certificate is about. Their fingerprints are compared;
        with both, the counts are found again (unless ``search`` is False).
    groups : optional
        As they were given to ``certify``; a certificate with groups is not verified without.
    witnesses : path, optional
        The witness file that ``certify`` wrote: each action in it is checked without a search, and
        a sample of those without recourse is proved again by another solver. Without it all counts
        are found again by the same search.
    training : optional
        The training table, to check how many of the people are in it. Not needed for a model that
        was fitted by ract in this process.
    search : bool
        Whether to find the counts again.
    confidence, max_changes
        The question that the certificate should answer, as it was given to ``certify``.
    none_sample : int
        How many of those without recourse the other solver proves again.
    random_state : int, optional
        Seed for drawing them; by default another one each time.
    time_limit, max_nodes : optional
        Limits of this check's own searches for each person.
    n_jobs, progress
        Of the searches.
    **problem
        The rest of the question: the keywords of ``RecourseProblem``, as they were given to
        ``certify``; none if a problem is given.

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
    refuse_unknown_keywords("verify", problem, frozenset(PROBLEM_KEYWORDS))
    check_certified(confidence, None)
    check_value("none_sample", none_sample, COUNT)
    record = certificate
    if isinstance(record, Certificate):
        record = record.to_dict()
    elif isinstance(record, (str, Path)):
        record = read_record(record)
    try:
        stated = Certificate.from_dict(record)
    except InvalidData as damage:
        return Verification(("record",), {"record": str(damage)})
    check = _Check.of(record, stated)
    asked = None if model is None else RecourseProblem.of(model, problem, "verify")
    question = None if asked is None else check.model(asked, X)
    if X is not None:
        check.people(X)
    shown = None if witnesses is None else check.file(witnesses)
    if asked is not None and question is not None and X is not None and not check.problems:
        check.asked(question.budget, confidence, max_changes)
        check.training(overlap_of(asked.model, question.encoder, question.matrix, training))
        if search and not check.problems:
            limits = Limits(max_changes, time_limit, n_jobs, progress, max_nodes)
            inside = None if groups is None else group_masks(X, groups)
            check.counts(Recount(question, limits), inside, shown, none_sample, random_state)
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
        # Groups are open only if the record has some, or if they are asked for.
        counted = ("everyone", "groups") if stated.groups else ("everyone",)
        left = dict.fromkeys(("model", "cost"), "no model was given")
        left["data"] = "no people were given"
        left |= dict.fromkeys((*counted, *_ASKED), "model and people were not searched")
        left |= {name: open_ for name, (open_, _) in _OPTIONAL.items()}
        left |= dict.fromkeys(not_read(record), "no check reads it")
        left |= dict.fromkeys(NOBODY_CAN, "nobody can")
        silent = {
            name: empty for name, (_, empty) in _OPTIONAL.items() if getattr(stated, name) is None
        }
        every_silent = frozenset({*silent, *not_read(record)})
        return cls(stated, {"record": wrong} if wrong else {}, left | silent, every_silent)

    def model(self, asked: RecourseProblem, X: TableLike | None) -> Question | None:
        """Compare the model and its costs; the question to it, if it is the one."""
        self._done("model", ["model"])
        # Models of ours know their features without a table.
        known: Any = X if asked.reference is None else asked.reference
        people = asked.reference if X is None else X
        tree = read_model(
            asked.model, known, asked.actions, desired=asked.desired, threshold=asked.threshold
        )
        if model_fingerprint(tree) != self.stated.model:
            self.problems["model"] = "it decides otherwise, or its rules for actions differ."
            return None
        fitted, question = getattr(asked.model, "cost_", None), None
        if people is not None:
            question = asked.encoded(people)
            fitted = question.cost
        if fitted is not None and cost_fingerprint(fitted) != self.stated.cost:
            self.problems["model"] = "its costs of actions differ."
        elif self.stated.cost.startswith(OWN_COST):
            self.open["cost"] = "of a cost of one's own the name of its class is compared"
        elif fitted is not None:
            del self.open["cost"]
        return question

    def people(self, X: TableLike) -> None:
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
        inside: dict[Label, np.ndarray] | None,
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

    def _compare(self, status: np.ndarray, inside: dict[Label, np.ndarray] | None) -> str:
        """Why the counts are wrong; what the two leave open differently stays on the list."""
        stated = self.stated
        everyone = Count.of(None, status, stated.confidence)
        pairs = [("everyone", stated.everyone, everyone)]
        if inside is None and stated.groups:
            self.open["groups"] = "the groups were not given"
        else:
            names = [as_python(group) for group in inside or ()]
            listed = [count.group for count in stated.groups]
            if not _same_labels(listed, names):
                return f"the record has the groups {listed!r} and not {names!r}."
            each = confidence_of_each(stated.confidence, len(names))
            counts = (Count.of(None, status[rows], each) for rows in (inside or {}).values())
            pairs += [("groups", *pair) for pair in zip(stated.groups, counts, strict=True)]
        for _, said, found in pairs:
            if wrong := contradiction(said, found):
                return wrong
        for name in dict.fromkeys(name for name, *_ in pairs):
            if all(a.numbers == b.numbers for other, a, b in pairs if other == name):
                self.open.pop(name, None)
            else:
                self.open[name] = (
                    f"the record leaves {stated.everyone.unknown} people unknown and this check "
                    f"{everyone.unknown}"
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
    if record.get("digest") != record_digest(record):
        return "its digest does not fit."
    if stated.everyone.group is not None or any(count.group is None for count in stated.groups):
        return "a group is not named, or everyone is."
    for count in (stated.everyone, *stated.groups):
        bound = clopper_pearson_upper(
            count.without + count.unknown, count.n_people, count.confidence
        )
        if not math.isclose(bound, count.risk_bound, rel_tol=CLOSE):
            return "a bound does not follow from its counts."
    each = confidence_of_each(stated.confidence, len(stated.groups))
    levels = [(stated.everyone, stated.confidence), *((count, each) for count in stated.groups)]
    if any(count.confidence != level for count, level in levels):
        return "a bound is not at the confidence that is stated."
    return ""


def _same_labels(stated: list[Label | None], found: list[Label | None]) -> bool:
    """Whether labels are the same in their order; 1 is 1.0, but neither True nor "1"."""
    return len(stated) == len(found) and all(
        a == b and isinstance(a, bool) == isinstance(b, bool)
        for a, b in zip(stated, found, strict=True)
    )


def _said(value: float | None) -> str:
    return "not limited" if value is None or value == math.inf else f"{value!r}"

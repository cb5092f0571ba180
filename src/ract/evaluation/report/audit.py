"""Everything that an audit's page shows, as plain tables and numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.files import write_whole
from ract._utils.printable import html_table, printable
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import AT_LEAST_ONE, NONE, check_value
from ract.data.frames import read_table, take_rows
from ract.data.groups import with_everyone
from ract.evaluation.certificates import Certificate, certify
from ract.evaluation.lending import Book, book
from ract.evaluation.metrics.letters import Decider, plans_of_letters
from ract.evaluation.metrics.sendable import Sendable, sendable
from ract.evaluation.report.counts import Counts
from ract.evaluation.report.page import page
from ract.models.judge import OutcomeJudge
from ract.models.verdicts import summary_of
from ract.recourse.calibration import LastingCurve
from ract.recourse.find import find_recourse
from ract.recourse.options import TIME_LIMIT
from ract.recourse.plan import Obstacle
from ract.recourse.problem import ProblemKeywords, RecourseProblem, own_budget
from ract.recourse.result import Recourse


@dataclass(frozen=True)
class Audit:
    """An audit of a model on some people.

    Parameters
    ----------
    title : str
    model : dict
        The model in words, by name.
    n_people, n_searched : int
        Number of people, and number of people for whom plans were searched.
    budget : float
    certificate : Certificate
        On all of them.
    metrics : DataFrame
        As ``ract.evaluation.recourse_report``.
    costs : DataFrame
        How many people, of those searched, have each ``cost``: 0 if accepted, inf without a plan at
        any cost, or with one that only supplies missing values. If a population in parts has more
        than about 16 thousand different costs, neighbouring costs are merged.
    changes : DataFrame
        By feature: share of the plans of letters that change it, and mean effort where they do.
    held : DataFrame
        By set of features that prevent recourse: number of people, and the median budget that would
        be enough instead.
    without : DataFrame
        People without recourse, in words.
    n_without, n_explained : int
        How many of those searched have no plan within the budget, and for how many of these the
        obstacle is known.
    judged : dict, optional
        The judge's bar, the share of accepted people to which it belongs, and the confidence of the
        intervals, if there is a judge.
    verdicts : DataFrame, optional
        Which plans within the budget are earned and which are granted, by group.
    lasting : LastingCurve, optional
        How likely plans last, by their strength, if that was measured for the model.
    promised : DataFrame, optional
        By group: of the refused who were searched for, how many have a plan within the budget that
        lasts as promised, how many have only a weaker one, none, or are unknown.
    n_supplied : int
        How many of those searched have a plan within the budget that only supplies missing values.
    sendable : Sendable, optional
        Which plans of letters can be sent.
    book : Book, optional
        Approval and bad rate today and once people follow their plans, with a judge and outcomes.
    """

    title: str
    model: dict[str, str]
    n_people: int
    n_searched: int
    budget: float
    certificate: Certificate
    metrics: pd.DataFrame
    costs: pd.DataFrame
    changes: pd.DataFrame
    held: pd.DataFrame
    without: pd.DataFrame
    n_without: int
    n_explained: int
    judged: dict[str, float] | None = None
    verdicts: pd.DataFrame | None = None
    lasting: LastingCurve | None = None
    promised: pd.DataFrame | None = None
    n_supplied: int = 0
    sendable: Sendable | None = None
    book: Book | None = None

    def to_html(self, templates: str | Path | None = None) -> str:
        """The audit as one self-contained HTML page.

        Parameters
        ----------
        templates : path, optional
            A folder of Jinja2 templates to use instead of those of the same name in
            ``ract/evaluation/report/templates``.

        Raises
        ------
        InvalidSpec
            If a template has a mistake, with its file and line.
        """
        return page(self, templates)

    def save(self, path: str | Path, templates: str | Path | None = None) -> None:
        """Write the page (see ``to_html``) atomically."""
        write_whole(path, self.to_html(templates))

    def __repr__(self) -> str:
        return f"{printable(self.title)}: {self.certificate.describe().splitlines()[0]}"

    def _repr_html_(self) -> str:
        """The findings in short; ``save`` writes the page."""
        whole = self.metrics.drop_duplicates("metric")
        rows = list(whole[["metric", "people", "value"]].itertuples(index=False, name=None))
        if (sent := self.sendable) is not None:
            rows.insert(0, ("plans that can be sent", len(sent.people), sent.share))
        return html_table(repr(self), ("metric", "people", "value"), rows)


def audit(
    model: Classifier | RecourseProblem,
    X: TableLike,
    y: ColumnLike | None = None,
    *,
    groups: str | ColumnLike | None = None,
    confidence: float = 0.95,
    training: TableLike | None = None,
    judge: OutcomeJudge | None = None,
    others: Decider | list[Decider] | tuple[Decider, ...] = (),
    certificate: Certificate | None = None,
    max_people: int | None = 5000,
    time_limit: float | None = TIME_LIMIT,
    title: str = "Recourse audit",
    n_jobs: int | None = None,
    progress: bool = False,
    **problem: Unpack[ProblemKeywords],
) -> Audit:
    """Audit a model: accuracy, recourse with a bound, groups, costs, and people without recourse.

    Parameters
    ----------
    model : fitted classifier or RecourseProblem
    X, y
        As in ``recourse_report``; bounds are for people who had no part in training.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    confidence : float
        Of the bounds and intervals.
    training : frame or array, optional
        As in ``ract.certify``, and the table against which plans of letters are measured.
    judge : OutcomeJudge, optional
        Says which plans are earned and which are granted and, with y, how plans change the bad rate
        of the accepted (``ract.evaluation.book``).
    others : fitted classifiers, optional
        Models trained on other people, which say which plans last; as in
        ``ract.evaluation.sendable``.
    certificate : Certificate, optional
        A certificate of the whole population, as ``ract.apps.distributed`` makes it, if X is a
        sample of it.
    max_people : int or None
        Plans are searched for at most this many people, spread over the table; the certificate is
        always about all of them. None for everyone.
    title : str
        Of the page.
    time_limit, n_jobs, progress
        As in ``ract.find_recourse``.
    **problem
        The keywords of ``RecourseProblem``, where a bare model is given.

    Examples
    --------
    >>> from ract import load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, _), fresh = loans_forest(500), load_loans(500, random_state=1)
    >>> found = audit(model, fresh.frame, fresh.target, groups="Education")
    >>> found.n_people, found.to_html()[:15]
    (500, '<!doctype html>')
    """
    check_value("max_people", max_people, NONE, AT_LEAST_ONE)
    asked = RecourseProblem.of(model, problem, "audit")
    classifier, budget = asked.model, asked.budget
    how: dict[str, Any] = {"time_limit": time_limit, "n_jobs": n_jobs, "progress": progress}
    how |= {name: value for name, value in asked.keywords.items() if name != "budget"}
    if certificate is None:
        certificate = certify(classifier, X, budget, confidence, groups, training=training, **how)
    most, n_people = own_budget(classifier, budget), read_table(X).n_rows
    if most != certificate.budget:
        raise InvalidSpec(
            f"The certificate is for a budget of {certificate.budget:g}, the audit for {most:g}."
        )
    if max_people is not None and n_people > max_people:
        rows = np.linspace(0, n_people - 1, max_people).astype(int)
        X, y = take_rows(X, rows), None if y is None else np.asarray(y)[rows]
        if groups is not None and not isinstance(groups, str):
            groups = np.asarray(groups)[rows]
    accepted = certificate.share_accepted
    plans = plans_of_letters(classifier, X, budget=most, strict=True, **how)
    counts = Counts.of(
        classifier, X, y, most, groups=groups, judge=judge, accepted=accepted, plans=plans, **how
    )
    shown: dict[str, Any] = {"groups": groups, "others": others, "confidence": confidence}
    sent, lending = sendable(plans, reference=training, **shown), None
    found = audit_of(counts, classifier, certificate, confidence, title, judge, **how)
    if judge is not None and y is not None:
        lending = book(classifier, X, y, judge, **shown, budget=most, **how)
    return replace(found, sendable=sent, book=lending)


def audit_of(
    counts: Counts,
    model: Classifier,
    certificate: Certificate,
    confidence: float,
    title: str,
    judge: OutcomeJudge | None,
    **how: Any,
) -> Audit:
    """The audit of people who were counted; the first without recourse are explained.

    Parameters
    ----------
    counts : Counts
    model, certificate, confidence, title, judge, **how
        As in ``audit``.
    """
    reasons = None
    if counts.without is not None:
        reasons = find_recourse(model, counts.without, budget=certificate.budget, **how)
    judged, accepted = None, certificate.share_accepted
    if judge is not None:
        judged = {"bar": judge.bar(accepted), "accepted": accepted}
        judged["confidence"] = judge.confidence
    return Audit(
        title=title,
        model=counts.model,
        n_people=certificate.everyone.n_people,
        n_searched=counts.n_people,
        budget=certificate.budget,
        certificate=certificate,
        metrics=counts.metrics.table(confidence),
        costs=counts.cost_table(),
        changes=counts.changes(),
        held=_held(reasons),
        without=_without(reasons),
        n_without=counts.n_without,
        n_explained=0 if reasons is None else len(reasons),
        judged=judged,
        verdicts=None if counts.verdicts is None else summary_of(counts.verdicts),
        lasting=getattr(model, "lasting_", None),
        promised=None if counts.promised is None else _promised(counts.promised),
        n_supplied=counts.n_supplied,
    )


def _promised(tallies: dict[Label, pd.Series]) -> pd.DataFrame:
    everyone = with_everyone(tallies)
    if not everyone[0][1]["only supplied"]:
        everyone = [(group, counts.drop("only supplied")) for group, counts in everyone]
    rows = [
        {"group": group, **counts, "none": 2 * counts["refused"] - counts.sum()}
        for group, counts in everyone
    ]
    return pd.DataFrame(rows)


def _held(recourse: Recourse | None) -> pd.DataFrame:
    """By set of features that hold people: how many they hold."""
    budgets: dict[str, list[float]] = {}
    for obstacle in recourse.obstacles.values() if recourse is not None else ():
        budgets.setdefault(_holds(obstacle), []).append(obstacle.budget)
    rows = [
        (features, len(of_set), pd.Series(of_set, dtype=float).median())
        for features, of_set in sorted(budgets.items(), key=lambda item: -len(item[1]))
    ]
    return pd.DataFrame(rows, columns=["features", "people", "median budget"])


def _holds(obstacle: Obstacle | None) -> str:
    """The features that hold someone, in words."""
    if obstacle is None:
        return "not known"
    nothing = "the budget" if math.isfinite(obstacle.budget) else "no set of features would help"
    return ", ".join(obstacle.features) or (nothing if obstacle.proved else "not known")


def _without(recourse: Recourse | None) -> pd.DataFrame:
    """People without recourse and why, in words."""
    plans = [] if recourse is None else [plan for plan in recourse if not plan.has_recourse]
    rows = [(plan.person, plan.status, plan.describe(), _holds(plan.obstacle)) for plan in plans]
    return pd.DataFrame(rows, columns=["person", "status", "why", "obstacle"])

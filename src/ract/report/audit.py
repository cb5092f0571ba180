"""Everything that an audit's page shows, as plain tables and numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ract._files import write_whole
from ract._frames import read_table, take_rows
from ract.calibration import LastingCurve
from ract.certificates import Certificate, certify
from ract.errors import InvalidSpec
from ract.groups import groups_of
from ract.judge import OutcomeJudge
from ract.judged import Judged
from ract.metrics.report import report_of
from ract.recourse.find import find_recourse
from ract.recourse.question import TIME_LIMIT, own_budget
from ract.recourse.reachable import has_recourse
from ract.recourse.result import Recourse
from ract.report.page import page

MOST_EXPLAINED = 200


@dataclass(frozen=True)
class Audit:
    """An audit of a model on some people.

    Parameters
    ----------
    title : str
    model : dict
        What the model is, in words.
    n_people, n_searched : int
        How many people there are, and for how many plans were searched.
    budget : float
    certificate : Certificate
        On all of them.
    metrics : DataFrame
        As ``ract.metrics.recourse_report``.
    costs : float array
        Of those searched: 0 if accepted, inf without a plan at any cost, or with one that only
        hands in missing values.
    changes : DataFrame
        By feature: share of plans that change it, and mean effort where they do.
    held : DataFrame
        By set of features that hold people without recourse: how many, and the median budget that
        would do instead.
    without : DataFrame
        People without recourse, in words.
    n_explained : int
        How many of the people without recourse have a reason.
    judged : Judged, optional
        Which plans within the budget are earned and which are granted, if there is a judge.
    verdicts : DataFrame, optional
        Its summary, by group.
    lasting : LastingCurve, optional
        How likely plans last, by their strength, if that was measured for the model.
    promised : DataFrame, optional
        By group: of the refused who were searched for, how many have a plan within the budget that
        lasts as promised, how many have only a weaker one, none, or are unknown.
    n_supplied : int
        How many of those searched have a plan within the budget that only hands in missing values.
    """

    title: str
    model: dict[str, str]
    n_people: int
    n_searched: int
    budget: float
    certificate: Certificate
    metrics: pd.DataFrame
    costs: np.ndarray
    changes: pd.DataFrame
    held: pd.DataFrame
    without: pd.DataFrame
    n_explained: int
    judged: Judged | None = None
    verdicts: pd.DataFrame | None = None
    lasting: LastingCurve | None = None
    promised: pd.DataFrame | None = None
    n_supplied: int = 0

    def to_html(self, templates: str | Path | None = None) -> str:
        """The audit as one page that needs nothing else.

        Parameters
        ----------
        templates : path, optional
            A folder of Jinja2 templates to use instead of those of the same name in
            ``ract/report/templates``.

        Raises
        ------
        InvalidSpec
            If a template has a mistake, with its file and line.
        """
        return page(self, templates)

    def save(self, path: str | Path, templates: str | Path | None = None) -> None:
        """Write the page (see ``to_html``), whole or not at all."""
        write_whole(path, self.to_html(templates))

    def _repr_html_(self) -> str:
        return self.to_html()


def audit(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    budget: float | None = None,
    confidence: float = 0.95,
    actions: Any = None,
    desired: Any = None,
    threshold: float | None = None,
    reference: Any = None,
    cost: Any = None,
    training: Any = None,
    judge: OutcomeJudge | None = None,
    certificate: Certificate | None = None,
    max_people: int | None = 5000,
    time_limit: float | None = TIME_LIMIT,
    title: str = "Recourse audit",
    n_jobs: int | None = None,
    progress: bool = False,
) -> Audit:
    """Audit a model: accuracy, recourse with a bound, groups, costs, and people without recourse.

    Parameters
    ----------
    model, X, y
        As in ``ract.metrics.recourse_report``; bounds are for people who had no part in training.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    budget, actions, desired, threshold, reference, cost, time_limit, n_jobs, progress
        As in ``ract.find_recourse``.
    confidence : float
        Of the bounds and intervals.
    training : frame or array, optional
        As in ``ract.certify``.
    judge : OutcomeJudge, optional
        For which plans are earned and which are granted.
    certificate : Certificate, optional
        Of the whole population, as ``ract.scale`` makes it, if X is a sample of it.
    max_people : int or None
        Plans are searched for at most this many people, spread over the table; the certificate is
        always on all of them. None for everyone.
    title : str
        Of the page.

    Examples
    --------
    >>> from ract.datasets import load_loans
    >>> from ract.examples import loans_forest
    >>> (model, _), fresh = loans_forest(500), load_loans(500, random_state=1)
    >>> found = audit(model, fresh.frame, fresh.target, groups="Education")
    >>> found.n_people, found.to_html()[:15]
    (500, '<!doctype html>')
    """
    if max_people is not None and max_people < 1:
        raise InvalidSpec(f"max_people must be 1 or more, got {max_people!r}.")
    how = {
        "actions": actions, "desired": desired, "threshold": threshold, "reference": reference,
        "cost": cost, "time_limit": time_limit, "n_jobs": n_jobs, "progress": progress,
    }  # fmt: skip
    whole = certificate
    if certificate is None:
        certificate = certify(model, X, budget, confidence, groups, training=training, **how)
    n_people, most = read_table(X).n_rows, own_budget(model, budget)
    rows = np.arange(n_people)
    if max_people is not None and n_people > max_people:
        rows = np.linspace(0, n_people - 1, max_people).astype(int)
    some, truth = take_rows(X, rows), None if y is None else np.asarray(y)[rows]
    labels = groups
    if groups is not None and not isinstance(groups, str):
        labels = np.asarray(groups)[rows]
    recourse = find_recourse(model, some, budget=np.inf, explain=False, strict=True, **how)
    metrics = report_of(recourse, truth, most, groups=labels, confidence=confidence)
    judged = None if judge is None else _judged(judge, recourse, most)
    curve = getattr(model, "lasting_", None)
    promised = None
    if curve is not None and curve.lasting is not None:
        strong = {**how, "strength": curve.strength_for(curve.lasting), "budget": most}
        promised = _promised(model, some, recourse, labels, strong)
    costly = np.flatnonzero(~(recourse.cost <= most))
    asked = costly[:MOST_EXPLAINED]
    reasons = (
        find_recourse(model, take_rows(some, asked), budget=most, **how) if len(asked) else None
    )
    return Audit(
        title=title,
        model=_in_words(recourse),
        n_people=n_people if whole is None else whole.everyone.n_people,
        n_searched=len(rows),
        budget=most,
        certificate=certificate,
        metrics=metrics,
        costs=np.where(recourse.only_supplied, np.inf, recourse.cost),
        changes=_changes(recourse, most),
        held=_held(reasons),
        without=_without(reasons),
        n_explained=len(asked),
        judged=judged,
        verdicts=None if judged is None else judged.summary(labels),
        lasting=curve,
        promised=promised,
        n_supplied=int((recourse.only_supplied & (recourse.cost <= most)).sum()),
    )


def _promised(
    model: Any, X: Any, recourse: Recourse, groups: Any, options: dict[str, Any]
) -> pd.DataFrame | None:
    """Who of the refused has a plan that lasts as promised, by group."""
    if options["strength"] is None:
        return None
    status, supplied = has_recourse(model, X, **options), recourse.only_supplied
    found = (status == "found") & ~supplied
    weaker = recourse.found & (recourse.cost <= options["budget"]) & ~found & ~supplied
    kinds = {
        "promised": found, "weaker": weaker,
        "unknown": ~weaker & ((status == "unknown") | (recourse.status == "unknown")),
    }  # fmt: skip
    if supplied.any():
        kinds["only supplied"] = supplied & ~kinds["unknown"]
    named = {} if groups is None else groups_of(X, groups)
    rows = []
    for group, members in {"everyone": np.arange(len(status)), **named}.items():
        refused = np.zeros(len(status), bool)
        refused[members] = True
        refused &= ~recourse.accepted
        counts = {name: int((is_so & refused).sum()) for name, is_so in kinds.items()}
        none = int(refused.sum()) - sum(counts.values())
        rows.append({"group": group, "refused": int(refused.sum()), **counts, "none": none})
    return pd.DataFrame(rows)


def _judged(judge: OutcomeJudge, recourse: Recourse, budget: float) -> Judged:
    """Verdicts on plans within a budget, of plans that were found without one.

    These people had no part in training, so that the model's share of accepted is theirs.
    """
    within = replace(recourse, question=replace(recourse.question, budget=budget))
    return judge.judged(within, accepted=float(recourse.accepted.mean()))


def _in_words(recourse: Recourse) -> dict[str, str]:
    """What a model is, in words."""
    model, ensemble = recourse.question.model, recourse.question.ensemble
    space = recourse.encoder.space
    words = {
        "Kind": getattr(model, "source", "") or type(model).__name__,
        "Trees": f"{ensemble.n_trees:,} with {len(ensemble.leaves):,} leaves",
        "Desired class": str(recourse.desired),
        "May change": ", ".join(f.name for f in space if f.actionable) or "nothing",
        "Fixed": ", ".join(f.name for f in space if not f.actionable) or "nothing",
    }
    if ensemble.combine == "votes" and ensemble.n_trees > 1:
        words["Votes needed"] = f"{ensemble.cutoff:g} of {ensemble.n_trees}"
    weight = getattr(model, "recourse_weight_", getattr(model, "recourse_weight", None))
    if weight is not None:
        words["Weight of recourse"] = f"{weight:.3g}" if isinstance(weight, float) else str(weight)
    return words


def _changes(recourse: Recourse, budget: float) -> pd.DataFrame:
    """Which features people are asked to change, among plans within the budget."""
    planned = recourse.found & (recourse.cost <= budget) & ~recourse.only_supplied
    names = [axis.feature.name for axis in recourse.encoder.axes]
    changed = pd.DataFrame(recourse.changed[planned], columns=names)
    effort = pd.DataFrame(recourse.effort[planned], columns=names).where(changed)
    table = pd.DataFrame({"feature": names, "share": changed.mean().array})
    table["effort"] = effort.mean().array
    return table[table["share"] > 0].sort_values("share", ascending=False, ignore_index=True)


def _held(recourse: Recourse | None) -> pd.DataFrame:
    """By set of features that hold people: how many they hold."""
    budgets: dict[str, list[float]] = {}
    for obstacle in recourse.obstacles.values() if recourse is not None else ():
        nothing = "no release would do" if obstacle.proved else "not known"
        budgets.setdefault(", ".join(obstacle.features) or nothing, []).append(obstacle.budget)
    rows = [
        (features, len(of_set), _median([budget for budget in of_set if not np.isnan(budget)]))
        for features, of_set in sorted(budgets.items(), key=lambda item: -len(item[1]))
    ]
    return pd.DataFrame(rows, columns=["features", "people", "median budget"])


def _median(known: list[float]) -> float:
    return float(np.median(known)) if known else float("nan")


def _without(recourse: Recourse | None) -> pd.DataFrame:
    """People without recourse and why, in words."""
    rows = [
        (plan.person, plan.status, plan.describe())
        for plan in (recourse if recourse is not None else ())
        if not plan.has_recourse
    ]
    return pd.DataFrame(rows, columns=["person", "status", "why"])

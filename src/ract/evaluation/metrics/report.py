"""Accuracy and recourse in one table, overall and by group."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.typing import ColumnLike, TableLike
from ract.data.costs import within
from ract.data.groups import MetricColumn, Metrics
from ract.evaluation.outcomes import bad_of
from ract.recourse.find import find_recourse
from ract.recourse.plausible.plausibility import Plausibility
from ract.recourse.problem import ModelLike, bare_model, own_budget
from ract.recourse.result import Recourse


def recourse_report(
    model: ModelLike,
    X: TableLike,
    y: ColumnLike | None = None,
    *,
    groups: str | ColumnLike | None = None,
    confidence: float = 0.95,
    reference: TableLike | None = None,
    effects: object = None,
    **options: Any,
) -> pd.DataFrame:
    """Accuracy and recourse of a model, overall and by group.

    Parameters
    ----------
    model : fitted classifier
        As in ``ract.find_recourse``.
    X : frame or array
    y : array (people,), optional
        Their true classes, for accuracy and AUC.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    confidence : float
        Of the intervals: Wilson's for shares, Student's for means, Hanley and McNeil's for AUC.
    reference : frame or array, optional
        People from whom costs and plausibility are learned, as in ``ract.find_recourse``.
    effects : optional
        As in ``ract.find_recourse``: adds the row "causal validity".
    **options
        Further ones of ``ract.find_recourse``.

    Returns
    -------
    DataFrame
        One row per group and metric: number of ``people``, ``value`` with ``low`` and ``high``,
        and, for groups, ``difference`` and ``ratio`` to everyone else, with their own limits.

        "accepted", "recourse ratio" and "recourse risk" are shares of everyone, "validity" (an
        action at any cost), "validity within budget" and "causal validity" are shares of the
        refused, "mean cost" and "sparsity" are over those who have an action, "plausibility" is
        over all who are refused (minus the outlier score after the action, if there is one). If
        values may be missing, plausibility is left out. If they may be supplied, "validity only
        supplied" is the share of the refused whose action within the budget supplies missing values
        and does nothing else. These people count as without recourse in the ratio, and "validity"
        and "mean cost" leave them out.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> tree, loans = loans_tree(600)
    >>> report = recourse_report(tree, loans.frame, loans.target, groups="Guarantor")
    >>> ratios = report[report["metric"] == "recourse ratio"]
    >>> ratios[["group", "people", "value", "low", "high"]].round(3)
           group  people  value    low  high
    3   everyone     600  0.998  0.991   1.0
    13     False     433  0.998  0.987   1.0
    23      True     167  1.000  0.978   1.0
    """
    model, options = bare_model(model, {"reference": reference, **options})
    asked = {"explain": False, "strict": True, **options}
    recourse = find_recourse(model, X, **(asked | {"budget": np.inf}))
    columns = columns_of(recourse, y, own_budget(model, options.get("budget")))
    if effects is not None:
        causal = find_recourse(model, X, **(asked | {"effects": effects}))
        columns.append(MetricColumn("causal validity", causal.found, ~causal.accepted))
    return Metrics.of(columns, recourse.people, groups).table(confidence)


def columns_of(
    recourse: Recourse, y: ColumnLike | None, budget: float, *, plausibility: bool = True
) -> list[MetricColumn]:
    """Every metric of plans that were found without a budget, a value per person."""
    return [*_decisions(recourse, y), *_plans(recourse, budget, plausibility=plausibility)]


def _decisions(recourse: Recourse, y: ColumnLike | None) -> Iterator[MetricColumn]:
    """Accuracy and AUC, if the truth is known."""
    if y is None:
        return
    decided = recourse.accepted
    truth = ~bad_of(y, recourse.desired, len(decided))
    everyone = np.ones(len(truth), np.bool_)
    yield MetricColumn("accuracy", decided == truth, everyone)
    yield MetricColumn("AUC", recourse.question.tree.score(recourse.people), everyone, truth)


def _plans(recourse: Recourse, budget: float, *, plausibility: bool) -> Iterator[MetricColumn]:
    """Everything that rests on each person's cheapest action."""
    accepted, axes = recourse.accepted, recourse.encoder.axes
    found = recourse.found & ~recourse.only_supplied
    affordable = found & within(recourse.cost, budget)
    everyone = np.ones(len(found), np.bool_)
    yield MetricColumn("accepted", accepted, everyone)
    yield MetricColumn("recourse ratio", accepted | affordable, everyone)
    yield MetricColumn("recourse risk", ~(accepted | affordable), everyone)
    yield MetricColumn("validity", found, ~accepted)
    yield MetricColumn("validity within budget", affordable, ~accepted)
    yield MetricColumn("mean cost", recourse.cost, found)
    yield MetricColumn("sparsity", recourse.n_changes.astype(float), found)
    if any(axis.feature.may_supply for axis in axes):
        supplied = recourse.only_supplied & within(recourse.cost, budget)
        yield MetricColumn("validity only supplied", supplied, ~accepted)
    if not plausibility or any(axis.has_missing for axis in axes):
        return
    score = np.zeros(len(found))
    if not accepted.all():
        judge = Plausibility().fit(recourse.question.known)
        score[~accepted] = judge.score(recourse.after[~accepted])
    yield MetricColumn("plausibility", score, ~accepted)

"""Consistency of reasons: who is given which, whether mending them helps, and how stable they are.

For the person who answers for the notices: a reason that is given often to one group and seldom to
another, or one that nobody can mend alone, is worth a look before it goes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.progress import track
from ract._utils.statistics import exact_share
from ract._utils.status import Status
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import check_value, whole
from ract.data.frames import read_table, take_rows
from ract.data.groups import EVERYONE, group_masks
from ract.recourse.common.search import Limits
from ract.recourse.find import find_recourse
from ract.recourse.reachable import reach
from ract.recourse.reasons.find import find_reasons
from ract.recourse.reasons.result import Reasons
from ract.recourse.replicates import fit_on

_WITH_PLAN = (Status.FOUND, Status.OPTIMAL)
MENDING = ("alone", "with others", "not at all", "unknown")
_SEARCH = ("actions", "desired", "threshold", "cost", "budget", "time_limit", "n_jobs")
_FEWEST = 10  # people of either class that each replicate is fitted on


@dataclass(frozen=True, repr=False)
class ReasonsReport:
    """How often people are given which reasons.

    Parameters
    ----------
    reasons : DataFrame
        One row for each group, feature and direction: how often it is ``given``, as a ``share``
        of the group's refused people, how often it comes ``first``, and how often it can be
        mended alone, with others, not at all, or that is unknown.
    people : DataFrame
        One row for each group: ``people``, ``refused``, ``with a plan`` within the budget that
        supplies no missing value, ``by supplying`` (those who have another plan only),
        ``unknown`` (the search ended early), ``share with a plan`` (of the refused), ``reasons``
        (mean number of them) and ``tied`` (share of the refused who have a tie, or nearly one,
        between reasons that are given, or between one that is and one that is not).
    stability : DataFrame or None
        Of ``ract.evaluation.reasons_stability``, if that was asked for.
    """

    reasons: pd.DataFrame
    people: pd.DataFrame
    stability: pd.DataFrame | None = None

    @property
    def never_alone(self) -> list[str]:
        """Features that are given as reasons and whose mending alone never helps, proved."""
        everyone = self.reasons[self.reasons["group"] == EVERYONE]
        sums = everyone.groupby("feature", sort=False)[["alone", "unknown"]].sum()
        return [str(name) for name in sums.index[(sums == 0).all(axis=1)]]

    def to_frame(self) -> pd.DataFrame:
        """How often each reason is given, by group: ``reasons``."""
        return self.reasons

    def __str__(self) -> str:
        everyone = self.people.iloc[0]
        if not everyone["refused"]:
            return f"{everyone['people']} people, none of them refused."
        lines = [
            f"{everyone['people']} people, {everyone['refused']} of them refused; "
            f"{_percent(everyone['share with a plan'])} of the refused have a plan."
        ]
        if everyone["by supplying"]:
            lines.append(
                f"{everyone['by supplying']} more have one only if they supply missing values."
            )
        given = self.reasons[self.reasons["group"] == EVERYONE]
        if len(given):
            often = ", ".join(
                f"{row['feature']} {_direction(row['direction'])}({_percent(row['share'])})"
                for row in given.head(4).to_dict("records")
            )
            lines.append(f"Given most often: {often}.")
        if self.never_alone:
            lines.append(f"Mending alone never helps: {', '.join(self.never_alone)}.")
        lines += self._gap()
        if self.stability is not None and len(self.stability):
            same = _percent(self.stability["same first reason"].mean())
            shared = _percent(self.stability["shared reasons"].mean())
            lines.append(
                "Trained again on other people, the model gives the same first reason to "
                f"{same} of those refused both times, and shares {shared} of all reasons."
            )
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _gap(self) -> list[str]:
        """The reason on which groups differ most, as a line; none without groups."""
        groups = self.people.loc[self.people["refused"] > 0, "group"].tolist()[1:]
        if len(groups) < 2:
            return []
        shares = self.reasons.pivot_table(
            index=["feature", "direction"], columns="group", values="share", sort=False
        )
        shares = shares.reindex(columns=groups).fillna(0.0)
        widest = int(np.argmax(shares.max(axis=1) - shares.min(axis=1)))
        (feature, direction), row = shares.index[widest], shares.iloc[widest]
        reason = f"{feature} {_direction(direction)}".strip()
        return [
            f"Groups differ most on {reason}: {_percent(row.max())} of {row.idxmax()} and "
            f"{_percent(row.min())} of {row.idxmin()}."
        ]


def reasons_report(
    model: Classifier,
    X: TableLike,
    *,
    reference: TableLike | None = None,
    groups: str | ColumnLike | None = None,
    training: TableLike | None = None,
    target: ColumnLike | None = None,
    estimator: Classifier | None = None,
    n_replicates: int = 2,
    random_state: int = 0,
    **options: Any,
) -> ReasonsReport:
    """How often each reason is given, by group; whether mending helps; how stable reasons are.

    Parameters
    ----------
    model, X, reference
        As in ``ract.find_reasons``.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    training, target : frame or array and array, optional
        A training table and its classes: the learner is fitted again on disjoint parts of it,
        and its reasons are compared.
    estimator : classifier, optional
        The learner, if the model itself cannot be fitted again (an imported model).
    n_replicates : int
        How many parts.
    random_state : int
        Of the parts.
    **options
        Further ones of ``ract.find_reasons``.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> report = reasons_report(model, loans.frame.head(100), reference=loans.frame)
    >>> report.reasons.columns.tolist()[:6]
    ['group', 'feature', 'direction', 'given', 'share', 'first']
    """
    if (training is None) != (target is None):
        raise InvalidSpec("Give training together with target, the classes of its people.")
    found = find_reasons(model, X, reference=reference, **options)
    stability = None
    if training is not None:
        drawn = {"n_replicates": n_replicates, "random_state": random_state, **options}
        learner = model if estimator is None else estimator
        stability = reasons_stability(learner, X, training, target, **drawn)
    return report_of(found, groups=groups, stability=stability, **options)


def report_of(
    found: Reasons,
    *,
    groups: str | ColumnLike | None = None,
    stability: pd.DataFrame | None = None,
    **options: Any,
) -> ReasonsReport:
    """The report of reasons that were found; options as in ``reasons_report``."""
    members: dict[Label, np.ndarray] = {EVERYONE: np.ones(len(found), np.bool_)}
    if groups is not None:
        members |= group_masks(found.people, groups)
    plans = _plans(found, options)
    return ReasonsReport(_reasons(found, members), _people(found, members, *plans), stability)


def reasons_stability(
    estimator: Classifier,
    X: TableLike,
    training: TableLike,
    target: ColumnLike | None,
    *,
    n_replicates: int = 2,
    confidence: float = 0.9,
    random_state: int = 0,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """How similar the reasons of replicates are: the learner fitted on disjoint parts of a table.

    Parameters
    ----------
    estimator : classifier
        Any that scikit-learn can clone and ``ract.find_reasons`` can read; fitted or not.
    X : frame or array
        People whose reasons are compared; best none of them from the training table.
    training : frame or array
    target : array (training people,)
    n_replicates : int
        2 or more.
    confidence : float
        Of the interval of Clopper and Pearson.
    random_state : int
        Of the parts.
    progress : bool
    **options
        Of ``ract.find_reasons``.

    Returns
    -------
    DataFrame
        One row for each pair of replicates: ``same decision`` (share of people), ``refused by
        both``, ``same first reason`` with ``low`` and ``high`` (share of those), and ``shared
        reasons`` (mean over those of the reasons that both give, of all that either gives).
    """
    labels = np.asarray(target)
    n_rows = read_table(training).n_rows
    if labels.shape != (n_rows,):
        raise InvalidData(f"training has {n_rows} rows but target has shape {labels.shape}.")
    check_value("n_replicates", n_replicates, whole(2))
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2 or counts.min() < _FEWEST * n_replicates:
        raise InvalidData(
            f"{n_replicates} replicates need {_FEWEST * n_replicates} people or more of either "
            f"class, got {dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
        )
    deal = StratifiedKFold(n_replicates, shuffle=True, random_state=random_state)
    parts = [rows for _, rows in deal.split(np.zeros(n_rows), labels)]
    found: list[Reasons] = []
    for rows in track(parts, n_replicates, "Fitting replicates", show=progress):
        model = fit_on(rows, estimator, training, labels)
        asked = {"reference": take_rows(training, rows), "responsiveness": False}
        found.append(find_reasons(model, X, **(options | asked)))
    pairs = combinations(range(n_replicates), 2)
    return pd.DataFrame([_pair(a, b, found[a], found[b], confidence) for a, b in pairs])


def _pair(
    a: int, b: int, one: Reasons, other: Reasons, confidence: float
) -> dict[str, str | float]:
    both = np.flatnonzero(one.refused & other.refused).tolist()
    given = [[[r.feature for r in reasons[i].reasons] for i in both] for reasons in (one, other)]
    pairs = [(x, y) for x, y in zip(*given, strict=True) if x or y]
    same_first = sum(x[:1] == y[:1] for x, y in pairs)
    shared = [len({*x} & {*y}) / len({*x} | {*y}) for x, y in pairs]
    first = exact_share(same_first, len(pairs), confidence)
    return {
        "replicates": f"{a + 1} and {b + 1}",
        "people": len(one),
        "same decision": float(np.mean(one.status == other.status)),
        "refused by both": len(both),
        "same first reason": first.value,
        "low": first.low,
        "high": first.high,
        "shared reasons": float(np.mean(shared)) if shared else float("nan"),
    }


def _plans(found: Reasons, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether everyone has a plan that supplies nothing, as a status, and who has another one."""
    question = found.question
    if question.cost.norm == "max":
        limits = Limits(time_limit=options.get("time_limit"), n_jobs=options.get("n_jobs"))
        status = reach(question, limits)
        planned = np.isin(status, _WITH_PLAN)
        if any(axis.feature.may_supply for axis in question.encoder.axes):
            status = np.where(planned, reach(question, limits, supply=False), status)
        only_supplied = planned & np.isin(status, (Status.NONE, Status.NONE_WITHIN_BUDGET))
    else:
        search = {name: options[name] for name in _SEARCH if name in options}
        plans = find_recourse(
            question.model, question.people, reference=question.reference, explain=False, **search
        )
        only_supplied = np.asarray(plans.supplied.any(axis=1))
        status = np.where(only_supplied, Status.NONE_WITHIN_BUDGET, plans.answers.status)
    if found.invalid_rows is None:
        return status, only_supplied
    scatter = found.invalid_rows.scatter
    return scatter(status, Status.INVALID), scatter(only_supplied, False)


def _reasons(found: Reasons, members: dict[Label, np.ndarray]) -> pd.DataFrame:
    given = found.to_frame()
    position = np.repeat(np.arange(len(found)), [max(1, len(p.reasons)) for p in found])
    given, position = given[given["rank"] > 0], position[(given["rank"] > 0).to_numpy()]
    columns = ["group", "feature", "direction", "given", "share", "first", *MENDING]
    rows = []
    for group, inside in members.items():
        n_refused = int((inside & found.refused).sum())
        counted: list[tuple[Any, ...]] = []
        for (feature, direction), part in given[inside[position]].groupby(["feature", "direction"]):
            n, n_first = len(part), int((part["rank"] == 1).sum())
            mending = [int((part["mending"] == word).sum()) for word in MENDING]
            counted.append((group, feature, direction, n, n / n_refused, n_first, *mending))
        rows += sorted(counted, key=lambda row: -row[3])
    return pd.DataFrame(rows, columns=columns)


def _people(
    found: Reasons, members: dict[Label, np.ndarray], status: np.ndarray, only_supplied: np.ndarray
) -> pd.DataFrame:
    with_plan, unknown = np.isin(status, _WITH_PLAN), status == Status.UNKNOWN
    n_reasons = np.array([len(person.reasons) for person in found])
    tied = np.array([any(r.tied_with for r in person.reasons) for person in found], bool)
    counted = {"with a plan": with_plan, "by supplying": only_supplied, "unknown": unknown}
    averaged = {"share with a plan": with_plan, "reasons": n_reasons, "tied": tied}
    rows = []
    for group, inside in members.items():
        here = inside & found.refused
        row = {"group": group, "people": int(inside.sum()), "refused": int(here.sum())}
        row |= {name: int(values[here].sum()) for name, values in counted.items()}
        means = {
            name: values[here].mean() if here.any() else np.nan for name, values in averaged.items()
        }
        rows.append(row | means)
    return pd.DataFrame(rows)


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _direction(direction: str) -> str:
    return "" if direction == "category" else f"{direction} "

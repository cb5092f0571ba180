"""Consistency of reasons: who is given which, whether mending them helps, and how stable they are.

For the person who answers for the notices: a reason that is given often to one group and seldom to
another, or one that nobody can mend alone, is worth a look before it goes out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.group_sums import EVERYONE
from ract.data.groups import groups_of
from ract.evaluation.reasons_stability import reasons_stability
from ract.recourse.find import find_recourse
from ract.recourse.reachable import reach
from ract.recourse.reasons.find import find_reasons
from ract.recourse.reasons.result import Reasons

_WITH_PLAN = (Status.FOUND, Status.OPTIMAL)
MENDING = ("alone", "with others", "not at all", "unknown")
_SEARCH = ("actions", "desired", "threshold", "cost", "budget", "time_limit", "n_jobs")


@dataclass(frozen=True, repr=False)
class ReasonsReport:
    """How reasons are given to some people.

    Parameters
    ----------
    reasons : DataFrame
        One row for each group, feature and direction: how often it is ``given``, as a ``share``
        of the group's refused people, how often it comes ``first``, and how often it can be
        mended alone, with others, not at all, or that is unknown.
    people : DataFrame
        One row for each group: ``people``, ``refused``, ``with a plan`` within the budget that
        hands in no missing value, ``by handing in`` (those who have another plan only),
        ``unknown`` (the search ended early), ``share with a plan`` (of the refused), ``reasons``
        (mean number of them) and ``tied`` (share of the refused who have a tie, or nearly one,
        between reasons that are given, or between one that is and one that is not).
    stability : DataFrame or None
        Of ``ract.evaluation.reasons_stability.reasons_stability``, if that was asked for.
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
        if everyone["by handing in"]:
            lines.append(
                f"{everyone['by handing in']} more have one only if they hand in missing values."
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
    model: Any,
    X: Any,
    *,
    reference: Any = None,
    groups: Any = None,
    training: Any = None,
    target: Any = None,
    estimator: Any = None,
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
        The learner, if it is not the model itself (that of an imported model).
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
        stability = reasons_stability(
            model if estimator is None else estimator, X, training, target,
            n_replicates=n_replicates, random_state=random_state, **options,
        )  # fmt: skip
    return report_of(found, groups=groups, stability=stability, **options)


def report_of(
    found: Reasons, *, groups: Any = None, stability: pd.DataFrame | None = None, **options: Any
) -> ReasonsReport:
    """The report of reasons that were found; options as in ``reasons_report``."""
    members = {EVERYONE: np.ones(len(found), np.bool_)}
    if groups is not None:
        members |= groups_of(found.people, groups)
    plans = _plans(found, options)
    return ReasonsReport(_reasons(found, members), _people(found, members, *plans), stability)


def _plans(found: Reasons, options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether everyone has a plan that hands in nothing, as a status, and who has another one."""
    question = found.question
    if question.cost.norm == "max":
        limits = {name: options[name] for name in ("time_limit", "n_jobs") if name in options}
        status = reach(question, **limits)
        planned = np.isin(status, _WITH_PLAN)
        if any(axis.feature.may_supply for axis in question.encoder.axes):
            status = np.where(planned, reach(question, supply=False, **limits), status)
        handing_in = planned & np.isin(status, (Status.NONE, Status.NONE_WITHIN_BUDGET))
    else:
        search = {name: options[name] for name in _SEARCH if name in options}
        plans = find_recourse(
            question.model, question.people, reference=question.reference, explain=False, **search
        )
        handing_in = np.asarray(plans.supplied.any(axis=1))
        status = np.where(handing_in, Status.NONE_WITHIN_BUDGET, plans.answers.status)
    if found.invalid_rows is None:
        return status, handing_in
    scatter = found.invalid_rows.scatter
    return scatter(status, Status.INVALID), scatter(handing_in, False)


def _reasons(found: Reasons, members: dict[Any, np.ndarray]) -> pd.DataFrame:
    given = found.to_frame()
    position = np.repeat(np.arange(len(found)), [max(1, len(p.reasons)) for p in found])
    given, position = given[given["rank"] > 0], position[(given["rank"] > 0).to_numpy()]
    rows = []
    for group, inside in members.items():
        n_refused = int((inside & found.refused).sum())
        own = given[inside[position]]
        counted = [
            {
                "group": group,
                "feature": feature,
                "direction": direction,
                "given": len(part),
                "share": len(part) / n_refused,
                "first": int((part["rank"] == 1).sum()),
                **{word: int((part["mending"] == word).sum()) for word in MENDING},
            }
            for (feature, direction), part in own.groupby(["feature", "direction"], sort=True)
        ]
        rows += sorted(counted, key=lambda row: -row["given"])
    columns = ["group", "feature", "direction", "given", "share", "first", *MENDING]
    return pd.DataFrame(rows, columns=columns)


def _people(
    found: Reasons, members: dict[Any, np.ndarray], status: np.ndarray, handing_in: np.ndarray
) -> pd.DataFrame:
    refused = found.refused
    n_reasons = np.array([len(person.reasons) for person in found])
    tied = np.array([any(r.tied_with for r in person.reasons) for person in found], bool)
    with_plan = np.isin(status, _WITH_PLAN)
    rows = []
    for group, inside in members.items():
        here = inside & refused
        n = int(here.sum())
        shares = (with_plan[here].mean(), n_reasons[here].mean(), tied[here].mean()) if n else (
            np.nan, np.nan, np.nan
        )  # fmt: skip
        rows.append({
            "group": group, "people": int(inside.sum()), "refused": n,
            "with a plan": int(with_plan[here].sum()),
            "by handing in": int(handing_in[here].sum()),
            "unknown": int((status[here] == Status.UNKNOWN).sum()),
            "share with a plan": shares[0], "reasons": shares[1], "tied": shares[2],
        })  # fmt: skip
    return pd.DataFrame(rows)


def _percent(share: float) -> str:
    return f"{share:.0%}"


def _direction(direction: str) -> str:
    return "" if direction == "category" else f"{direction} "

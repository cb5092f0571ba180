"""Which plans are earned and which are granted: the verdicts of a judge, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.status import Status
from ract._utils.typing import ColumnLike, TableLike
from ract.data.costs import within
from ract.data.groups import tallied, with_everyone
from ract.recourse.result import Recourse

# What becomes of refused people, from best to worst; "unknown" if the search did not end.
VERDICTS = ("earned", "undecided", "granted", "none", "unknown")
# Plans that only supply missing values: nothing is known of their truth.
SUPPLIED = "only supplied"


@dataclass(frozen=True, repr=False)
class Judged:
    """Verdicts on plans, by the predicted outcomes of people who carry them out.

    Parameters
    ----------
    frame : DataFrame
        One row per person: the probability of the desired class ``before`` and ``after`` the plan,
        the latter with an interval from ``low`` to ``high``, and the ``verdict``: "earned" if the
        interval lies above the bar, "granted" below it, "undecided" if it contains the bar; "only
        supplied" if the plan only supplies missing values, which is not judged; "accepted", "none"
        and "unknown" for people without a plan.
    bar : float
        Mean probability of people at the margin of acceptance of a plain model.
    accepted : float
        Share of people whom that plain model accepts: the same as of the model in question.
    confidence : float
        Of the intervals.
    people : frame or array
        As they were given.
    """

    frame: pd.DataFrame
    bar: float
    accepted: float
    confidence: float
    people: TableLike

    def summary(self, groups: str | ColumnLike | None = None) -> pd.DataFrame:
        """How many refused people have which verdict, and what honouring granted plans would cost.

        Parameters
        ----------
        groups : str or array (people,), optional
            A column of the people's table, or everyone's group.

        Returns
        -------
        DataFrame
            One row for everyone and one per ``group``: ``people``, ``refused``, how many of the
            refused have each verdict, and per 100 people of the group: ``undesired``, the undesired
            outcomes to expect from those granted if all of them carry out their plans, and ``beyond
            the bar``, how many more these are than if these people were as good as the bar.
        """
        return summary_of(self.tallied(groups))

    def tallied(self, groups: str | ColumnLike | None = None) -> dict[Any, pd.Series]:
        """By group: people, verdicts, undesired outcomes, and those beyond the bar."""
        verdict = self.frame["verdict"].to_numpy()
        after = self.frame["after"].where(verdict == "granted").to_numpy(float)
        columns = {"people": np.ones(len(verdict))}
        columns |= {name: (verdict == name).astype(float) for name in (*VERDICTS, SUPPLIED)}
        columns |= {
            "undesired": np.nan_to_num(1 - after),
            "beyond the bar": np.nan_to_num(self.bar - after),
        }
        return tallied(columns, self.people, groups)

    def __repr__(self) -> str:
        counts = self.summary().iloc[0]
        names = [name for name in (*VERDICTS, SUPPLIED) if counts.get(name)]
        each = ", ".join(f"{counts[name]} {name}" for name in names)
        return (
            f"{counts['refused']} refused of {counts['people']} people: {each or 'nobody'} "
            f"(bar {self.bar:.3f})"
        )


def verdicts_of(
    recourse: Recourse, planned: np.ndarray, is_above: pd.Series, is_below: pd.Series
) -> np.ndarray:
    """The verdict of each person.

    Parameters
    ----------
    recourse : Recourse
    planned : bool (people,)
        Who is refused and has a plan within the budget.
    is_above, is_below : bool (people,)
        Whether the interval of their probability after the plan lies above the bar, or below it.
    """
    proved = np.isin(recourse.answers.status, (Status.NONE, Status.NONE_WITHIN_BUDGET))
    proved |= ~within(recourse.bound, recourse.budget)
    verdicts = {  # the first that holds
        "accepted": recourse.accepted,
        "earned": planned & is_above,
        "granted": planned & is_below,
        "undecided": planned,
        SUPPLIED: recourse.only_supplied & within(recourse.cost, recourse.budget),
        "none": proved,
    }
    return np.select(list(verdicts.values()), list(verdicts), "unknown").astype(object)


def summary_of(tallies: dict[Any, pd.Series]) -> pd.DataFrame:
    """The table of ``Judged.summary``, of people who were counted."""
    everyone = with_everyone(tallies)
    names = [*VERDICTS, SUPPLIED] if everyone[0][1][SUPPLIED] else [*VERDICTS]
    rows = []
    for group, sums in everyone:
        counts = sums[["people", *names]].astype(int)
        per_100 = sums[["undesired", "beyond the bar"]] * 100 / max(sums["people"], 1)
        row = {"group": group, "people": counts.pop("people"), "refused": counts.sum()}
        rows.append(row | counts.to_dict() | per_100.to_dict())
    return pd.DataFrame(rows)

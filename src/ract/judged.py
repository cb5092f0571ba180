"""Which plans are earned and which are granted: the verdicts of a judge, and their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract.groups import groups_of
from ract.metrics.report import EVERYONE

# What becomes of refused people, from best to worst; "unknown" if the search did not end.
VERDICTS = ("earned", "undecided", "granted", "none", "unknown")
# Plans that only hand in missing values: nothing is known of their truth.
SUPPLIED = "only supplied"


@dataclass(frozen=True, repr=False)
class Judged:
    """Plans by what people who carry them out can be expected to do.

    Parameters
    ----------
    frame : DataFrame
        One row per person: the probability of the desired class ``before`` and ``after`` the
        plan, the latter with an interval from ``low`` to ``high``, and the ``verdict``: "earned"
        if the interval lies above the bar, "granted" below it, "undecided" across it; "only
        supplied" if the plan only hands in missing values, which is not judged; "accepted",
        "none" and "unknown" for people without a plan.
    bar : float
        What people at the margin of acceptance of a plain model have.
    accepted : float
        Share of people whom that plain model accepts, as many as the model asked about does.
    confidence : float
        Of the intervals.
    people : frame or array
        As they were given.
    """

    frame: pd.DataFrame
    bar: float
    accepted: float
    confidence: float
    people: Any

    def summary(self, groups: Any = None) -> pd.DataFrame:
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
            outcomes to expect from those granted if all of them carry out their plans, and
            ``beyond the bar``, how many of these would not be there if they were as good as the
            bar.
        """
        members = {EVERYONE: np.ones(len(self.frame), np.bool_)}
        if groups is not None:
            members |= groups_of(self.people, groups)
        return pd.DataFrame(
            [{"group": group, **self._counts(inside)} for group, inside in members.items()]
        )

    @property
    def _verdicts(self) -> tuple[str, ...]:
        """The verdicts on refused people that can come up."""
        supplied = (self.frame["verdict"] == SUPPLIED).any()
        return (*VERDICTS, SUPPLIED) if supplied else VERDICTS

    def _counts(self, inside: np.ndarray) -> dict[str, Any]:
        frame = self.frame[inside]
        verdict, per_100 = frame["verdict"], 100 / max(len(frame), 1)
        granted = frame.loc[verdict == "granted", "after"]
        counts = {name: int((verdict == name).sum()) for name in self._verdicts}
        return {
            "people": len(frame),
            "refused": sum(counts.values()),
            **counts,
            "undesired": float((1 - granted).sum() * per_100),
            "beyond the bar": float((self.bar - granted).sum() * per_100),
        }

    def __repr__(self) -> str:
        counts = self._counts(np.ones(len(self.frame), np.bool_))
        each = ", ".join(f"{counts[name]} {name}" for name in self._verdicts if counts[name])
        return (
            f"{counts['refused']} refused of {counts['people']} people: {each or 'nobody'} "
            f"(bar {self.bar:.3f})"
        )

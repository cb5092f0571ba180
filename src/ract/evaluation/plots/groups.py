"""A metric by group, drawn with its intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract.evaluation.metrics import recourse_report
from ract.evaluation.plots.style import LINE, QUIET, Display


class GroupDisplay(Display):
    """One metric of a report by group, with intervals, and everyone's as a line.

    Parameters
    ----------
    report : DataFrame
        Of ``ract.evaluation.metrics.recourse_report`` with groups.
    """

    def __init__(self, report: pd.DataFrame) -> None:
        self.report = report

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        groups: Any,
        metric: str = "recourse ratio",
        ax: Any = None,
        **options: Any,
    ) -> GroupDisplay:
        """Measure and draw; options are those of ``ract.evaluation.metrics.recourse_report``."""
        report = recourse_report(model, X, y, groups=groups, **options)
        return cls(report).plot(metric=metric, ax=ax)

    def plot(self, *, metric: str = "recourse ratio", ax: Any = None) -> GroupDisplay:
        """Draw one metric.

        Parameters
        ----------
        metric : str
            Of the report.
        ax : matplotlib axes, optional
            New ones by default.
        """
        rows = self.report[self.report["metric"] == metric]
        if not len(rows):
            known = list(dict.fromkeys(self.report["metric"]))
            raise InvalidSpec(f"metric is {metric!r}; the report has {listing(known, 20)}.")
        groups = rows.iloc[1:]
        ax, place = self._axes(ax, len(groups)), np.arange(len(groups))
        low, high = groups["value"] - groups["low"], groups["high"] - groups["value"]
        ax.errorbar(
            groups["value"], place, xerr=[low.clip(lower=0), high.clip(lower=0)], fmt="o",
            color=LINE, ecolor=LINE, elinewidth=1, capsize=3,
        )  # fmt: skip
        ax.axvline(rows["value"].iloc[0], color=QUIET, lw=1, ls="--", label="everyone")
        sizes = zip(groups["group"], groups["people"], strict=True)
        ax.set_yticks(place, [f"{group} ({n_people:,})" for group, n_people in sizes])
        ax.set(ylim=(len(groups) - 0.5, -0.5), xlabel=metric)
        self._legend()
        return self

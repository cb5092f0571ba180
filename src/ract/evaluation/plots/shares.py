"""Shares of people with their intervals, and promises before a candidate, drawn."""

from __future__ import annotations

from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import Classifier, ColumnLike, TableLike
from ract.evaluation.metrics import recourse_report
from ract.evaluation.metrics.sendable import HAS_PLAN, SENDABLE, Sendable
from ract.evaluation.plots.style import (
    DESIRED,
    GROUPS,
    LINE,
    QUIET,
    RECOURSE,
    UNDESIRED,
    Axes,
    Display,
)


class GroupDisplay(Display):
    """One metric of a report by group, with intervals, and everyone's as a line.

    Parameters
    ----------
    report : DataFrame
        Of ``ract.evaluation.recourse_report`` with groups.
    """

    def __init__(self, report: pd.DataFrame) -> None:
        self.report = report

    @classmethod
    def from_estimator(
        cls,
        model: Classifier,
        X: TableLike,
        y: ColumnLike | None = None,
        *,
        groups: str | ColumnLike,
        metric: str = "recourse ratio",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Measure and draw; options are those of ``ract.evaluation.recourse_report``."""
        report = recourse_report(model, X, y, groups=groups, **options)
        return cls(report).plot(metric=metric, ax=ax)

    def plot(self, *, metric: str = "recourse ratio", ax: Axes | None = None) -> Self:
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
        below, above = groups["value"] - groups["low"], groups["high"] - groups["value"]
        error = [below.clip(lower=0), above.clip(lower=0)]
        style: dict[str, Any] = {"color": LINE, "ecolor": LINE, "elinewidth": 1, "capsize": 3}
        ax.errorbar(groups["value"], place, xerr=error, fmt="o", **style)
        ax.axvline(rows["value"].iloc[0], color=QUIET, lw=1, ls="--", label="everyone")
        sizes = zip(groups["group"], groups["people"], strict=True)
        ax.set_yticks(place, [f"{group} ({n_people:,})" for group, n_people in sizes])
        ax.set(ylim=(len(groups) - 0.5, -0.5), xlabel=metric)
        self._legend()
        return self


class SendableDisplay(Display):
    """Shares of sendable plans and of plans that pass each check, with intervals, by group.

    Parameters
    ----------
    sent : Sendable
    """

    def __init__(self, sent: Sendable) -> None:
        self.sent = sent

    @classmethod
    def from_sendable(cls, sent: Sendable, *, ax: Axes | None = None) -> Self:
        """Draw what ``ract.evaluation.sendable`` found.

        Parameters
        ----------
        sent : Sendable
        ax : matplotlib axes, optional

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from ract.evaluation.metrics import sendable
        >>> from ract.models.examples import loans_forest
        >>> model, loans = loans_forest(300)
        >>> sent = sendable(model, loans.frame)
        >>> SendableDisplay.from_sendable(sent, ax=Figure().subplots()).ax_.get_xlabel()
        'share'
        """
        return cls(sent).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        """Draw one row per share: of the refused above the line, of those with a plan below it."""
        table, names = self.sent.metrics, [SENDABLE, HAS_PLAN, *self.sent.checks]
        groups = list(dict.fromkeys(table["group"]))
        for k, group in enumerate(groups):
            rows = table[table["group"] == group].set_index("metric").loc[names]
            place = np.arange(len(names)) + 0.12 * (k - (len(groups) - 1) / 2)
            error = np.nan_to_num([rows["value"] - rows["low"], rows["high"] - rows["value"]])
            colour = LINE if k == 0 else GROUPS[k % len(GROUPS)]
            label = f"{group} ({int(rows['people'].iloc[0]):,} refused)"
            value, error = rows["value"], np.clip(error, 0, None)
            ax.errorbar(value, place, xerr=error, fmt="o", capsize=3, color=colour, label=label)
        ax.axhline(1.5, color=QUIET, lw=0.8)
        ax.axhspan(-0.5, 0.5, color=DESIRED, alpha=0.12, lw=0)
        ax.set_yticks(range(len(names)), [*names[:2], *(f"plan: {c}" for c in names[2:])])
        ax.set(xlim=(0, 1.02), ylim=(len(names) - 0.5, -0.5), xlabel="share")
        ax.set_title("Plans that can be sent as they are")
        self._percent(ax.xaxis)
        self._legend()


class _Checked(Protocol):
    @property
    def table(self) -> pd.DataFrame: ...


class PromisesDisplay(Display):
    """Which open promises a candidate keeps or breaks, and by how much.

    Parameters
    ----------
    table : DataFrame
        That of ``ract.apps.ledger.check``.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_check(cls, check: _Checked, *, ax: Axes | None = None) -> Self:
        """Draw what was checked.

        Parameters
        ----------
        check : ract.apps.ledger.Check
        ax : matplotlib axes, optional
        """
        return cls(check.table).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        """Draw a line for each promise, from what the decision asks for to what the plan wins."""
        table = self.table.sort_values(["strength", "verdict"])
        strength, needed = table["strength"].to_numpy(float), table["needed"].to_numpy(float)
        asks = np.where(np.isnan(needed), 0, needed)  # leaves of a single tree decide by label
        verdict, refused = table["verdict"].to_numpy(), ~table["accepted"].to_numpy(bool)
        place = np.arange(1, len(table) + 1)
        kinds = [
            (verdict == "kept", DESIRED, "o", "kept"),
            ((verdict == "broken") & refused, UNDESIRED, "X", "broken: the plan is refused"),
            ((verdict == "broken") & ~refused, RECOURSE, "v", "broken: doing more is refused"),
            (verdict == "unknown", QUIET, "s", "not proved"),
        ]
        for shown, colour, marker, words in kinds:
            if shown.any():
                ax.vlines(place[shown], asks[shown], strength[shown], color=colour, lw=1.5)
                label = f"{words} ({shown.sum():,})"
                ax.plot(place[shown], strength[shown], marker, color=colour, ms=5, label=label)
        if len(table) and not np.isnan(needed[0]):
            ax.axhline(needed[0], color=LINE, lw=1, ls="--", label="needed to be accepted")
        n, n_kept = len(table), int((verdict == "kept").sum())
        ax.set_title(f"{n:,} open promises: {n_kept:,} kept, {n - n_kept:,} by exception")
        ax.set(xlabel="promises, by strength", ylabel="what the plan wins")
        ax.set(xlim=(0, n + 1), ylim=(-0.02, 1.02))
        ax.locator_params(axis="x", integer=True)
        if n:  # below, where no promise is drawn
            self._legend_below(2)

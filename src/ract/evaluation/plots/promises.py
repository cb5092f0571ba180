"""Open promises before a candidate, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ract.evaluation.plots.style import DESIRED, LINE, QUIET, RECOURSE, UNDESIRED, Display


class PromisesDisplay(Display):
    """What a candidate makes of each open promise: kept, or broken and by how much.

    Parameters
    ----------
    table : DataFrame
        That of ``ract.apps.ledger.check``.
    """

    def __init__(self, table: pd.DataFrame) -> None:
        self.table = table

    @classmethod
    def from_check(cls, check: Any, *, ax: Any = None) -> PromisesDisplay:
        """Draw what was checked.

        Parameters
        ----------
        check : ract.apps.ledger.Check
        ax : matplotlib axes, optional
        """
        return cls(check.table).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PromisesDisplay:
        """Draw one line for each promise, from what the decision asks for to what the plan wins.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        ax, table = self._axes(ax), self.table.sort_values(["strength", "verdict"])
        strength = table["strength"].to_numpy(float)
        needed = table["needed"].to_numpy(float)
        asks = np.where(np.isnan(needed), 0, needed)  # leaves of a single tree decide by label
        verdict, refused = table["verdict"].to_numpy(), ~table["accepted"].to_numpy(bool)
        place = np.arange(1, len(table) + 1)
        kinds = [
            (verdict == "kept", DESIRED, "o", "kept"),
            ((verdict == "broken") & refused, UNDESIRED, "X", "broken: the plan is refused"),
            ((verdict == "broken") & ~refused, RECOURSE, "v", "broken: doing more is refused"),
            (verdict == "unknown", QUIET, "s", "not proved"),
        ]
        for some, colour, marker, words in kinds:
            if some.any():
                ax.vlines(place[some], asks[some], strength[some], color=colour, lw=1.5)
                label = f"{words} ({some.sum():,})"
                ax.plot(place[some], strength[some], marker, color=colour, ms=5, label=label)
        if len(table) and not np.isnan(needed[0]):
            ax.axhline(needed[0], color=LINE, lw=1, ls="--", label="needed to be accepted")
        n_kept = int((verdict == "kept").sum())
        title = (
            f"{len(table):,} open promises: {n_kept:,} kept, {len(table) - n_kept:,} by exception"
        )
        ax.set(xlabel="promises, by strength", ylabel="what the plan wins", title=title)
        ax.set_xlim(0, len(table) + 1)
        ax.set_ylim(-0.02, 1.02)
        ax.locator_params(axis="x", integer=True)
        if len(table):  # below, where no promise is drawn
            ax.legend(
                loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False, fontsize=8
            )
        return self

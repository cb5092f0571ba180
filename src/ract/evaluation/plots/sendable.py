"""How many plans can be sent, and what keeps the others back, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract.evaluation.metrics.sendable import HAS_PLAN, SENDABLE, Sendable
from ract.evaluation.plots.style import DESIRED, GROUPS, LINE, QUIET, Display


class SendableDisplay(Display):
    """Shares of sendable plans and of plans that pass each check, with intervals, by group.

    Parameters
    ----------
    sent : Sendable
    """

    def __init__(self, sent: Sendable) -> None:
        self.sent = sent

    @classmethod
    def from_sendable(cls, sent: Sendable, *, ax: Any = None) -> SendableDisplay:
        """Draw what ``ract.evaluation.metrics.sendable`` found.

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

    def plot(self, *, ax: Any = None) -> SendableDisplay:
        """Draw one row per share: of the refused above the line, of those with a plan below it.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        ax, table = self._axes(ax), self.sent.metrics
        names = [SENDABLE, HAS_PLAN, *self.sent.checks]
        groups = list(dict.fromkeys(table["group"]))
        for k, group in enumerate(groups):
            rows = table[table["group"] == group].set_index("metric").loc[names]
            place = np.arange(len(names)) + 0.12 * (k - (len(groups) - 1) / 2)
            error = [rows["value"] - rows["low"], rows["high"] - rows["value"]]
            ax.errorbar(
                rows["value"], place, xerr=np.clip(np.nan_to_num(error), 0, None), fmt="o",
                capsize=3, color=LINE if k == 0 else GROUPS[k % len(GROUPS)],
                label=f"{group} ({int(rows['people'].iloc[0]):,} refused)",
            )  # fmt: skip
        ax.axhline(1.5, color=QUIET, lw=0.8)
        ax.axhspan(-0.5, 0.5, color=DESIRED, alpha=0.12, lw=0)
        ax.set_yticks(range(len(names)), [*names[:2], *(f"plan: {c}" for c in names[2:])])
        ax.set(
            xlim=(0, 1.02), ylim=(len(names) - 0.5, -0.5), xlabel="share",
            title="Plans that can be sent as they are",
        )  # fmt: skip
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        self._legend()
        return self

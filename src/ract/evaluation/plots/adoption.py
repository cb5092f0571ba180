"""What becomes of plans when many people follow them, drawn."""

from __future__ import annotations

from typing import Any

from ract.evaluation.adoption import AdoptionCurve
from ract.evaluation.plots.style import LINE, UNDESIRED, Display


class AdoptionDisplay(Display):
    """Plans that hold and the bad rate of the accepted, by the share of people who act.

    Parameters
    ----------
    curve : AdoptionCurve
    """

    def __init__(self, curve: AdoptionCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(cls, curve: AdoptionCurve, *, ax: Any = None) -> AdoptionDisplay:
        """Draw what ``ract.evaluation.simulate_adoption`` found.

        Parameters
        ----------
        curve : AdoptionCurve
        ax : matplotlib axes, optional

        Examples
        --------
        >>> import pandas as pd
        >>> from matplotlib.figure import Figure
        >>> rows = [(0.0, 50, 0, 0.9, 0.7, 0.2, 0.0), (1.0, 50, 50, 0.8, 0.9, 0.3, 0.0)]
        >>> names = ["share", "plans", "adopters", "holds", "approval rate", "bad rate", "cut"]
        >>> curve = AdoptionCurve(pd.DataFrame(rows, columns=names), 0.9)
        >>> AdoptionDisplay.from_curve(curve, ax=Figure().subplots()).ax_.get_xlabel()
        'share of people with plans who follow them'
        """
        return cls(curve).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> AdoptionDisplay:
        """Draw, with intervals of the plans that hold.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        ax, table = self._axes(ax), self.curve.to_frame()
        x, y = table["share"], table["holds"]
        ax.errorbar(
            x, y, yerr=[y - table["low"], table["high"] - y], fmt="o-", color=LINE, capsize=3,
            label="plans that hold after training again",
        )  # fmt: skip
        ax.plot(x, table["bad rate"], "s-", color=UNDESIRED, label="bad rate of the accepted")
        ax.set(
            xlabel="share of people with plans who follow them", ylabel="share",
            title="When many people act", ylim=(0, 1.02),
        )  # fmt: skip
        self._legend()
        return self

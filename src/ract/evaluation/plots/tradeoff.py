"""The trade-off between accuracy and recourse, drawn."""

from __future__ import annotations

from typing import Any

from ract.evaluation.plots.style import LINE, QUIET, RECOURSE, Display
from ract.evaluation.tradeoff import TradeoffCurve, tradeoff_curve


class TradeoffDisplay(Display):
    """AUC against recourse along the values of a parameter, the Pareto front marked.

    Parameters
    ----------
    curve : TradeoffCurve
    """

    def __init__(self, curve: TradeoffCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(
        cls, curve: TradeoffCurve, *, ax: Any = None, score: str = "AUC"
    ) -> TradeoffDisplay:
        """Draw a curve that was measured.

        Parameters
        ----------
        curve : TradeoffCurve
        ax : matplotlib axes, optional
        score : {"AUC", "accuracy"}
        """
        return cls(curve).plot(ax=ax, score=score)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, score: str = "AUC", **options: Any
    ) -> TradeoffDisplay:
        """Measure and draw; options are those of ``ract.evaluation.tradeoff.tradeoff_curve``."""
        return cls.from_curve(tradeoff_curve(estimator, X, y, **options), ax=ax, score=score)

    def plot(self, *, ax: Any = None, score: str = "AUC") -> TradeoffDisplay:
        """Draw with standard errors over folds.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        score : {"AUC", "accuracy"}
            On the vertical axis.
        """
        ax, table = self._axes(ax), self.curve.to_frame()
        x, y = table["recourse"], table[score]
        ax.errorbar(
            x, y, xerr=table["recourse error"], yerr=table[f"{score} error"], fmt="o-",
            color=LINE, ecolor=QUIET, elinewidth=0.8, lw=1, ms=5, zorder=2,
        )  # fmt: skip
        front = table["front"]
        ax.plot(
            x[front], y[front], "o", ms=10, mfc="none", mec=RECOURSE, mew=2, zorder=3,
            label="nothing better in both",
        )  # fmt: skip
        for value, at_x, at_y in zip(table[self.curve.param], x, y, strict=True):
            text = f"{value:.3g}" if isinstance(value, (int, float)) else str(value)
            ax.annotate(text, (at_x, at_y), (4, 5), textcoords="offset points", fontsize=8)
        title = f"{self.curve.param.replace('_', ' ')}: {score} and recourse"
        ax.set(xlabel="recourse ratio", ylabel=score, title=title)
        self._legend()
        return self

"""Accuracy, outcomes and lasting plans against recourse, drawn."""

from __future__ import annotations

from typing import Any, Self

from ract._utils.typing import ColumnLike, Label, TableLike
from ract.data.groups import EVERYONE
from ract.evaluation.adoption import AdoptionCurve
from ract.evaluation.lending import PLAIN, TODAY, Book
from ract.evaluation.plots.style import DESIRED, LINE, QUIET, RECOURSE, UNDESIRED, Axes, Display
from ract.evaluation.tradeoff import TradeoffCurve, tradeoff_curve
from ract.models.base import RecourseClassifierMixin

_COLOURS = {
    TODAY: LINE,
    PLAIN: QUIET,
    "cheapest": UNDESIRED,
    "sendable": RECOURSE,
    "strongest": DESIRED,
    "earned": "#7a5c99",
}


class AdoptionDisplay(Display):
    """Plans that hold and the bad rate of the accepted, by the share of people who act.

    Parameters
    ----------
    curve : AdoptionCurve
    """

    def __init__(self, curve: AdoptionCurve) -> None:
        self.curve = curve

    @classmethod
    def from_curve(cls, curve: AdoptionCurve, *, ax: Axes | None = None) -> Self:
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

    def _draw(self, ax: Axes) -> None:
        """Draw both curves, with intervals of the plans that hold."""
        table = self.curve.to_frame()
        x, y = table["share"], table["holds"]
        error = [y - table["low"], table["high"] - y]
        label = "plans that hold after retraining"
        ax.errorbar(x, y, yerr=error, fmt="o-", color=LINE, capsize=3, label=label)
        ax.plot(x, table["bad rate"], "s-", color=UNDESIRED, label="bad rate of the accepted")
        ax.set(xlabel="share of people with plans who follow them", ylim=(0, 1.02))
        ax.set(ylabel="share of plans, or of the accepted")
        ax.set_title("When many people act and the model is retrained")
        self._percent(ax.xaxis, ax.yaxis)
        self._legend()


class BookDisplay(Display):
    """Bad rate against approval rate, today and once everyone follows their plan.

    Parameters
    ----------
    book : Book
    group : label, optional
        The group to draw; everyone by default.
    """

    def __init__(self, book: Book, group: Label = EVERYONE) -> None:
        self.book, self.group = book, group

    @classmethod
    def from_book(cls, book: Book, *, group: Label = EVERYONE, ax: Axes | None = None) -> Self:
        """Draw what ``ract.evaluation.book`` found.

        Parameters
        ----------
        book : Book
        group : label, optional
        ax : matplotlib axes, optional

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from ract import OutcomeJudge
        >>> from ract.evaluation import book
        >>> from ract.models.examples import loans_forest
        >>> model, loans = loans_forest(500)
        >>> judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame, loans.target)
        >>> found = book(model, loans.frame, loans.target, judge, plans=["cheapest"])
        >>> BookDisplay.from_book(found, ax=Figure().subplots()).ax_.get_ylabel()
        'bad rate of the accepted'
        """
        return cls(book, group).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        """Draw pools with intervals of the bad rate, arrows from today, and where profit ends."""
        today = self.book.row(TODAY, self.group)
        start = (today["approval rate"], today["bad rate"])
        pools = self.book.table[self.book.table["group"] == self.group]
        for row in pools.to_dict("records"):
            name, x, y = row["pool"], row["approval rate"], row["bad rate"]
            followed, colour = name not in (TODAY, PLAIN), _COLOURS[name]
            if followed:
                arrow = {"arrowstyle": "->", "color": colour, "lw": 1}
                ax.annotate("", (x, y), start, arrowprops=arrow)
            label = f"all follow {name} plans" if followed else name
            label += f": {x:.0%} approved, {y:.0%} bad"
            if "profit" in row:
                label += f", profit {row['profit']:.1f} per 100 people"
            error = [[y - row["bad rate low"]], [row["bad rate high"] - y]]
            style: dict[str, Any] = {"color": colour, "ms": 7, "capsize": 3, "zorder": 3}
            ax.errorbar(x, y, error, fmt="s" if name == PLAIN else "o", label=label, **style)
        margin, loss = self.book.margin, self.book.loss
        if margin is not None and loss is not None and margin + loss > 0:
            label = "above: a loan loses money on average"
            ax.axhline(margin / (margin + loss), color=QUIET, lw=1, ls="--", label=label)
        ax.set(xlabel="people approved", ylabel="bad rate of the accepted")
        ax.set_title("The book, before and after people act")
        self._percent(ax.xaxis, ax.yaxis)
        ax.set_ylim(bottom=0)
        self._legend_below(1)


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
        cls, curve: TradeoffCurve, *, ax: Axes | None = None, score: str = "AUC"
    ) -> Self:
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
        cls,
        estimator: RecourseClassifierMixin,
        X: TableLike,
        y: ColumnLike,
        *,
        ax: Axes | None = None,
        score: str = "AUC",
        **options: Any,
    ) -> Self:
        """Measure and draw; options are those of ``ract.evaluation.tradeoff_curve``."""
        return cls.from_curve(tradeoff_curve(estimator, X, y, **options), ax=ax, score=score)

    def plot(self, *, ax: Axes | None = None, score: str = "AUC") -> Self:
        """Draw with standard errors over folds.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        score : {"AUC", "accuracy"}
            On the vertical axis.
        """
        ax, table = self._axes(ax), self.curve.to_frame()
        x, y, front = table["recourse"], table[score], table["front"]
        y_error, x_error = table[f"{score} error"], table["recourse error"]
        line: dict[str, Any] = {"ecolor": QUIET, "elinewidth": 0.8, "lw": 1, "ms": 5, "zorder": 2}
        ax.errorbar(x, y, y_error, x_error, fmt="o-", color=LINE, **line)
        ring: dict[str, Any] = {"ms": 10, "mfc": "none", "mec": RECOURSE, "mew": 2, "zorder": 3}
        ax.plot(x[front], y[front], "o", label="Pareto front", **ring)
        for value, at_x, at_y in zip(table[self.curve.param], x, y, strict=True):
            text = f"{value:.3g}" if isinstance(value, (int, float)) else str(value)
            ax.annotate(text, (at_x, at_y), (4, 5), textcoords="offset points", fontsize=8)
        title = f"{self.curve.param.replace('_', ' ')}: {score} and recourse"
        ax.set(xlabel="recourse ratio", ylabel=score, title=title)
        self._legend()
        return self

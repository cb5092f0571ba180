"""What recourse does to a lender's book, drawn."""

from __future__ import annotations

from typing import Any

from ract.data.group_sums import EVERYONE
from ract.evaluation.lending import PLAIN, TODAY, Book
from ract.evaluation.plots.style import DESIRED, LINE, QUIET, RECOURSE, UNDESIRED, Display

_COLOURS = {
    TODAY: LINE, PLAIN: QUIET, "cheapest": UNDESIRED, "sendable": RECOURSE, "strongest": DESIRED,
    "earned": "#7a5c99",
}  # fmt: skip


class BookDisplay(Display):
    """Bad rate against approval rate, today and once everyone follows their plan.

    Parameters
    ----------
    book : Book
    group : label, optional
        Of whom; everyone by default.
    """

    def __init__(self, book: Book, group: Any = EVERYONE) -> None:
        self.book, self.group = book, group

    @classmethod
    def from_book(cls, book: Book, *, group: Any = EVERYONE, ax: Any = None) -> BookDisplay:
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

    def plot(self, *, ax: Any = None) -> BookDisplay:
        """Draw, with intervals of the bad rate, arrows from today, and where profit ends.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        ax, found = self._axes(ax), self.book
        today = found.row(TODAY, self.group)
        start = (today["approval rate"], today["bad rate"])
        for _, row in found.table[found.table["group"] == self.group].iterrows():
            name, x, y = row["pool"], row["approval rate"], row["bad rate"]
            colour = _COLOURS[name]
            if name not in (TODAY, PLAIN):
                ax.annotate(
                    "", (x, y), start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1}
                )
            words = name if name in (TODAY, PLAIN) else f"all follow {name} plans"
            label = f"{words}: {x:.0%} approved, {y:.0%} bad"
            if "profit" in row:
                label += f", profit {row['profit']:.1f}"
            error = [[y - row["bad rate low"]], [row["bad rate high"] - y]]
            marker = "s" if name == PLAIN else "o"
            ax.errorbar(
                x, y, yerr=error, fmt=marker, color=colour, ms=7, capsize=3, label=label, zorder=3
            )
        margin, loss = found.margin, found.loss
        if margin is not None and loss is not None and margin + loss > 0:
            ax.axhline(
                margin / (margin + loss), color=QUIET, lw=1, ls="--",
                label="above: a loan loses money on average",
            )  # fmt: skip
        ax.set(
            xlabel="people approved", ylabel="bad rate of the accepted",
            title="The book, before and after people act",
        )  # fmt: skip
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda value, _: f"{value:.0%}")
        ax.set_ylim(bottom=0)
        ax.legend(
            loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=1, frameon=False, fontsize=8
        )
        return self

"""What drawings share: colours, axes, and matplotlib when it is there."""

from __future__ import annotations

import math
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ract._utils.errors import how_to_install

if TYPE_CHECKING:
    import matplotlib.axes

Axes: TypeAlias = "matplotlib.axes.Axes"
DESIRED, UNDESIRED, RECOURSE, SPLIT = "#4c9f70", "#c9624f", "#e0b13a", "#f4f4f0"
LINE, QUIET = "#2f5d8a", "#9a9a94"
GROUPS = ("#7a5c99", "#c9624f", "#4c9f70", "#e0b13a", "#5aa0b8")


def pyplot() -> ModuleType:
    """Matplotlib's pyplot, or what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"Drawing needs matplotlib: {how_to_install('plot')}.") from None
    return plt


class Display:
    """A drawing: its axes are in ``ax_`` and its figure in ``figure_`` once it was drawn."""

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        self._draw(self._axes(ax))
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def _axes(self, ax: Axes | None, rows: int | None = None) -> Axes:
        """The axes of the caller, or new ones, high enough for a number of rows."""
        if ax is None:
            size = None if rows is None else (6.4, 1.3 + 0.65 * rows)
            ax = pyplot().subplots(layout="constrained", figsize=size)[1]
        self.ax_: Axes = ax
        self.figure_ = ax.figure
        return ax

    def _mark_budget(self, budget: float, label: str = "budget") -> None:
        """Draw the budget as a line, if it is finite."""
        if math.isfinite(budget):
            self.ax_.axvline(budget, color=RECOURSE, lw=1.5, ls="--", label=label)
            self._legend()

    def _percent(self, *axes: Any) -> None:
        """Write the ticks of axes as percentages."""
        for axis in axes:
            axis.set_major_formatter(lambda value, _: f"{value:.0%}")

    def _legend(self) -> None:
        self.ax_.legend(loc="best", frameon=False, fontsize=8)

    def _legend_below(self, n_columns: int) -> None:
        style: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.14)}
        self.ax_.legend(ncols=n_columns, frameon=False, fontsize=8, **style)

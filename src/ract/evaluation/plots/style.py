"""What drawings share: colours, axes, and matplotlib when it is there."""

from __future__ import annotations

import math
from typing import Any

from ract._utils.errors import how_to_install

DESIRED, UNDESIRED, RECOURSE, SPLIT = "#4c9f70", "#c9624f", "#e0b13a", "#f4f4f0"
LINE, QUIET = "#2f5d8a", "#9a9a94"
GROUPS = ("#7a5c99", "#c9624f", "#4c9f70", "#e0b13a", "#5aa0b8")


def pyplot() -> Any:
    """Matplotlib's pyplot, or what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"Drawing needs matplotlib: {how_to_install('plot')}.") from None
    return plt


class Display:
    """Axes to draw on, kept in ``ax_`` and ``figure_``."""

    def _axes(self, ax: Any, rows: int | None = None) -> Any:
        """Those that are given, or new ones, as high as the rows need that they show."""
        if ax is None:
            size = None if rows is None else (6.4, 1.3 + 0.65 * rows)
            ax = pyplot().subplots(layout="constrained", figsize=size)[1]
        self.ax_ = ax
        self.figure_ = self.ax_.figure
        return self.ax_

    def _mark_budget(self, budget: float, label: str = "budget") -> None:
        """Draw the budget as a line, if there is one."""
        if math.isfinite(budget):
            self.ax_.axvline(budget, color=RECOURSE, lw=1.5, ls="--", label=label)
            self._legend()

    def _legend(self) -> None:
        self.ax_.legend(loc="best", frameon=False, fontsize=8)

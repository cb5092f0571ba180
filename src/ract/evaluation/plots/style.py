"""What drawings share: colours, axes, and matplotlib when it is there."""

from __future__ import annotations

import math
from typing import Any

from ract._utils.errors import how_to_install

DESIRED, UNDESIRED, RECOURSE, SPLIT = "#4c9f70", "#c9624f", "#e0b13a", "#f4f4f0"
LINE, QUIET = "#2f5d8a", "#9a9a94"


def pyplot() -> Any:
    """Matplotlib's pyplot, or what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError(f"Drawing needs matplotlib: {how_to_install('plot')}.") from None
    return plt


class Display:
    """Axes to draw on, kept in ``ax_`` and ``figure_``."""

    def _axes(self, ax: Any) -> Any:
        self.ax_ = pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_

    def _mark_budget(self, budget: float, label: str = "budget") -> None:
        """Draw the budget as a line, if there is one."""
        if math.isfinite(budget):
            self.ax_.axvline(budget, color=RECOURSE, lw=1.5, ls="--", label=label)
            self._legend()

    def _legend(self) -> None:
        self.ax_.legend(loc="best", frameon=False, fontsize=8)

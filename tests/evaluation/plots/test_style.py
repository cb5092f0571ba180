"""What displays share."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np

from ract.evaluation.plots import (
    CostDisplay,
)

mpl.use("Agg")


def test_displays_make_axes_of_their_own(forest, loans):
    display = CostDisplay(np.array([0.1, 0.2]), 0.3).plot()
    assert display.figure_ is display.ax_.figure
    mpl.pyplot.close(display.figure_)

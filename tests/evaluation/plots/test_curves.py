"""Displays of curves: what is drawn is what was measured."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np

from ract import RecourseTreeClassifier
from ract.evaluation.plots import (
    TradeoffDisplay,
)
from ract.evaluation.tradeoff import tradeoff_curve

mpl.use("Agg")


def test_the_trade_off_marks_the_front(loans, ax):
    tree = RecourseTreeClassifier(loans.actions, max_depth=4)
    curve = tradeoff_curve(tree, loans.frame, loans.target, values=[0.0, 0.1, 1.0], cv=2)
    TradeoffDisplay.from_curve(curve, ax=ax)
    table = curve.to_frame()
    front = next(line for line in ax.lines if line.get_label().startswith("Pareto front"))
    np.testing.assert_allclose(front.get_ydata(), table["AUC"][table["front"]])
    assert [text.get_text() for text in ax.texts] == ["0", "0.1", "1"]
    display = TradeoffDisplay.from_estimator(
        tree, loans.frame, loans.target, values=[0.0], cv=2, score="accuracy", ax=ax
    )
    assert display.ax_.get_ylabel() == "accuracy"

"""The first recipe of CONTRIBUTING.md, a cost of one's own, done step by step."""

from dataclasses import dataclass

import numpy as np

from ract import RecourseForestClassifier, load_loans
from ract.data import LevelCost, make_cost
from ract.data.costs import named


@dataclass(frozen=True)
class SquareRootCost:
    """Effort as the difference of square roots of shifted values: large amounts count less."""

    def fit(self, columns, weights, sample_weight=None):
        """Knots are the different values, levels their square roots."""
        knots = [np.unique(np.asarray(column, dtype=np.float64)) for column in columns]
        levels = [w * np.sqrt(k - k[0]) for k, w in zip(knots, weights, strict=True)]
        return LevelCost("max", tuple(knots), tuple(levels))


def test_a_cost_of_ones_own_trains_a_model_and_finds_plans(monkeypatch):
    monkeypatch.setitem(named._NAMED, "square-root", SquareRootCost())
    assert make_cost("square-root") == SquareRootCost()
    loans = load_loans(300)
    forest = RecourseForestClassifier(
        loans.actions, cost="square-root", budget=60.0, n_estimators=5, random_state=0
    ).fit(loans.frame, loans.target)
    plans = forest.recourse(loans.frame.head(40))
    assert plans.found.any()
    rows = np.flatnonzero(plans.found)
    before, after = plans.before[rows], plans.after[rows]
    levels = [
        np.abs(np.interp(after[:, j], k, v) - np.interp(before[:, j], k, v))
        for j, (k, v) in enumerate(zip(forest.cost_.knots, forest.cost_.levels, strict=True))
    ]
    np.testing.assert_allclose(np.max(levels, axis=0), plans.cost[rows], atol=1e-9)
    assert (plans.cost[rows] <= 60.0 * (1 + 1e-9)).all()

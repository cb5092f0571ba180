"""OCEAN's explainer by constraint programming, asked the question that ``bench_peers.py`` asks.

OCEAN (``pip install oceanpy``, Python 3.12 or newer) reads forests of scikit-learn and XGBoost; it
is handed all models as trees that ract has read, as treecf is. Its own l1 adds up plain differences
of columns: it knows no units, bounds, directions, fixed features, or whole numbers with a unit. So
each interval between thresholds is given its price in ours, and closed if the person cannot go
there. Tree encoding, search and proof are OCEAN's. One thread: eight took 2 to 3 times as much of
the processor for people 20 to 23 of COMPAS and Credit with XGBoost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from ocean.abc import Mapper
from ocean.cp import ENV, Explainer, Model
from ocean.feature import Feature
from ocean.tree import Node, Tree
from ortools.sat.python.cp_model import Domain

from ract.data.grid import sharp
from ract.recourse.common.problem import CellProblem


def ocean_trees(trees: Any, threshold: np.ndarray) -> tuple[Tree, ...]:
    """An ensemble's trees; the first of two classes wins if they add up to 0 or more."""
    votes = trees.combine == "votes"
    worth = (
        trees.label if votes else trees.value / (trees.n_trees if trees.combine == "mean" else 1)
    )
    needed = float(trees.cutoff) - (0.0 if votes else float(trees.base))

    def grown(node: int, root: int) -> Node:
        if trees.feature[node] < 0:
            part = needed / trees.n_trees
            return Node(int(node - root), value=np.array([[float(worth[node]) - part, 0.0]]))
        return Node(
            int(node - root),
            feature=int(trees.feature[node]),
            threshold=float(threshold[node]),
            left=grown(trees.left[node], root),
            right=grown(trees.right[node], root),
        )

    return tuple(Tree(grown(root, root)) for root in trees.root)


class Priced(Explainer):  # type: ignore[misc]
    """OCEAN's explainer of trees that are read already, asked for given prices of intervals."""

    def __init__(self, trees: tuple[Tree, ...], levels: list[np.ndarray]) -> None:
        columns = range(len(levels))
        kinds = {j: Feature(Feature.Type.CONTINUOUS, levels=levels[j]) for j in columns}
        Model.__init__(self, trees, mapper=Mapper(kinds, columns=pd.Index(columns)))
        self.build()
        self.solver = ENV.solver

    def cheapest(
        self, person: np.ndarray, prices: list[np.ndarray], seconds: float
    ) -> tuple[np.ndarray | None, bool]:
        """The interval of each column, if there is a plan, and whether that is proved."""
        for j, price in enumerate(prices):
            open_ = Domain.from_values(np.flatnonzero(np.isfinite(price)).tolist())
            domain = self.vget(j).Proto().domain
            domain[:] = []
            domain.extend(open_.flattened_intervals())
        self._prices = iter(prices)
        found = self.explain(person, y=0, norm=1, max_time=seconds, num_workers=1)
        proved = self.get_solving_status() in ("OPTIMAL", "INFEASIBLE")
        if found is None:
            return None, proved
        return np.array([self.solver.value(self.vget(j)) for j in range(len(prices))]), proved

    def get_intervals_cost(self, *_: Any, **__: Any) -> list[int]:
        """Prices of the next column, in the explainer's units; closed intervals have none."""
        price = next(self._prices)
        return [int(one * self._obj_scale) if np.isfinite(one) else 0 for one in price]


class Ocean:
    """OCEAN's answers for the people of a case."""

    def __init__(self, case: Any, seconds: float) -> None:
        question = case.question
        self.case, self.seconds = case, seconds
        self.problem = CellProblem(question.goal, case.axes, question.cost)
        goal, threshold = question.goal, question.goal.threshold.copy()
        for axis in case.axes:
            if not axis.is_categorical:
                at = goal.feature == axis.columns[0]
                threshold[at] = sharp(axis, threshold[at])
        self.levels = []
        for j, column in enumerate(np.concatenate([question.known, question.matrix]).T):
            cuts = np.unique(threshold[goal.feature == j])
            ends = np.append(cuts, column)
            self.levels.append(np.concatenate([[ends.min() - 1], cuts, [ends.max() + 1]]))
        self.explainer = Priced(ocean_trees(goal, threshold), self.levels)

    def solve(self, i: int) -> tuple[float, bool]:
        """Cost of the plan that is returned, by our own cost, and whether it is proved."""
        row = self.case.question.matrix[i : i + 1]
        own = self.problem.cells(row)
        costs = self.problem.costs(row, own)[0]
        prices: list[np.ndarray] = [np.zeros(1)] * row.shape[1]
        for a, axis in enumerate(self.problem.grid.axes):
            if not axis.is_categorical:
                prices[axis.columns[0]] = costs[a, : self.problem.grid.n_cells[a]]
                continue
            for j in axis.columns:  # categories stay
                prices[j] = np.full(len(self.levels[j]) - 1, np.inf)
                prices[j][np.searchsorted(self.levels[j][1:-1], row[0, j])] = 0.0
        point, proved = self.explainer.cheapest(row[0], prices, self.seconds)
        if point is None:
            return np.inf, proved
        to = own[0].copy()
        for a, axis in enumerate(self.problem.grid.axes):
            if not axis.is_categorical:
                to[a] = point[axis.columns[0]]
        after = self.problem.values_of(row[0], own[0], to)[None]
        if not self.problem.ensemble.decide(after)[0]:
            return np.inf, False
        return float(self.case.question.cost.between(row, after)[0]), proved

"""The hold-outs that the authors tested trees on: their generator, replayed.

They seeded one generator per data set. It makes a hold-out and then its isolation forest; and every
node that is looked at for a split draws an order of all features from it, which changes no tree.
So a hold-out depends on how many nodes all trees before it had: those are grown again here.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from experiments.data import DataSetting
from experiments.paper.grow import Grower, Growth
from experiments.paper.population import Fold, Population
from experiments.paper.settings import RISKS, Experiment
from ract.trees.grower import CellTree


class HoldOuts:
    """The hold-outs of an experiment on a data set, in their order.

    Parameters
    ----------
    population : Population
    experiment : Experiment
        On trees.
    data : DataSetting
    """

    def __init__(self, population: Population, experiment: Experiment, data: DataSetting) -> None:
        self._population, self._experiment, self._data = population, experiment, data
        self._before = [np.random.RandomState(0).get_state(legacy=False)]

    def fold(self, number: int) -> Fold:
        """The hold-out of a number, from 1, with the generator that makes its isolation forest."""
        while len(self._before) < number:
            self._before.append(self._after(self._fold(len(self._before))))
        return self._fold(number)

    def _fold(self, number: int) -> Fold:
        rng = np.random.RandomState()
        rng.set_state(self._before[number - 1])
        train, test = train_test_split(np.arange(len(self._population.matrix)), random_state=rng)
        return Fold(self._population, number, train, test, rng)

    def _after(self, fold: Fold) -> dict[str, Any]:
        """The generator's state once everything was grown on a hold-out."""
        fold.outliers  # noqa: B018  drawn before any tree
        experiment, axes = self._experiment, self._population.separate
        grower = Grower.of(fold)
        actionable = sum(axis.feature.actionable for axis in axes)

        @cache  # without a weight trees are the same for every budget
        def tried(growth: Growth) -> int:
            return nodes_tried(grower.tree(growth).tree, experiment.max_depth)

        for budget in experiment.budgets:
            drawn = [
                (Growth.of(experiment, 0.0, 0.0), len(axes), 1),
                (Growth.of(experiment, 0.0, 0.0, only_actionable=True), actionable, 1),
            ]
            for weight in experiment.weights(self._data):  # grown anew for every risk
                growth = Growth.of(experiment, weight, budget if weight > 0 else 0.0)
                drawn.append((growth, len(axes), len(RISKS)))
            for growth, n_features, times in drawn:
                for _ in range(times * tried(growth)):
                    fold.rng.choice(n_features, n_features, replace=False)
        return fold.rng.get_state(legacy=False)


def nodes_tried(tree: CellTree, max_depth: int) -> int:
    """How many nodes of a tree were looked at for a split: of two classes, above the last level.

    Someone of weight one stands for one person.
    """
    depth = np.zeros(len(tree.axis), np.int64)
    for node in np.flatnonzero(tree.axis >= 0):  # every child comes after its parent
        depth[[tree.left[node], tree.right[node]]] = depth[node] + 1
    return int(((tree.masses[:, :2] > 0).all(axis=1) & (depth < max_depth)).sum())

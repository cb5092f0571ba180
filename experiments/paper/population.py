"""The people of a data set as matrices, as the authors had them, and their folds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import StratifiedKFold

from experiments.paper.margins import authors_margins
from ract.data.actions import ActionSpace, Feature
from ract.data.costs import LevelCost, PercentileCost
from ract.data.datasets import Dataset
from ract.data.effects import CausalEffects
from ract.data.encoder import Axis, Encoder

# Direct effects that are weaker than this count as none, and effects along more arrows than this
# are not added up, in the authors' causal experiments.
WEAKEST_EFFECT, MOST_ARROWS = 0.01, 10


@dataclass(frozen=True, eq=False)
class Population:
    """All people of a data set.

    Parameters
    ----------
    matrix : float (people, columns)
    desired : bool (people,)
        Whose label is the desired one.
    names : tuple of str
        Of the columns.
    separate, grouped : tuple of Axis
        The columns with every one-hot column as a feature of its own, as the authors train, and
        with one-hot groups as one feature each, as they search.
    """

    matrix: np.ndarray
    desired: np.ndarray
    names: tuple[str, ...]
    separate: tuple[Axis, ...]
    grouped: tuple[Axis, ...]

    @classmethod
    def of(cls, data: Dataset) -> Population:
        """Those of a data set, whose columns must be numbers."""
        grouped = Encoder(data.frame, data.actions)
        separate = Encoder(
            data.frame, ActionSpace(_by_column(data.actions), data.desired, limits=None)
        )
        matrix = grouped.matrix(data.frame)
        desired = (data.target == data.desired).to_numpy()
        return cls(matrix, desired, grouped.column_names, separate.axes, grouped.axes)

    def fold(self, n_folds: int, number: int) -> Fold:
        """One of some stratified folds in the order of the people, by its number from 1.

        Each has a generator of its own, which makes its isolation forest.
        """
        folds = StratifiedKFold(n_folds).split(self.matrix, self.desired)
        train, test = list(folds)[number - 1]
        return Fold(self, number, train, test, np.random.RandomState(number - 1))


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test people, and what the training people teach about cost and plausibility.

    The generator makes the isolation forest, when it is first asked for.
    """

    population: Population
    number: int
    train: np.ndarray
    test: np.ndarray
    rng: np.random.RandomState

    @cached_property
    def known(self) -> np.ndarray:
        """The matrix of the training people."""
        return self.population.matrix[self.train]

    @cached_property
    def new(self) -> np.ndarray:
        """The matrix of the test people."""
        return self.population.matrix[self.test]

    @cached_property
    def cost(self) -> LevelCost:
        """The largest shift of a percentile, estimated by kernels."""
        columns = list(self.known.T)
        return PercentileCost("kernel").fit(columns, np.ones(len(columns)))

    @cached_property
    def margins(self) -> np.ndarray:
        """How far beyond the edge of a leaf the authors go, by column."""
        return authors_margins(self.known, self.population.grouped)

    @cached_property
    def outliers(self) -> IsolationForest:
        """Scores how unlike the training people someone is."""
        return IsolationForest(n_estimators=100, random_state=self.rng).fit(self.known)

    def implausibility(self, values: np.ndarray) -> float:
        """Mean outlier score of some rows; 0 if there are none."""
        return float(-self.outliers.score_samples(values).mean()) if len(values) else 0.0

    @cached_property
    def effects(self) -> np.ndarray:
        """Total causal effects (effect, cause), estimated from the training people.

        Among numeric columns: those of a one-hot group determine each other, and what
        DirectLiNGAM would say of them is not defined.
        """
        axes = [axis for axis in self.population.grouped if not axis.is_categorical]
        columns = [axis.columns[0] for axis in axes]
        direct = CausalEffects.estimate(self.known[:, columns]).direct.copy()
        direct[np.abs(direct) < WEAKEST_EFFECT] = 0.0
        total, paths = np.zeros_like(direct), direct
        for _ in range(min(MOST_ARROWS, len(direct))):
            total, paths = total + paths, paths @ direct
        effects = np.zeros((self.known.shape[1],) * 2)
        effects[np.ix_(columns, columns)] = total
        return effects


def _by_column(actions: ActionSpace) -> list[Feature]:
    """Features with one-hot groups taken apart."""
    return [
        part
        for feature in actions
        for part in (
            [Feature(name, "binary", feature.change) for name in feature.columns]
            if feature.columns
            else [feature]
        )
    ]

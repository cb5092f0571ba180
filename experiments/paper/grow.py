"""Trees and forests grown by the rules of the paper's authors.

Splits compete by ``authors_splits`` of the grower's rules; thresholds lie between the values of
each tree's own bootstrap sample; one-hot columns are features of their own; an even vote goes to
the desired class; and who attains a node follows ``authors_reach``, but in their last experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time

import numpy as np

from experiments.paper.population import Fold
from experiments.paper.samples import Column, Sample
from experiments.paper.settings import Experiment
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import CellTree, GrowRules, People, grow_tree


@dataclass(frozen=True)
class Growth:
    """How a tree or a forest is grown; ``authors_reach`` as in the grower's rules."""

    recourse_weight: float
    budget: float
    max_depth: int
    only_actionable: bool = False
    authors_reach: bool = True

    @classmethod
    def of(
        cls, experiment: Experiment, weight: float, budget: float, *, only_actionable: bool = False
    ) -> Growth:
        """How an experiment grows a model."""
        depth, reach = experiment.max_depth, experiment.authors_reach
        return cls(weight, budget, depth, only_actionable, reach)

    def rules(self, n_features: int | None) -> GrowRules:
        """The grower's rules, with so many features at every split (None: all)."""
        return GrowRules(
            recourse_weight=self.recourse_weight,
            criterion="error",
            max_depth=self.max_depth,
            max_features=n_features,
            authors_reach=self.authors_reach,
            authors_splits=True,
        )

    @property
    def reaches(self) -> float | None:
        """The budget, if growing needs to know what people reach."""
        return self.budget if self.recourse_weight > 0 else None


@dataclass(frozen=True)
class Grown:
    """A tree, the people that it was grown on, with their reach, and the tree as a model."""

    tree: CellTree
    people: People
    ensemble: TreeEnsemble

    def relabelled(self, label: np.ndarray) -> TreeEnsemble:
        """The model with other labels."""
        return replace(self.ensemble, label=label)


class Grower:
    """Training people, ready to grow trees on.

    Parameters
    ----------
    matrix : float (people, columns)
    desired : bool (people,)
    axes : sequence of Axis
        One for each column.
    cost : FittedCost
    """

    def __init__(
        self, matrix: np.ndarray, desired: np.ndarray, axes: Sequence[Axis], cost: FittedCost
    ) -> None:
        self._columns = [Column.of(column) for column in matrix.T]
        self._desired = desired.astype(np.uint8)
        self._axes, self._cost = tuple(axes), cost

    @classmethod
    def of(cls, fold: Fold) -> Grower:
        """The training people of a fold, every one-hot column a feature of its own."""
        people = fold.population
        return cls(fold.known, people.desired[fold.train], people.separate, fold.cost)

    def tree(self, growth: Growth, *, with_reach: bool = False) -> Grown:
        """One tree on everyone, with all features at every split; relabelling needs reach."""
        everyone, rows = self._sample(np.arange(len(self._desired))), self._rows(growth)
        people = everyone.people(rows, growth.budget if with_reach else growth.reaches)
        tree = grow_tree(people, np.ones(len(self._desired)), growth.rules(None))
        return Grown(tree, people, everyone.ensemble(tree, rows))

    def forests(
        self, growths: Sequence[Growth], n_trees: int, seed: int
    ) -> list[tuple[TreeEnsemble, float]]:
        """Forests of trees on bootstrap samples, with a few features at every split.

        All forests are grown on the same samples, tree by tree, since most of the time goes into
        making them ready.

        Returns
        -------
        list
            Each forest, and how many seconds it would have taken alone.
        """
        rng, n_people = np.random.default_rng(seed), len(self._desired)
        rows = [self._rows(growth) for growth in growths]
        rules = [
            growth.rules(int(np.sqrt(len(of)))) for growth, of in zip(growths, rows, strict=True)
        ]
        parts: list[list[TreeEnsemble]] = [[] for _ in growths]
        seconds = np.zeros(len(growths))
        for _ in range(n_trees):
            begun = process_time()
            times = np.bincount(rng.integers(n_people, size=n_people), minlength=n_people)
            drawn = np.flatnonzero(times)
            weights, sample = times[drawn].astype(np.float64), self._sample(drawn)
            seconds += process_time() - begun
            for budget in {growth.budget for growth in growths if growth.reaches is not None}:
                begun = process_time()
                sample.reach(budget)
                seconds[[growth.reaches == budget for growth in growths]] += process_time() - begun
            for k, growth in enumerate(growths):
                begun, own = process_time(), int(rng.integers(2**31))
                tree = grow_tree(sample.people(rows[k], growth.reaches), weights, rules[k], own)
                parts[k].append(sample.ensemble(tree, rows[k]))
                seconds[k] += process_time() - begun
        forests = [TreeEnsemble.joined(part, votes_needed=n_trees // 2) for part in parts]
        return list(zip(forests, seconds.tolist(), strict=True))

    def _sample(self, drawn: np.ndarray) -> Sample:
        return Sample(self._columns, self._axes, self._desired, self._cost, drawn)

    def _rows(self, growth: Growth) -> np.ndarray:
        """Which axes may be split on."""
        usable = [axis.feature.actionable or not growth.only_actionable for axis in self._axes]
        return np.flatnonzero(usable)

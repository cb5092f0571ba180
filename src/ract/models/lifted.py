"""Forests whose score is lifted where refused people could truly get to.

Where changes are limited relative to the person and a mean share of leaves is cut, labels decide
nothing, and a weight on recourse that chooses labels hardly moves that share. So trees are grown on
people and, beside them, on points: cells that people below a margin could get to by changing few
features, which count as desired people of a small weight. They come from the replicates and the
focus of ``ract.trees.cooperation``, as those of boosting do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from ract._utils.progress import in_threads
from ract.models.parameters import features_per_split
from ract.trees.advice import Cooperation, Cut, Job, advice
from ract.trees.booster import BoostRules, CellRows
from ract.trees.grower import People
from ract.trees.log_odds import logit
from ract.trees.training import TrainingSet

# The probability to which replicates have to lift a point, and how many features lift it: more let
# trees of two halves of a table lift people in different ones.
STRENGTH, N_FOCUS, N_REPLICATES = 0.82, 3, 6
# The weight of a point beside a person's, for a weight on recourse of 1.
PER_WEIGHT = 1.5
# What constraints on which replicates agree may cost of AUC, and what points may beside them, by
# people whom trees have not seen; and what the weight is multiplied by where it costs more.
MOST_LOST, LESS = 0.005, 0.7
ADVISERS = BoostRules(
    max_leaf_nodes=8, min_samples_leaf=50, l2_regularization=1.0, subsample=0.8, max_features=None
)
MAX_FEATURES = 0.6


@dataclass(frozen=True)
class LiftedPoints:
    """Points that people could get to, of which a tree is grown on one for each.

    Parameters
    ----------
    asked : int (asked,)
        Whose they are.
    cells : unsigned (replicates, asked, axes)
    given, directions : tuple of int
        Constraints by axis, as they were given, and with those on which all replicates agree;
        empty for none.
    scale : float
        What a point of weight 1 counts beside a person who counts 1.
    weight : float
        The weight of a point.
    """

    asked: np.ndarray
    cells: np.ndarray
    given: tuple[int, ...]
    directions: tuple[int, ...]
    scale: float
    weight: float

    @classmethod
    def of(
        cls,
        training: TrainingSet,
        directions: tuple[int, ...],
        cut: Cut,
        seed: int,
        n_jobs: int | None,
    ) -> Self:
        """Those of everyone whom replicates do not see well above the cut."""

        def run(jobs: Sequence[Job]) -> list[Any]:
            return list(in_threads(jobs, n_jobs))

        people, weights = training.people, training.weights
        growing = np.ascontiguousarray(weights.growing)
        rows = CellRows.of(np.ascontiguousarray(people.cells.T), people.desired, growing)
        features = features_per_split(MAX_FEATURES, rows.codes.shape[1])
        rules = replace(ADVISERS, directions=directions, max_features=features)
        asked_for = Cooperation(1.0, logit(STRENGTH), N_REPLICATES, 1, cut, N_FOCUS)
        known = advice(people, rows, rules, asked_for, np.random.RandomState(seed), run=run)
        asked = np.flatnonzero(known.scores < known.cooperation.margin)
        found = run([known.chooser(k, asked) for k in range(N_REPLICATES)])
        scale = float(growing.sum() / weights.people.sum())
        return cls(asked, np.stack(found), directions, known.rules.directions, scale, 0.0)

    def at(self, weight: float) -> Self:
        """The same points with another weight."""
        return replace(self, weight=weight)

    def beside(
        self, people: People, growing: np.ndarray, sample: np.ndarray, seed: int
    ) -> tuple[People, np.ndarray]:
        """The people of a tree and their points after them, and what each of both weighs.

        Parameters
        ----------
        people : People
        growing, sample : float64 (people,)
            Of the people, for errors and as such.
        seed : int
            Of the tree, which says whose replicate's point each person has.
        """
        k = (self.asked + seed) % len(self.cells)
        points = self.cells[k, np.arange(len(self.asked))].T
        cells = np.ascontiguousarray(np.concatenate([people.cells, points], axis=1))
        wanted = np.ones(len(self.asked), people.desired.dtype)
        both = replace(
            people,
            cells=cells,
            lowest=cells,
            highest=cells,
            desired=np.concatenate([people.desired, wanted]),
        )
        lifted = sample[self.asked] * (self.scale * self.weight)
        return both, np.concatenate([growing, lifted])

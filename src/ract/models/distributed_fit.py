"""A forest grown in pieces: its trees are divided among workers, or its people are too.

Whoever grows a tree does so with the code of a local fit; only where it happens differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.models.forest import RecourseForestClassifier
from ract.models.out_of_bag import GrownTree
from ract.models.out_of_core import StoredTable
from ract.models.table import TrainingRows
from ract.recourse.common.problem import check_categories
from ract.trees.training import TrainingSet


def checked(forest: Any) -> RecourseForestClassifier:
    """A forest that can be grown in pieces, its parameters checked."""
    if not isinstance(forest, RecourseForestClassifier):
        raise InvalidSpec(
            f"Workers grow a RecourseForestClassifier, got a {type(forest).__name__}; other models "
            "are trained on one machine."
        )
    forest.check_parameters()
    return forest


def check_reading(forest: RecourseForestClassifier, reading: StoredTable) -> None:
    """Refuse, before anything is grown, what could not be measured afterwards."""
    if forest.oob_score:  # searches
        check_categories(reading.encoder.axes)


def grown(
    forest: RecourseForestClassifier, training: TrainingSet, cut: float | None, seeds: list[int]
) -> list[GrownTree]:
    """The trees of some seeds, grown on these people for a cut of about this height."""
    growth = forest.growth(training, cut)
    return [growth.tree(seed) for seed in seeds]


def finish(
    forest: RecourseForestClassifier,
    reading: StoredTable,
    trees: list[GrownTree],
    in_memory: TrainingRows,
) -> RecourseForestClassifier:
    """The forest of trees that were grown elsewhere, in the order of their seeds.

    What it measures afterwards is measured here, on rows that are in memory.
    """
    by_seed = {one.seed: one for one in trees}
    prepared = reading.prepared(reading.training_on(in_memory), in_memory)
    return forest.fit_grown(prepared, [by_seed[seed] for seed in forest.seeds])


def shares(seeds: list[int], n_shares: int) -> list[list[int]]:
    """Seeds divided as evenly as can be, in their order."""
    return [part.tolist() for part in np.array_split(np.array(seeds), min(n_shares, len(seeds)))]

"""A forest grown in pieces: its trees are divided among workers, or its people are too.

Whoever grows a tree does so with the code of a local fit; only where it happens differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ract._core.grower import CellTree
from ract._parameters import monotonic_directions
from ract._sketch import TableSketch
from ract._streamed import Columns, Kept, Reading, reading_of
from ract._training import TrainingSet
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.forest import RecourseForestClassifier
from ract.recourse.common.problem import check_categories

Grown = list[tuple[CellTree, int, int | None]]

_OF_AN_EARLIER_FIT = (
    "reference_",
    "lasting_",
    "oob_score_",
    "oob_decision_function_",
    "oob_recourse_ratio_",
)


def checked(forest: Any) -> RecourseForestClassifier:
    """A forest that can be grown in pieces, its parameters checked."""
    if not isinstance(forest, RecourseForestClassifier):
        raise InvalidSpec(
            f"Workers grow a RecourseForestClassifier, got a {type(forest).__name__}; other models "
            "are trained on one machine."
        )
    if forest.warm_start:
        raise InvalidSpec("warm_start adds to trees on one machine; leave it out.")
    forest._check_parameters()
    return forest


def begin(forest: RecourseForestClassifier, columns: Columns, sketch: TableSketch) -> Reading:
    """What workers need to read their parts; the forest learns of columns and classes."""
    reading = reading_of(forest, columns, sketch)
    forest.encoder_, forest.cost_ = reading.encoder, reading.cost
    if forest.oob_score or forest.recourse_weight == "auto":  # searches: better refused now
        check_categories(reading.encoder.axes)
    return reading


def grown(forest: RecourseForestClassifier, training: TrainingSet, seeds: list[int]) -> Grown:
    """The trees of some seeds, grown on these people, with seeds and sizes of samples."""
    rules = forest._rules(training, forest.recourse_weight_, forest.min_leaf_share_)
    growth = forest._growth(training, rules)
    return [(growth.tree(seed), seed, growth.n_drawn) for seed in seeds]


def finish(
    forest: RecourseForestClassifier, reading: Reading, trees: Grown, kept: Kept | None
) -> RecourseForestClassifier:
    """The forest of trees that were grown elsewhere, in the order of their seeds.

    What it measures afterwards is measured here, on the people who are kept.
    """
    by_seed = {seed: (tree, n_drawn) for tree, seed, n_drawn in trees}
    seeds = forest._seeds()
    needed = int(forest._needed(forest.n_estimators))
    forest.ensemble_ = TreeEnsemble.from_cell_trees(
        [by_seed[seed][0] for seed in seeds], reading.grid, needed
    )
    forest._draws = [(seed, by_seed[seed][1]) for seed in seeds]
    forest._n_people, forest._rows_seen = reading.n_people, None
    forest._monotonic = monotonic_directions(
        forest.monotonic_cst, reading.encoder, reading.grid.axes
    )
    for name in _OF_AN_EARLIER_FIT:
        forest.__dict__.pop(name, None)
    if forest.oob_score and kept is not None:
        forest._score_out_of_bag(kept, range(kept.n_people), kept.n_people)
    return forest if kept is None else forest._measure(kept, None, None, None)


def shares(seeds: list[int], n_shares: int) -> list[list[int]]:
    """Seeds divided as evenly as can be, in their order."""
    return [part.tolist() for part in np.array_split(np.array(seeds), min(n_shares, len(seeds)))]

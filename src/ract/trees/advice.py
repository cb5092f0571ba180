"""What plain boosters on parts of the people say of where people could truly get to.

Replicates find best points, agree on directions, and choose the features in focus (see
``ract.trees.cooperation``); members of boosting and trees of forests are lifted at these points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ract._kernels.boost import lines
from ract._kernels.boost.walk import add_values
from ract.trees.booster import Boosted, BoostRules, CellRows, Lift, Move, Patience, boost
from ract.trees.grower import People, flat_tables

REPLICATE_SHARE = 0.4  # of the people that a replicate sees
# Of the largest weight of a point: what it has at first, and what each tree below the margin adds.
FIRST, STEP = 0.4, 0.08
WELL_ABOVE = 1.5  # a margin, in log-odds: no better point is looked for
SWEEPS = 2  # over all axes, of a search for the best point
N_ASKED = 200  # people who are asked for the direction of a feature
# Refused people who are asked for the features in focus. With fewer, or with some of the replicates
# only, models of two halves of a table chose other features, and neither honoured the plans of the
# other.
N_LIFTED = 400
# Three features are enough if by them refused people get further than this share of the way to the
# margin: letters ask for at most three changes. Then little AUC is lost if points count twice and
# trees are grown on at most half of the people, by which models of two halves differ less.
FEWEST, ENOUGH, TWICE, AT_MOST = 3, 0.5, 2.0, 0.5

Job = Callable[[], Any]
# From everyone's log-odds, NaN where nobody can say, to the log-odds that the desired class needs.
Cut = Callable[[np.ndarray], float]
Run = Callable[[Sequence[Job]], list[Any]]


def one_by_one(jobs: Sequence[Job]) -> list[Any]:
    """Run jobs in their order."""
    return [job() for job in jobs]


@dataclass(frozen=True)
class Cooperation:
    """What makes a model cooperate.

    Parameters
    ----------
    weight : float
        The largest weight of a point, beside its person's.
    margin : float
        Log-odds to which points are lifted, above the cut.
    n_replicates, n_members : int
    cut : callable, optional
        Chooses the cut from log-odds; 0 by default.
    n_focus : int, optional
        In how many features points may differ from their people, at most; in all by default.
    """

    weight: float
    margin: float
    n_replicates: int
    n_members: int
    cut: Cut | None = None
    n_focus: int | None = None

    @property
    def needs_scores(self) -> bool:
        """Whether models are scored: for a cut, or to see how far points may differ and weigh."""
        return self.cut is not None or self.n_focus is not None

    def cut_of(self, scores: Sequence[np.ndarray]) -> float:
        """The cut of the mean of models, by their scores of people whom they have not seen."""
        return 0.0 if self.cut is None else self.cut(mean_known(scores))

    def above(self, cut: float) -> Cooperation:
        """The same where the desired class needs other log-odds."""
        return replace(self, margin=self.margin + cut)

    def lift(self, share: float = 1.0, move: Move | None = None) -> Lift:
        """How points pull."""
        first, step = FIRST * self.weight, STEP * self.weight
        return Lift(self.margin, first, step, self.weight, share, move)


@dataclass(frozen=True)
class Cells:
    """People's cells and reach, a person's cells together.

    Parameters
    ----------
    people : People
    home, lowest, highest : unsigned (people, axes)
    focus : tuple of int, optional
        The axes on which points are looked for; all by default.
    """

    people: People
    home: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray
    focus: tuple[int, ...] | None = None

    @classmethod
    def of(cls, people: People) -> Cells:
        """The other way round than people have them."""
        parts = (people.cells, people.lowest, people.highest)
        home, lowest, highest = (np.ascontiguousarray(part.T) for part in parts)
        return cls(people, home, lowest, highest)

    @property
    def movable(self) -> np.ndarray:
        """Axes on which someone can move, of those in focus."""
        if self.focus is not None:
            return np.array(self.focus, dtype=np.intp)
        people = self.people
        moves = (people.lowest != people.highest) | (people.lowest != people.cells)
        can_move = moves.any(axis=1)
        for axis, table in enumerate(people.can_enter):
            if table is not None:
                can_move[axis] = (table & ~np.eye(len(table), dtype=bool)).any()
        return np.flatnonzero(can_move)

    def reach(self, rows: np.ndarray) -> lines.RowReach:
        """The reach of some people."""
        can_enter, tables, _, _ = flat_tables(self.people.can_enter)
        layout = np.column_stack([self.people.n_cells, tables]).astype(np.int64)
        return lines.RowReach(
            self.home[rows], self.lowest[rows], self.highest[rows], layout, can_enter
        )


def trees_of(model: Boosted, n_axes: int) -> lines.Trees:
    """The trees of a model, and which of them split on each axis."""
    uses = np.zeros((n_axes, len(model)), np.bool_)
    for t, nodes in enumerate(model.nodes):
        uses[nodes[nodes[:, 0] >= 0, 0], t] = True
    starts = np.cumsum([0, *uses.sum(axis=1)]).astype(np.int64)
    return lines.Trees(*model.flat(), np.nonzero(uses)[1].astype(np.int32), starts)


def agreed_directions(
    models: Sequence[lines.Trees], cells: Cells, given: Sequence[int]
) -> tuple[int, ...]:
    """Directions of axes on which all models agree; those that were given stay.

    An axis is asked by moving people over all that they reach of it, all else equal. A constraint
    holds for the whole axis, of which people may reach little: a direction that taken together the
    models contradict from end to end is none. (A small capital gain goes with a low income, a large
    one with a high income.)

    Parameters
    ----------
    models : sequence of lines.Trees
    cells : Cells
    given : sequence of int
        By axis; empty for none.
    """
    directions = np.array(given or (0,) * cells.home.shape[1], np.int64)
    some = np.linspace(0, len(cells.home) - 1, min(N_ASKED, len(cells.home))).astype(np.int64)
    home, reach = cells.home[some], cells.reach(some)
    for axis in cells.movable:
        if cells.people.can_enter[axis] is not None or directions[axis] != 0:
            continue
        known = np.flatnonzero(home[:, axis] != cells.people.missing_cells[axis])
        asked = known.astype(np.uint32)
        gains = [lines.gains_to_ends(home, asked, axis, reach, model) for model in models]
        if min(gains) > 0 or max(gains) < 0:
            whole = _whole_axis(reach, axis, cells.people)
            total = sum(lines.gains_to_ends(home, asked, axis, whole, model) for model in models)
            if total * gains[0] > 0:
                directions[axis] = int(np.sign(gains[0]))
    return tuple(directions.tolist()) if directions.any() else ()


def _whole_axis(reach: lines.RowReach, axis: int, people: People) -> lines.RowReach:
    """The reach of people who could go anywhere on an axis."""
    lowest, highest = reach.lowest.copy(), reach.highest.copy()
    lowest[:, axis] = 0
    highest[:, axis] = people.n_cells[axis] - 1 - (people.missing_cells[axis] >= 0)
    return reach._replace(lowest=lowest, highest=highest)


def best_points(
    model: lines.Trees,
    cells: Cells,
    rows: np.ndarray,
    directions: Sequence[int],
    base: float,
    enough: float,
) -> np.ndarray:
    """The best points of some people by a model; at the end of their reach along directions.

    Parameters
    ----------
    model : lines.Trees
    cells : Cells
    rows : int (people,)
    directions : sequence of int
        By axis; empty for none.
    base : float
        What the model's scores start from.
    enough : float
        A point with this score is good enough.
    """
    points, axes = cells.home[rows], cells.movable
    if directions:
        along = np.array(directions)[axes]
        for axis, direction in zip(axes, along, strict=True):
            if direction != 0:
                known = points[:, axis] != cells.people.missing_cells[axis]
                end = (cells.highest if direction > 0 else cells.lowest)[rows, axis]
                points[known, axis] = end[known]
        axes = axes[along == 0]
    everyone, scores = np.arange(len(rows), dtype=np.uint32), _scores(model, points, base)
    lines.ascend(points, everyone, axes, cells.reach(rows), model, enough, SWEEPS, scores)
    return points


def focused(
    models: Sequence[Adviser],
    cells: Cells,
    cooperation: Cooperation,
    scores: np.ndarray,
) -> tuple[Cells, bool]:
    """The same people, with the few axes in focus that together lift refused people most.

    Axes are taken one after the other, each the one that lifts most beside those before it, until
    there are ``n_focus`` or three are enough. A person who is lifted to the margin counts no more
    for being lifted beyond it.

    Parameters
    ----------
    models : sequence of (float, lines.Trees)
        What the scores of each start from, and its trees.
    cells : Cells
    cooperation : Cooperation
        With the number of axes and the margin.
    scores : float64 (people,)
        Mean scores by the models.

    Returns
    -------
    Cells
    bool
        Whether three axes were enough.
    """
    refused = np.flatnonzero(scores < cooperation.margin)
    at = np.linspace(0, len(refused) - 1, min(N_LIFTED, len(refused))).astype(np.int64)
    rows = refused[at]

    reach, everyone = cells.reach(rows), np.arange(len(rows), dtype=np.uint32)
    found = [(cells.home[rows], _scores(model, cells.home[rows], base)) for base, model in models]

    def moved(axis: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """Points and scores once the best cell of one more axis is taken."""
        after = [(points.copy(), scores.copy()) for points, scores in found]
        for (points, scores), (_, model) in zip(after, models, strict=True):
            along = (points, everyone, np.array([axis]), reach, model, cooperation.margin, 1)
            lines.ascend(*along, scores)
        return after

    def total(found: list[tuple[np.ndarray, np.ndarray]]) -> float:
        return sum(float(np.minimum(scores, cooperation.margin).sum()) for _, scores in found)

    home, most = total(found), cooperation.margin * len(models) * len(rows)
    left: list[int] = cells.movable.tolist()
    chosen: tuple[int, ...] = ()
    enough = False
    while left and not enough and len(chosen) < (cooperation.n_focus or 0):
        tried = {axis: moved(axis) for axis in left}
        best = max(left, key=lambda axis: total(tried[axis]))
        chosen, found = (*chosen, best), tried[best]
        left.remove(best)
        enough = len(chosen) == FEWEST and total(found) - home > ENOUGH * (most - home)
    return replace(cells, focus=chosen), enough


Adviser = tuple[float, lines.Trees]  # what the scores of a model start from, and its trees


def _scores(model: lines.Trees, points: np.ndarray, base: float) -> np.ndarray:
    """The scores of points by a model."""
    scores, rows = np.full(len(points), base), np.arange(len(points), dtype=np.uint32)
    add_values(points, rows, model.nodes, model.value, model.root, scores)
    return scores


@dataclass(frozen=True)
class Advice:
    """What plain boosters on parts of the people say of where everyone could get to.

    Parameters
    ----------
    replicates : list of Boosted
    models : list of (float, lines.Trees)
        The same, to be asked about points.
    cells : Cells
        Of the people, with the axes in focus.
    rules : BoostRules
        Of members: with the directions on which all agree, and as many trees as the longest has.
    cooperation : Cooperation
        With its margin above their cut, and the weight of points for these axes.
    scores : float64 (people,)
        Everyone's mean score by the replicates; empty where none is needed.
    """

    replicates: list[Boosted]
    models: list[Adviser]
    cells: Cells
    rules: BoostRules
    cooperation: Cooperation
    scores: np.ndarray

    def chooser(self, k: int, rows: np.ndarray) -> Callable[[], np.ndarray]:
        """Finds the best points of some people by a replicate."""
        base, model = self.models[k]
        enough = self.cooperation.margin + WELL_ABOVE
        return partial(best_points, model, self.cells, rows, self.rules.directions, base, enough)


def advice(
    people: People,
    rows: CellRows,
    rules: BoostRules,
    cooperation: Cooperation,
    rng: np.random.RandomState,
    *,
    patience: Patience | None = None,
    run: Run = one_by_one,
) -> Advice:
    """Ask replicates; parameters are those of cooperate."""
    cells, n = Cells.of(people), len(rows.codes)
    parts = [part_of(rng, n, REPLICATE_SHARE) for _ in range(cooperation.n_replicates)]

    def replicate_of(inside: np.ndarray) -> Job:
        outside = np.setdiff1d(np.arange(n), inside)
        stop = None if patience is None else replace(patience, rows=rows.take(outside))
        return partial(boost, people, rows.take(inside), rules, seeds_of(rng, rules), patience=stop)

    replicates = run([replicate_of(inside) for inside in parts])
    mean = np.empty(0)
    if cooperation.needs_scores:
        scores = run([partial(model.scores, cells.home) for model in replicates])
        mean = np.mean(scores, axis=0)
        for of_model, inside in zip(scores, parts, strict=True):
            of_model[inside] = np.nan
        cooperation = cooperation.above(cooperation.cut_of(scores))
    trees = [trees_of(replicate, rows.codes.shape[1]) for replicate in replicates]
    directions = agreed_directions(trees, cells, rules.directions)
    rules = replace(rules, directions=directions, max_iter=max(map(len, replicates)))
    models = [(one.base, of_one) for one, of_one in zip(replicates, trees, strict=True)]
    if cooperation.n_focus is not None:
        cells, enough = focused(models, cells, cooperation, mean)
        if enough:
            cooperation = replace(cooperation, weight=TWICE * cooperation.weight)
            rules = replace(rules, subsample=min(rules.subsample, AT_MOST))
    return Advice(replicates, models, cells, rules, cooperation, mean)


def part_of(rng: np.random.RandomState, n: int, share: float) -> np.ndarray:
    """A share of n people, drawn without replacement."""
    return np.sort(rng.permutation(n)[: max(1, round(share * n))])


def scores_outside(model: Boosted, inside: np.ndarray, rows: CellRows) -> np.ndarray:
    """Everyone's log-odds by a model, NaN for the people whom it has seen."""
    outside, scores = np.ones(rows.n_people, np.bool_), np.full(rows.n_people, np.nan)
    outside[inside] = False
    scores[outside] = model.scores(np.ascontiguousarray(rows.codes[: rows.n_people][outside]))
    return scores


def mean_known(scores: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of each person's scores without those that are NaN; NaN if all of them are."""
    with np.errstate(invalid="ignore"):
        return np.nansum(scores, axis=0) / np.sum(~np.isnan(scores), axis=0)


def seeds_of(rng: np.random.RandomState, rules: BoostRules) -> list[int]:
    """A seed for each tree."""
    return [int(seed) for seed in rng.randint(2**31 - 1, size=rules.max_iter)]

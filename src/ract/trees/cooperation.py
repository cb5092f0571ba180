"""Boosting for recourse: people are lifted at the points that they could truly get to.

    minimise  loss of people  +  weight x loss of the best point within each person's reach

By the envelope theorem the slope of the second part lies at the current best points, which join
the people as rows labelled desired. A model that chooses its own points lifts slivers that the next
model knows nothing of. So others choose them:

    replicates   plain boosters on parts of the people; each finds a best point of its own
    directions   where all of them agree that more of a feature is better (or worse), and it is so
                 from one end of the feature to the other
    focus        where plans are to be short: the few features that together lift refused people
                 most, by the replicates; points differ from their people in these alone
    members      boosters on larger parts, monotone in these directions, lifted at points that are
                 spread over the replicates

The mean of the members decides. Without replicates a single booster moves its own points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ract._kernels.boost import lines
from ract.trees.advice import (
    Cells,
    Cooperation,
    Job,
    Run,
    advice,
    mean_known,
    one_by_one,
    part_of,
    scores_outside,
    seeds_of,
    trees_of,
)
from ract.trees.afford import affordable_weight
from ract.trees.booster import Boosted, BoostRules, CellRows, Lift, Patience, boost
from ract.trees.grower import People

MEMBER_SHARE = 0.7  # of the people that a member sees
POINTS = 2  # of everyone in a member
# Members whose AUC is compared, what it may lose, by how many standard errors it has to lose more,
# and what the weight is multiplied by if it does.
N_COMPARED, MOST_LOST, N_ERRORS, HALF = 3, 0.01, 1.0, 0.5
# A booster that moves its own points: the first tree to do so, how often, and with how many sweeps.
WARM, EVERY, OWN_SWEEPS = 5, 10, 1


def cooperate(
    people: People,
    rows: CellRows,
    sample_weight: np.ndarray,
    rules: BoostRules,
    cooperation: Cooperation,
    rng: np.random.RandomState,
    *,
    patience: Patience | None = None,
    run: Run = one_by_one,
    **how: Any,
) -> tuple[list[Boosted], list[Boosted], float, float]:
    """Members whose mean gives refused people a way back, replicates, and the members' cut.

    The last is the weight of points: where plans are to be short, it is halved while three members
    lose too much AUC beside plain boosters on the same people.

    Parameters
    ----------
    people : People
        With their reach.
    rows : CellRows
        The same people.
    sample_weight : float64 (people,)
        What the point of each counts, times the weight of points.
    rules : BoostRules
    cooperation : Cooperation
    rng : RandomState
    patience : Patience, optional
        Replicates are stopped by the loss of the people outside their part; members have as many
        trees. Of a booster that moves its own points, that of the people in it.
    run : callable
        Runs independent jobs, in threads perhaps.
    **how
        Of a booster that moves its own points: ``before``, ``n_threads``, ``watch`` as in boost.
    """
    cells, n = Cells.of(people), len(rows.codes)
    if cooperation.n_replicates == 0:
        data = (cells, rows, sample_weight, rules, cooperation, seeds_of(rng, rules))
        alone = _on_its_own(*data, patience=patience, **how)
        return [alone], [], 0.0, cooperation.weight

    known = advice(people, rows, rules, cooperation, rng, patience=patience, run=run)
    replicates, rules, cooperation = known.replicates, known.rules, known.cooperation
    cells, part = known.cells, partial(part_of, rng, n)
    n_members = cooperation.n_members
    parts = [part(MEMBER_SHARE if n_members > 1 else 1.0) for _ in range(n_members)]
    # Everyone has points of several replicates, in each member of others as far as there are some.
    n_points = min(POINTS, cooperation.n_replicates)
    start = rng.randint(cooperation.n_replicates, size=n)
    turns = np.arange(n_points)[:, None]
    chooser = [
        (start[one] + n_points * m + turns) % cooperation.n_replicates
        for m, one in enumerate(parts)
    ]
    points = [np.tile(cells.home[one], (n_points, 1, 1)) for one in parts]

    def choose(k: int) -> None:
        asked = [np.nonzero(of_member == k) for of_member in chooser]
        people_asked = [one[at[1]] for one, at in zip(parts, asked, strict=True)]
        everyone = np.unique(np.concatenate(people_asked))
        best = known.chooser(k, everyone)()
        for found, at, people_of in zip(points, asked, people_asked, strict=True):
            found[at] = best[np.searchsorted(everyone, people_of)]

    run([partial(choose, k) for k in range(cooperation.n_replicates)])
    seeds = [seeds_of(rng, rules) for _ in parts]

    def grow(m: int, learned: CellRows, by: BoostRules, lift: Lift | None = None) -> Grown:
        """A booster on the people of a member, and its scores of everyone else if needed."""
        model, scored = boost(people, learned, by, seeds[m], lift=lift), cooperation.needs_scores
        return model, scores_outside(model, parts[m], rows) if scored else np.empty(0)

    def members_at(weight: float, first: int, last: int) -> list[Grown]:
        lift = replace(cooperation, weight=weight).lift(share=1 / n_points)

        def member_of(m: int) -> Job:
            of_points = np.tile(sample_weight[parts[m]], n_points)
            lifted = rows.take(parts[m]).with_points(np.concatenate(points[m]), of_points)
            return partial(grow, m, lifted, rules, lift)

        return run([member_of(m) for m in range(first, last)])

    weight, grown = cooperation.weight, []
    if cooperation.n_focus is not None:
        free, n_asked = replace(rules, directions=()), min(N_COMPARED, n_members)
        tried: dict[float, list[Grown]] = {}

        def scores_at(weight: float) -> np.ndarray:
            tried[weight] = members_at(weight, 0, n_asked)
            return mean_known([scores for _, scores in tried[weight]])

        plain = run([partial(grow, m, rows.take(parts[m]), free) for m in range(n_asked)])
        without = mean_known([scores for _, scores in plain])
        weight = affordable_weight(
            weight, scores_at, people.desired, without, MOST_LOST, HALF, N_ERRORS
        )
        grown = tried[weight]
    grown = grown + members_at(weight, len(grown), n_members)
    members = [model for model, _ in grown]
    return members, replicates, cooperation.cut_of([scores for _, scores in grown]), weight


# A booster, and its scores of the people whom it has not seen.
Grown = tuple[Boosted, np.ndarray]


def _on_its_own(
    cells: Cells,
    rows: CellRows,
    sample_weight: np.ndarray,
    rules: BoostRules,
    cooperation: Cooperation,
    seeds: Sequence[int],
    **how: Any,
) -> Boosted:
    """A booster that moves its own points now and then; how: as boost takes it."""
    n, axes = rows.n_people, cells.movable
    both = rows.with_points(cells.home, sample_weight)
    reach, points = cells.reach(np.arange(n)), both.codes[n:]

    def move(t: int, model: Boosted, scores: np.ndarray) -> None:
        if t < WARM or (t - WARM) % EVERY:
            return
        below = np.flatnonzero(scores[n:] < cooperation.margin).astype(np.uint32)
        order = np.random.default_rng(seeds[t]).permutation(axes)
        trees = trees_of(model, points.shape[1])
        lines.ascend(points, below, order, reach, trees, cooperation.margin, OWN_SWEEPS, scores[n:])

    lift = cooperation.lift(move=move)
    return boost(cells.people, both, rules, seeds, lift=lift, **how)

"""Raising the score of an action's outcomes one feature at a time, until they are desired."""

from __future__ import annotations

import numpy as np

from ract.recourse.causal.incumbent import Incumbent
from ract.trees.ensemble import TreeEnsemble

POINTS = 13
MOST_STEPS = 12
# Ways for effects to be off that a climb keeps in view, the worst that it met.
MOST_WAYS = 3


def climb_to_desired(
    best: Incumbent, ensemble: TreeEnsemble, start: np.ndarray, stop: np.ndarray
) -> bool:
    """Change the feature that helps most, again and again; whether that led to a better action.

    What counts is the lowest score among the ways for effects to be off that have done harm so
    far, then the mean of the trees. Nothing is gained by a cheap step here: the incumbent makes
    the action as small as it can be.

    Parameters
    ----------
    best : Incumbent
        Of the person; its cap limits how far features go.
    ensemble : TreeEnsemble
    start : float (columns,)
        The action to start from.
    stop : uint8 (1,)
        Set when the time is up.
    """
    outcomes, values, reached = best.outcomes, start, (-np.inf, -np.inf)
    steps, ways = _steps(best), [outcomes.effects]
    for _ in range(MOST_STEPS):
        if stop[0]:
            break
        rows = best.allowed(np.concatenate([values[None], _moved(values, steps)]))
        if not len(rows):
            break
        change = rows - outcomes.person
        ends = outcomes.held(np.concatenate([rows + change @ way.T for way in ways]))
        votes, sums = ensemble.totals(ends)
        score = votes if ensemble.combine == "votes" else ensemble.score(ends)
        score, sums = score.reshape(len(ways), -1).min(axis=0), sums.reshape(len(ways), -1).mean(0)
        top = int(np.lexsort((sums, score))[-1])
        if (score[top], sums[top]) <= reached:
            break
        values, reached = rows[top], (score[top], sums[top])
        if score[top] >= ensemble.cutoff:
            if best.offer(values[None]):
                return True
            if len(ways) > MOST_WAYS or not len(outcomes.others):
                break
            ends = values + (values - outcomes.person) @ outcomes.others.transpose(0, 2, 1)
            worst = int(np.argmin(ensemble.score(outcomes.held(ends))))
            ways.append(outcomes.others[worst])
            reached = (-np.inf, -np.inf)
    return False


def _steps(best: Incumbent) -> list[tuple[np.ndarray, np.ndarray]]:
    """Columns of each feature that can change, and what they can be set to (options x columns)."""
    outcomes, cap = best.outcomes, best.cap
    moves, person = outcomes.moves, outcomes.person
    _, [low], [high] = outcomes.ranges(cap)
    steps = []
    for j in moves.numeric:
        if high[j] > low[j]:
            line = np.append(np.linspace(low[j], high[j], POINTS), person[j])
            line = np.unique(np.round(line) if moves.whole[j] else line)
            steps.append((np.array([j]), line[:, None]))
    for columns, own, table in zip(moves.groups, outcomes.own, moves.switches, strict=True):
        options = np.flatnonzero(table[own] <= cap)
        if len(options) > 1:
            steps.append((columns, np.eye(len(columns))[options]))
    return steps


def _moved(values: np.ndarray, steps: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Every row that differs from values in one feature."""
    parts = [np.empty((0, len(values)))]
    for columns, options in steps:
        rows = np.tile(values, (len(options), 1))
        rows[:, columns] = options
        parts.append(rows)
    return np.concatenate(parts)

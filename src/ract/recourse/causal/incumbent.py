"""The best action found so far for one person: reached by climbing, made cheaper by trial."""

from __future__ import annotations

import numpy as np

from ract.data.costs import FittedCost
from ract.recourse.common.outcomes import PersonOutcomes
from ract.trees.ensemble import TreeEnsemble

# Values that are tried on the way back to the own one, and how often on ever shorter ways.
POINTS = 33
REFINEMENTS = 4
ROUNDS = 3
# Values of each feature that a step of a climb tries, and steps.
PER_STEP, MOST_STEPS = 13, 12
# Ways for effects to be off that a climb keeps in view, the worst that it met.
MOST_WAYS = 3


class Incumbent:
    """The best action so far. What gets in has been run through the model.

    Parameters
    ----------
    outcomes : PersonOutcomes
        Of the person.
    ensemble : TreeEnsemble
    cost : FittedCost
    cap : float
        Largest cost that is of interest at first.
    tolerance : float
        Only what is cheaper by this much is an improvement.
    stop : uint8 (1,)
        Set when the time is up.
    max_changes : int, optional
        Most features that may change.

    Attributes
    ----------
    values : float (columns,) or None
        What to set.
    ends : float (columns,)
        What that leads to, as the model was asked; the person as they are without an action.
    cost : float
        Of the action; infinite if there is none.
    cap : float
        Largest cost that would be an improvement.
    """

    def __init__(
        self,
        outcomes: PersonOutcomes,
        ensemble: TreeEnsemble,
        cost: FittedCost,
        cap: float,
        tolerance: float,
        stop: np.ndarray,
        max_changes: int | None = None,
    ) -> None:
        self.outcomes, self.cap, self._tolerance, self._stop = outcomes, cap, tolerance, stop
        self.values: np.ndarray | None = None
        self.ends = outcomes.person
        self.cost = np.inf
        self._ensemble, self._cost, self._max_changes = ensemble, cost, max_changes

    def offer(self, values: np.ndarray) -> bool:
        """Take the cheapest of some actions (rows x columns) that is one, if it is better."""
        values = self.allowed(self.outcomes.landed(values, self.cap))
        cost = self._cost.between(np.tile(self.outcomes.person, (len(values), 1)), values)
        good = self._desired(values)
        if not good.any():
            return False
        best = int(np.argmin(np.where(good, cost, np.inf)))
        return self._keep(self._shortened(values[best])) or self._keep(values[best])

    def _keep(self, values: np.ndarray) -> bool:
        """Keep an action whose outcome, computed as it is reported, is desired."""
        if not self._desired(values[None])[0]:
            return False
        self.values, self.cost = values, self._price(values)
        self.ends, self.cap = self.outcomes.ends(values[None])[0], self.cost - self._tolerance
        return True

    def _desired(self, values: np.ndarray) -> np.ndarray:
        """Whether the outcomes are desired, also if last digits or effects are otherwise."""
        if not len(values):
            return np.zeros(0, np.bool_)
        good = self._ensemble.decide(self.outcomes.ends(values))
        if good.any():
            variants = self.outcomes.variants(values[good])
            decided = self._ensemble.decide(variants.reshape(-1, variants.shape[2]))
            good[good] = decided.reshape(variants.shape[:2]).all(axis=0)
        return good

    def allowed(self, values: np.ndarray) -> np.ndarray:
        """Those of some actions that would be better and do not change too many features."""
        person, moves = self.outcomes.person, self.outcomes.moves
        good = self._cost.between(np.tile(person, (len(values), 1)), values) <= self.cap
        if self._max_changes is not None:
            moved = values != person
            changes = moved[:, moves.numeric].sum(axis=1)
            for columns in moves.groups:
                changes = changes + moved[:, columns].any(axis=1)
            good &= changes <= self._max_changes
        return values[good]

    def _price(self, values: np.ndarray) -> float:
        return float(self._cost.between(self.outcomes.person[None], values[None])[0])

    def _shortened(self, values: np.ndarray) -> np.ndarray:
        """The action with each of its changes as small as it can be, the dearest first."""
        moves, person = self.outcomes.moves, self.outcomes.person
        values, price = values.copy(), self._price(values)
        for _ in range(ROUNDS):
            for columns in moves.groups:
                trial = values.copy()
                trial[columns] = person[columns]
                if self._desired(trial[None])[0]:
                    values = trial
            changed = [int(j) for j in moves.numeric if values[j] != person[j]]
            for j in sorted(changed, key=lambda j: -self._effort(j, float(values[j]))):
                if self._stop[0]:
                    return values
                values[j] = self._nearest(values, j)
            before, price = price, self._price(values)
            if not price < before - self._tolerance:
                break
        return values

    def _effort(self, column: int, value: float) -> float:
        ends = np.array([self.outcomes.person[column], value])
        return float(np.ptp(self._cost.level(column, ends)))

    def _nearest(self, values: np.ndarray, j: int) -> float:
        """The value of column j nearest to the own one that keeps the class, by trying some."""
        near, far = float(self.outcomes.person[j]), float(values[j])
        whole = self.outcomes.moves.whole[j]
        for _ in range(REFINEMENTS):
            line = np.linspace(near, far, POINTS)
            trials = np.tile(values, (POINTS, 1))
            trials[:, j] = np.round(line) if whole else line
            trials = self.outcomes.as_stored(trials)
            line = trials[:, j]
            good = self._desired(trials)
            good[-1] = True
            first = int(np.argmax(good))
            if first == 0:
                return near
            near, far = float(line[first - 1]), float(line[first])
            if near == far or (whole and abs(far - near) <= 1):
                break
        return far


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
        ends = outcomes.as_stored(np.concatenate([rows + change @ way.T for way in ways]))
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
            if len(ways) > MOST_WAYS or not len(outcomes.other_effects):
                break
            ends = values + (values - outcomes.person) @ outcomes.other_effects.transpose(0, 2, 1)
            worst = int(np.argmin(ensemble.score(outcomes.as_stored(ends))))
            ways.append(outcomes.other_effects[worst])
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
            line = np.append(np.linspace(low[j], high[j], PER_STEP), person[j])
            line = np.unique(np.round(line) if moves.whole[j] else line)
            steps.append((np.array([j]), line[:, None]))
    for columns, _, price in outcomes.choices:
        options = np.flatnonzero(price <= cap)
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

"""The best action found so far for one person, and making it cheaper by trial."""

from __future__ import annotations

import numpy as np

from ract.costs import FittedCost
from ract.ensemble import TreeEnsemble
from ract.recourse.common.outcomes import Outcomes

# Values that are tried on the way back to the own one, and how often on ever shorter ways.
POINTS = 33
REFINEMENTS = 4
ROUNDS = 3
# With uncertain effects, outcomes are tried with so many features off at random.
MIXED_WAYS = 8


class Incumbent:
    """The best action so far. What gets in has been run through the model.

    Parameters
    ----------
    outcomes : Outcomes
        Of the person.
    ensemble : TreeEnsemble
    cost : FittedCost
    cap : float
        Largest cost that is of interest at first.
    tolerance : float
        Only what is cheaper by this much is an improvement.
    max_changes : int, optional
        Most features that may change.

    Attributes
    ----------
    values : float (columns,) or None
        What to set.
    cost : float
        Of that; infinite if there is none.
    cap : float
        Largest cost that would be an improvement.
    """

    def __init__(
        self,
        outcomes: Outcomes,
        ensemble: TreeEnsemble,
        cost: FittedCost,
        cap: float,
        tolerance: float,
        max_changes: int | None = None,
    ) -> None:
        self.outcomes, self.cap, self._tolerance = outcomes, cap, tolerance
        self.values: np.ndarray | None = None
        self.cost = np.inf
        self._ensemble, self._cost, self._max_changes = ensemble, cost, max_changes
        self._signs = _signs(outcomes)

    def offer(self, values: np.ndarray) -> bool:
        """Take the cheapest of some actions (rows x columns) that is one, if it is better."""
        cost = self._cost.between(np.tile(self.outcomes.person, (len(values), 1)), values)
        good = cost <= self.cap
        if self._max_changes is not None:
            good &= self._changes(values) <= self._max_changes
        good[good] = self._desired(values[good])
        if not good.any():
            return False
        best = int(np.argmin(np.where(good, cost, np.inf)))
        self._shorten(values[best])
        return True

    def _desired(self, values: np.ndarray) -> np.ndarray:
        """Whether the outcomes are desired, however far off they are within their doubt."""
        if not len(values):
            return np.zeros(0, np.bool_)
        ends, doubt = self.outcomes.ends(values), self.outcomes.doubt(values)
        trials = (ends + self._signs[:, None, :] * doubt).reshape(-1, ends.shape[1])
        decided = self._ensemble.decide(trials).reshape(len(self._signs), len(values))
        return np.logical_and.reduce(decided, axis=0)

    def _changes(self, values: np.ndarray) -> np.ndarray:
        moved, moves = values != self.outcomes.person, self.outcomes.moves
        changes = moved[:, moves.numeric].sum(axis=1)
        for columns in moves.groups:
            changes = changes + moved[:, columns].any(axis=1)
        return changes

    def _price(self, values: np.ndarray) -> float:
        return float(self._cost.between(self.outcomes.person[None], values[None])[0])

    def _shorten(self, values: np.ndarray) -> None:
        """Keep an action, each of its changes as small as it can be, the dearest first."""
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
                values[j] = self._nearest(values, j)
            before, price = price, self._price(values)
            if not price < before - self._tolerance:
                break
        self.values, self.cost = values, price
        self.cap = price - self._tolerance

    def _effort(self, column: int, value: float) -> float:
        ends = np.array([self.outcomes.person[column], value])
        return float(np.ptp(self._cost.level(column, ends)))

    def _nearest(self, values: np.ndarray, j: int) -> float:
        """The value of column j nearest to the own one that keeps the class, by trying some."""
        near, far = float(self.outcomes.person[j]), float(values[j])
        whole = self.outcomes.moves.whole[j]
        for _ in range(REFINEMENTS):
            line = np.linspace(near, far, POINTS)
            line = np.round(line) if whole else line
            trials = np.tile(values, (POINTS, 1))
            trials[:, j] = line
            good = self._desired(trials)
            good[-1] = True
            first = int(np.argmax(good))
            if first == 0:
                return near
            near, far = float(line[first - 1]), float(line[first])
            if near == far or (whole and abs(far - near) <= 1):
                break
        return far


def _signs(outcomes: Outcomes) -> np.ndarray:
    """Ways to be off, as shares of the doubt (ways x columns): none, all alike, and some more."""
    d = len(outcomes.person)
    ways = np.repeat([0.0, -1.0, 1.0], d).reshape(3, d)
    if outcomes.uncertainty == 0.0:
        return ways
    mixed = np.random.default_rng(0).choice([-1.0, 1.0], (MIXED_WAYS, d))
    each = np.eye(d)[outcomes.effects.any(axis=1)]
    return np.concatenate([ways, mixed, each, -each])

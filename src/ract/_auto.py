"""Choosing the weight of recourse: a few trials, measured on held-out people.

What a weight means depends on the data: it stands against the impurity of a whole table, which
is small when one class is rare and differs between criteria. So weights are tried in units of
that impurity per person,

    weight = step x impurity of everyone together / everyone

on one ladder of seven steps, each three times the one before, that serves every table and
criterion. Recourse grows and accuracy falls along it, so that bisection takes three trials:

    step      1/81  1/27  1/9   1/3    1    3    9
    recourse   .88   .91   .93 | .96   .98  ...         asked: 0.95
                                 ^ the first that meets it
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.recourse.exact.search import ExactSearch
from ract.status import Status

LADDER = 3.0 ** np.arange(-4, 3)
HELD_OUT = 0.2  # share of the people on whom trials are measured
BATCH, MOST_SEARCHED = 30, 150  # of the people whom a trial refuses
MAX_NODES = 300  # of a search; one that needs more counts as without recourse
CHANCE = 0.005  # by which the AUC of two weights differs on a few hundred people anyway
SURE = 0.95  # confidence, on either side, at which a trial ends before everyone was searched


class WeightWarning(UserWarning):
    """A goal that no weight meets."""


@dataclass(frozen=True)
class Trial:
    """One weight and what came of it on held-out people."""

    weight: float
    recourse: float
    auc: float
    accuracy: float


@dataclass(frozen=True)
class WeightSearch:
    """How a weight was chosen.

    Parameters
    ----------
    weight : float
        The chosen one.
    met : bool
        Whether a trial met the goal.
    min_recourse, max_auc_loss : float or None
        The goal: one of them.
    trials : tuple of Trial
        In the order in which they were made.
    n_people : int
        How many held-out people the trials were measured on.
    """

    weight: float
    met: bool
    min_recourse: float | None
    max_auc_loss: float | None
    trials: tuple[Trial, ...]
    n_people: int

    def to_frame(self) -> pd.DataFrame:
        """The trials as a table, by weight, with the chosen one marked."""
        table = pd.DataFrame([asdict(trial) for trial in self.trials]).sort_values("weight")
        return table.assign(chosen=table["weight"] == self.weight).reset_index(drop=True)


def impurity_of_all(desired: np.ndarray, weights: np.ndarray, criterion: str) -> float:
    """Impurity per person of everyone together: the unit of weights.

    Examples
    --------
    >>> impurity_of_all(np.array([0, 1, 1, 1]), np.ones(4), "error")
    0.25
    """
    share = float(np.average(desired, weights=weights))
    if criterion == "error":
        return min(share, 1 - share)
    if criterion == "entropy":
        return float(-sum(p * np.log2(p) for p in (share, 1 - share)))
    return 2 * share * (1 - share)


@dataclass(frozen=True)
class Validation:
    """Held-out people on whom trials are measured.

    Parameters
    ----------
    matrix : float (people, columns)
    desired : uint8 (people,)
    weights : float (people,)
    axes : tuple of Axis
    cost : FittedCost
    budget : float
    goal : float or None
        The recourse ratio to reach; a trial ends once it is clear whether it does.
    n_jobs : int or None
    """

    matrix: np.ndarray
    desired: np.ndarray
    weights: np.ndarray
    axes: tuple[Axis, ...]
    cost: FittedCost
    budget: float
    goal: float | None
    n_jobs: int | None

    def trial(self, weight: float, ensemble: TreeEnsemble) -> Trial:
        """What an ensemble that was grown with a weight gives these people."""
        votes, sums = ensemble.totals(self.matrix, n_jobs=self.n_jobs)
        accepted = votes >= ensemble.cutoff
        share = sums / ensemble.n_trees
        held = np.where(accepted, np.maximum(share, 0.5), np.minimum(share, 0.5))
        right = accepted == (self.desired == 1)
        return Trial(
            weight,
            self._recourse(ensemble, np.flatnonzero(~accepted)),
            float(roc_auc_score(self.desired, held, sample_weight=self.weights)),
            float(np.average(right, weights=self.weights)),
        )

    def _recourse(self, ensemble: TreeEnsemble, refused: np.ndarray) -> float:
        """Recourse ratio, searched for in batches of the refused until it is clear."""
        if not len(refused):
            return 1.0
        w, order = self.weights, spread(len(refused), min(len(refused), MOST_SEARCHED))
        search, asked = ExactSearch(ensemble, self.axes, self.cost), refused[order]
        share_refused = float(w[refused].sum() / w.sum())
        without = np.zeros(0, np.bool_)
        while True:
            batch = asked[len(without) : len(without) + BATCH]
            answers = search.attains(
                self.matrix[batch], self.budget, max_nodes=MAX_NODES, n_jobs=self.n_jobs
            )
            without = np.append(without, answers != Status.FOUND)
            share = float(np.average(without, weights=w[asked[: len(without)]]))
            if len(without) == len(asked) or self._is_clear(without, share_refused):
                return 1 - share * share_refused

    def _is_clear(self, without: np.ndarray, share_refused: float) -> bool:
        """Whether the goal lies outside the interval of what was seen so far."""
        if self.goal is None:
            return True
        failures, n = int(without.sum()), len(without)
        interval = binomtest(failures, n).proportion_ci(2 * SURE - 1, method="exact")
        return not interval.low <= (1 - self.goal) / share_refused <= interval.high


def spread(n: int, most: int) -> np.ndarray:
    """Positions spread evenly over n, in an order of which every beginning is spread too.

    Examples
    --------
    >>> spread(10, 5)
    array([0, 6, 2, 8, 4])
    """
    places = np.linspace(0, n, most, endpoint=False).astype(int)
    stride = max(round(0.618 * most), 1)
    while np.gcd(stride, most) != 1:
        stride += 1
    return places[np.arange(most) * stride % most]


def choose_weight(
    attempt: Callable[[float], Trial],
    unit: float,
    *,
    min_recourse: float | None,
    max_auc_loss: float | None,
    n_people: int,
) -> WeightSearch:
    """The weight that meets a goal best.

    Parameters
    ----------
    attempt : callable
        From a weight to its trial.
    unit : float
        Of the ladder of weights.
    min_recourse : float or None
        The least weight with this share of people who have recourse, or one of the others tried
        on the way that has it too, if its AUC is clearly larger.
    max_auc_loss : float or None
        Else: the largest weight whose AUC is at most this much below that of no weight.
    n_people : int
        How many people each trial is measured on, for the record.

    Examples
    --------
    >>> def attempt(weight):
    ...     return Trial(weight, 1 - 0.1 / (1 + weight), 0.8 - 0.01 * weight, 0.7)
    >>> search = choose_weight(attempt, 1.0, min_recourse=0.96, max_auc_loss=None, n_people=9)
    >>> search.weight, len(search.trials)
    (3.0, 3)
    >>> search = choose_weight(attempt, 1.0, min_recourse=None, max_auc_loss=0.01, n_people=9)
    >>> search.weight
    1.0
    """
    trials: list[Trial] = []

    def tried(weight: float) -> Trial:
        trials.append(attempt(float(weight)))
        return trials[-1]

    ladder = LADDER * unit
    if min_recourse is not None:
        met = _first(ladder, lambda w: tried(w).recourse >= min_recourse) < len(ladder)
        enough = [trial for trial in trials if trial.recourse >= min_recourse]
        weight = (_most_accurate(enough) if met else _most_recourse(trials)).weight
    else:
        assert max_auc_loss is not None
        floor = tried(0.0).auc - max_auc_loss
        above = _first(ladder, lambda w: tried(w).auc < floor)
        met, weight = True, ladder[above - 1] if above else 0.0
    search = WeightSearch(float(weight), met, min_recourse, max_auc_loss, tuple(trials), n_people)
    if not met:
        best = _most_recourse(trials)
        warnings.warn(
            f"No weight gives {min_recourse:.1%} of people recourse; the best is "
            f"{best.recourse:.1%} with recourse_weight={best.weight:.3g} (AUC {best.auc:.3f}), "
            "which is used. A larger budget or more features that may change would help.",
            WeightWarning,
            stacklevel=5,
        )
    return search


def _most_accurate(trials: list[Trial]) -> Trial:
    """The trial of the least weight, unless a larger one is better by more than chance."""
    best, *others = sorted(trials, key=lambda t: t.weight)
    for trial in others:
        if trial.auc > best.auc + CHANCE:
            best = trial
    return best


def _most_recourse(trials: list[Trial]) -> Trial:
    return max(trials, key=lambda t: t.recourse)


def _first(ladder: np.ndarray, holds: Callable[[float], bool]) -> int:
    """The first step at which something holds that then goes on to hold; len(ladder) if none."""
    low, high = 0, len(ladder)
    while low < high:
        middle = (low + high) // 2
        if holds(ladder[middle]):
            high = middle
        else:
            low = middle + 1
    return low

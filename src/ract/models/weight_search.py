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

Where plans are to last, two models are grown for a trial, on either half of the people. Each
person who is held out gets a plan of one of them, which the other then accepts or not. Plans
have the least strength at which they last as was asked for, as those of the fitted model will:

    strength                 .7    .8    .9
    plans that last         .81   .93   .98
    refused with such one   .77   .74   .41        asked: lasting=0.9
                                  ^ counts

The floor of leaves (``min_leaf_share``) is chosen too, from the highest downwards: it keeps
recourse from being bought with leaves of the wrong label. Recourse grows as it falls, so that
a lower one is tried with smaller weights only.
"""

from __future__ import annotations

import warnings
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from ract._utils.statistics import exact_share
from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.recourse.common.search import Limits
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble

LADDER = 3.0 ** np.arange(-4, 3)
HELD_OUT = 0.2  # share of the people on whom trials are measured
BATCH, MOST_SEARCHED = 30, 150  # of the people whom a trial refuses
MAX_NODES = 300  # of a search; one that needs more counts as without recourse
CHANCE = 0.005  # by which the AUC of two weights differs on a few hundred people anyway
SURE = 0.95  # confidence, on either side, at which a trial ends before everyone was searched
FLOORS = (0.5, 0.4, 0.0)
STRENGTHS = (0.7, 0.8, 0.9)  # of plans that are to last
PLAN_NODES = 1000  # of a search for one; what it has found by then counts
NEAR = 0.01  # accuracy that may be lost before a lower floor is tried
NO_PLAN, FAILS, LASTS = range(3)  # what becomes of a refused person's plan


class WeightWarning(UserWarning):
    """A goal that no weight meets, or no weight and floor."""


@dataclass(frozen=True)
class Trial:
    """One weight and what came of it on held-out people.

    Parameters
    ----------
    weight : float
    recourse : float
        Share of them who are accepted or have an action within the budget; one that lasts,
        where that is the goal.
    auc, accuracy : float
        Means of two models, where plans are to last.
    floor, strength : float or None
        Where plans are to last: ``min_leaf_share``, and the strength of plans.
    """

    weight: float
    recourse: float
    auc: float
    accuracy: float
    floor: float | None = None
    strength: float | None = None


@dataclass(frozen=True)
class WeightSearch:
    """Trials of a search for ``recourse_weight`` (and for a floor where plans are to last).

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
        Number of held-out people on whom the trials were measured.
    floor : float or None
        The chosen floor, if plans should last.
    """

    weight: float
    met: bool
    min_recourse: float | None
    max_auc_loss: float | None
    trials: tuple[Trial, ...]
    n_people: int
    floor: float | None = None

    def to_frame(self) -> pd.DataFrame:
        """The trials as a table, by weight, with the chosen one marked."""
        chosen = [(t.weight, t.floor) == (self.weight, self.floor) for t in self.trials]
        table = pd.DataFrame([asdict(trial) for trial in self.trials]).assign(chosen=chosen)
        table = table.dropna(axis=1, how="all")
        return table.sort_values("weight", kind="stable", ignore_index=True)


@dataclass(frozen=True)
class Validation:
    """Held-out people on whom trials are measured.

    Parameters
    ----------
    matrix : float (people, columns)
    desired : uint8 (people,)
    weights : float (people,)
    learned : sequence of (axes, cost)
        What the growing people gave; of either half of them, where plans are to last.
    budget : float
    goal : float or None
        The recourse ratio to reach; a trial ends once it is clear whether it does.
    n_jobs : int or None
    lasting : float
        The share of plans that are to last.
    """

    matrix: np.ndarray
    desired: np.ndarray
    weights: np.ndarray
    learned: Sequence[tuple[tuple[Axis, ...], FittedCost]]
    budget: float
    goal: float | None
    n_jobs: int | None
    lasting: float = 0.0

    def trial(self, weight: float, ensemble: TreeEnsemble) -> Trial:
        """What an ensemble that was grown with a weight gives these people."""
        accepted, auc, accuracy = self._decided(ensemble)
        search = ExactSearch(ensemble, *self.learned[0])

        def ask(people: np.ndarray) -> np.ndarray:
            limits = Limits(max_nodes=MAX_NODES, n_jobs=self.n_jobs)
            answers = search.attains(self.matrix[people], self.budget, limits)
            return np.where(answers == Status.FOUND, LASTS, NO_PLAN)[None]

        recourse, _ = self._recourse(np.flatnonzero(~accepted), ask, BATCH)
        return Trial(weight, recourse, auc, accuracy)

    def lasting_trial(self, weight: float, floor: float, halves: Sequence[TreeEnsemble]) -> Trial:
        """What ensembles of either half give these people: plans of one that the other accepts."""
        accepted, auc, accuracy = zip(*map(self._decided, halves), strict=True)
        everyone = np.arange(len(self.desired))
        planner = everyone % 2
        searches = [
            [ExactSearch(half.stronger(strength), *learned) for strength in STRENGTHS]
            for half, learned in zip(halves, self.learned, strict=True)
        ]

        def ask(people: np.ndarray) -> np.ndarray:
            answers = np.full((len(STRENGTHS), len(people)), NO_PLAN)
            for k, of_half in enumerate(searches):
                asked, judge = np.flatnonzero(planner[people] == k), halves[1 - k]
                for at, search in zip(answers, of_half, strict=True):
                    plans = search.solve(
                        self.matrix[people[asked]],
                        self.budget,
                        max_nodes=PLAN_NODES,
                        n_jobs=self.n_jobs,
                    )
                    asked = asked[plans.found]  # who has no plan has none that wins more
                    lasts = judge.decide(plans.values[plans.found])
                    at[asked] = np.where(lasts, LASTS, FAILS)
            return answers

        refused = np.flatnonzero(~np.array(accepted)[planner, everyone])
        # Without a goal the trial with most recourse is wanted, so that everyone is searched.
        batch = MOST_SEARCHED if self.goal is None else BATCH
        recourse, at = self._recourse(refused, ask, batch)
        means = float(np.mean(auc)), float(np.mean(accuracy))
        return Trial(weight, recourse, *means, floor, STRENGTHS[at])

    def _decided(self, ensemble: TreeEnsemble) -> tuple[np.ndarray, float, float]:
        """Whom an ensemble accepts, its AUC and its accuracy."""
        accepted = ensemble.decide(self.matrix, n_jobs=self.n_jobs)
        share = ensemble.strength(self.matrix, n_jobs=self.n_jobs)
        if ensemble.combine == "votes":
            share = ensemble.totals(self.matrix, n_jobs=self.n_jobs)[1] / ensemble.n_trees
        auc = roc_auc_score(self.desired, share, sample_weight=self.weights)
        right = accepted == (self.desired == 1)
        return accepted, float(auc), float(np.average(right, weights=self.weights))

    def _recourse(
        self, refused: np.ndarray, ask: Callable[[np.ndarray], np.ndarray], batch: int
    ) -> tuple[float, int]:
        """Recourse ratio, searched for in batches of the refused until it is clear.

        ask: what becomes of some people's plans (strengths, people). Returns the ratio at the
        least strength whose plans last, the highest if none do, and which that is.
        """
        if not len(refused):
            return 1.0, 0
        w, order = self.weights, spread(len(refused), min(len(refused), MOST_SEARCHED))
        asked = refused[order]
        share_refused = float(w[refused].sum() / w.sum())
        answers = ask(asked[:batch])
        while True:
            n = answers.shape[1]
            n_last, n_plans = ((answers >= least).sum(axis=1) for least in (LASTS, FAILS))
            enough = np.flatnonzero(n_last >= self.lasting * n_plans)
            at = int(enough[0]) if len(enough) else len(answers) - 1
            without = answers[at] != LASTS
            if n == len(asked) or self._is_clear(without, share_refused):
                share = float(np.average(without, weights=w[asked[:n]]))
                return 1 - share * share_refused, at
            answers = np.append(answers, ask(asked[n : n + batch]), axis=1)

    def _is_clear(self, without: np.ndarray, share_refused: float) -> bool:
        """Whether the goal lies outside the interval of what was seen so far."""
        if self.goal is None:
            return True
        failures, n = int(without.sum()), len(without)
        share = exact_share(failures, n, 2 * SURE - 1)
        return not share.low <= (1 - self.goal) / share_refused <= share.high


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
        best = _most_accurate(enough) if met else _most_recourse(trials)
        weight = best.weight
        if not met:
            _warn(
                f"No weight gives {min_recourse:.1%} of people recourse; the best is "
                f"{best.recourse:.1%} with recourse_weight={best.weight:.3g} (AUC {best.auc:.3f})"
            )
    else:
        assert max_auc_loss is not None
        floor = tried(0.0).auc - max_auc_loss
        above = _first(ladder, lambda w: tried(w).auc < floor)
        met, weight = True, ladder[above - 1] if above else 0.0
    return WeightSearch(float(weight), met, min_recourse, max_auc_loss, tuple(trials), n_people)


def choose_weight_and_floor(
    attempt: Callable[[float, float], Trial],
    unit: float,
    floors: Sequence[float],
    *,
    min_recourse: float | None,
    max_auc_loss: float | None,
    n_people: int,
) -> WeightSearch:
    """The weight and the floor that meet a goal best, of trials in which plans are to last.

    No weight is tried first. Then the ladder is bisected for one floor after the other.

    Parameters
    ----------
    attempt : callable
        From a weight and a floor to their trial.
    unit, n_people
        As in ``choose_weight``.
    floors : sequence of float
        Descending.
    min_recourse : float or None
        The most accurate trial with this share of people who have recourse, by AUC and then,
        where that differs by chance alone, by accuracy. Lower floors are left out once such a
        trial is about as accurate as that without a weight.
    max_auc_loss : float or None
        Else: the most recourse at an AUC at most this much below that of no weight.

    Examples
    --------
    >>> def attempt(weight, floor):
    ...     recourse = 1 - (0.1 + floor / 5) / (1 + weight)
    ...     return Trial(weight, recourse, 0.8 - 0.01 * weight, 0.7, floor, 0.8)
    >>> goal = {"min_recourse": 0.95, "max_auc_loss": None, "n_people": 9}
    >>> search = choose_weight_and_floor(attempt, 1.0, [0.5, 0.0], **goal)
    >>> search.weight, search.floor, len(search.trials)
    (1.0, 0.0, 7)
    """
    trials: list[Trial] = []

    def tried(weight: float, floor: float) -> Trial:
        trials.append(attempt(float(weight), float(floor)))
        return trials[-1]

    def first(ladder: np.ndarray, floor: float, holds: Callable[[Trial], bool]) -> int:
        return _first(ladder, lambda weight: holds(tried(weight, floor)))

    def enough(trial: Trial) -> bool:
        return min_recourse is not None and trial.recourse >= min_recourse

    def as_accurate(trial: Trial) -> bool:
        return trial.auc >= plain.auc - CHANCE and trial.accuracy >= plain.accuracy - NEAR

    ladder, plain = LADDER * unit, tried(0.0, floors[-1])
    if max_auc_loss is not None:
        least = plain.auc - max_auc_loss
        for floor in floors:
            first(ladder, floor, lambda trial: trial.auc < least)
        good = [trial for trial in trials if trial.auc >= least]
        best = _most_recourse(good)
    else:
        for floor in floors:
            if any(enough(trial) and as_accurate(trial) for trial in trials):
                break
            last = first(ladder, floor, enough)
            ladder = ladder[: last + 1]  # recourse grows as the floor falls
        good = [trial for trial in trials if enough(trial)]
        best = _auc_then_accuracy(good) if good else _most_recourse(trials)
    if not good:
        _warn(
            f"No weight and floor give {min_recourse:.1%} of people a plan that lasts; the best "
            f"is {best.recourse:.1%} with recourse_weight={best.weight:.3g} and "
            f"min_leaf_share={best.floor:g} (AUC {best.auc:.3f})"
        )
    return WeightSearch(
        best.weight, bool(good), min_recourse, max_auc_loss, tuple(trials), n_people, best.floor
    )


def _warn(fault: str) -> None:
    warnings.warn(
        f"{fault}, which is used. A larger budget or more features that may change would help.",
        WeightWarning,
        stacklevel=5,
    )


def _most_accurate(trials: list[Trial]) -> Trial:
    """The trial of the least weight, unless a larger one is better by more than chance."""
    best, *heavier = sorted(trials, key=lambda t: t.weight)
    for trial in heavier:
        if trial.auc > best.auc + CHANCE:
            best = trial
    return best


def _auc_then_accuracy(trials: list[Trial]) -> Trial:
    """The most accurate of those whose AUC is the highest up to chance; else the least weight."""
    highest = max(trial.auc for trial in trials)
    near = [trial for trial in trials if trial.auc >= highest - CHANCE]
    return max(near, key=lambda t: (t.accuracy, -t.weight))


def _most_recourse(trials: list[Trial]) -> Trial:
    return max(trials, key=lambda t: t.recourse)


def _first(ladder: np.ndarray, holds: Callable[[float], bool]) -> int:
    """The first step at which something holds that then goes on to hold; len(ladder) if none."""
    return bisect_left(ladder, True, key=holds)

"""How strong a plan must be to last: measured once, kept with the model.

Strengths are tested from the highest at which there are enough plans downwards, each by a one-sided
test, and the sequence ends at the first that fails. Tested in a fixed order like this, every
strength that passed holds at once with the confidence of one test:

    strength          .60  .70  .75  .80  .85  .90  .95
    plans that last   .71  .88  .93  .95  .97  .98   -      too few plans
    at least          .66  .84  .90  .93  .95  .95
                                 ^ the smallest for a promise of 90%

Given the replicates people are independent, which gives an exact bound. But the plans of some
planners last longer than those of others, and the model that gives the plans is one more planner:
so the share must also be as large with the spread between planners, as that of a new one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta, t

from ract._utils.errors import InvalidSpec
from ract._utils.progress import track
from ract.recourse.lasting import STRENGTHS, found_in
from ract.recourse.replicates import PLANNERS, Replicates


class LastingWarning(UserWarning):
    """Plans that were not shown to last as was asked for."""


# Refused people who may be asked. A few are asked first, to see how many of them have plans; of
# the others as many are asked at each strength as should give so many plans.
N_REFUSED, EVERY = 440, 15
FEWEST_PLANS, ENOUGH_PLANS = 100, 160
# Planners with fewer plans say little about the spread between planners.
FEWEST_OF_PLANNER = 8


@dataclass(frozen=True)
class Point:
    """What was seen at one strength.

    Parameters
    ----------
    strength : float
        What plans had to win; 0 for what the decision needs.
    expected : float
        How many plans there would be if all were asked, judging by other people.
    refused, plans, last : int
        People asked, plans found, and plans that the judge accepted.
    spread : tuple of float
        Least and largest share of plans that last, over planners; NaN if they have too few.
    error : float
        How far the share of one more planner may lie from the share of all: a standard error.
    """

    strength: float
    expected: float
    refused: int
    plans: int
    last: int
    spread: tuple[float, float]
    error: float = 0.0

    def at_least(self, confidence: float) -> float:
        """The share of plans that last, at the least.

        The lower of two one-sided bounds: of Clopper and Pearson, for people; and of Student, for
        the plans of a new model, by the spread between planners.
        """
        if self.last == 0:
            return 0.0
        n, last = self.plans, self.last
        of_people = float(beta.ppf(1 - confidence, last, n - last + 1))
        of_models = last / n - self.error * float(t.ppf(confidence, len(PLANNERS) - 1))
        return max(0.0, min(of_people, of_models))


@dataclass(frozen=True)
class LastingCurve:
    """How likely plans last, by their strength: the probability over people and one retraining.

    It is about refused people who have a plan of that strength within the budget, and about the
    same learner trained once more, on as many other people of the same population.

    Parameters
    ----------
    points : tuple of Point
        By ascending strength; none below the first that failed.
    confidence : float
    lasting : float or None
        The probability that was asked for when the model was fitted.

    Examples
    --------
    >>> seen = [(0.6, 100, 60), (0.8, 100, 97), (0.9, 100, 99)]
    >>> points = [Point(s, n, 120, n, last, (0.9, 1.0)) for s, n, last in seen]
    >>> curve = LastingCurve(tuple(points), 0.9, 0.9)
    >>> curve.strength_for(0.9)
    0.8
    >>> print(curve)
    A plan of strength 0.8 lasts with a probability of at least 90%, at a confidence of 90%:
    of 100 such plans, 97 were accepted by a model trained on other people (by model, 90% to 100%).
    83% of the refused have one within the budget.
    """

    points: tuple[Point, ...]
    confidence: float
    lasting: float | None = None

    def strength_for(self, lasting: float) -> float | None:
        """The smallest strength whose plans last with a probability; None if none was shown to."""
        smallest = None
        for point in reversed(self.points):
            if point.expected < FEWEST_PLANS and smallest is None:
                continue
            if self.at_least(point) < lasting:
                break
            smallest = point.strength
        return smallest

    def default(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What a model gives where options say nothing of it: plans that last, else the strongest.

        Only the exact search finds the strongest, and not together with every option.
        """
        asked = {name for name, value in options.items() if value not in (None, False, 0, ())}
        if self.lasting is None or asked & {"strength", "lasting"} or options.get("strength") == 0:
            return {}
        if self.strength_for(self.lasting) is not None:
            return {"lasting": self.lasting}
        other = {"margin", "at_least", "method", "effects", "plausibility", "cost"}
        return {} if asked & other else {"strength": "most"}

    def at_least(self, point: Point) -> float:
        """The share of plans of a strength that last, at the least."""
        return point.at_least(self.confidence)

    def to_frame(self) -> pd.DataFrame:
        """One row per strength."""
        rows = [
            asdict(point)
            | {"share": point.last / max(point.plans, 1), "at least": self.at_least(point)}
            for point in self.points
        ]
        return pd.DataFrame(rows)

    def __str__(self) -> str:
        goal = 0.9 if self.lasting is None else self.lasting
        strength = self.strength_for(goal)
        if not self.points:
            return (
                f"No strength was shown to make plans last with a probability of {goal:.0%}:\n"
                "there were too few people with plans to see how long they last."
            )
        if strength is None:
            best = max(self.points, key=self.at_least)
            return (
                f"No strength was shown to make plans last with a probability of {goal:.0%}.\n"
                f"The most that was shown is {self.at_least(best):.0%}, at a strength of "
                f"{best.strength:g}: {best.last} of {best.plans} plans lasted."
            )
        point = next(point for point in self.points if point.strength == strength)
        what = f"of strength {strength:g}" if strength > 0 else "of any strength"
        low, high = point.spread
        spread = "" if np.isnan(low) else f" (by model, {low:.0%} to {high:.0%})"
        return (
            f"A plan {what} lasts with a probability of at least {goal:.0%}, at a confidence of "
            f"{self.confidence:.0%}:\nof {point.plans} such plans, {point.last} were accepted by "
            f"a model trained on other people{spread}.\n"
            f"{point.plans / max(point.refused, 1):.0%} of the refused have one within the budget."
        )


def calibrate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    lasting: float | None = None,
    confidence: float = 0.9,
    strengths: Sequence[float] = STRENGTHS[1:],
    n_refused: int = N_REFUSED,
    sample_weight: Any = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    **options: Any,
) -> LastingCurve:
    """How strong plans must be to last, for a learner and a table.

    ``RecourseForestClassifier(lasting=0.9)`` does this when it is fitted; call it for a learner
    of another library and give the curve to ``ract.import_model``.

    Parameters
    ----------
    estimator : classifier
        Not fitted; any that ``ract.evaluation.metrics.lasting_recourse`` takes.
    X : frame or array
    y : array (people,)
    lasting : float, optional
        The probability that is wanted, of which ``print`` of the curve speaks: the test ends at
        the first strength that was not shown to have it, and the curve with it. By default every
        strength is tested.
    confidence : float
        Of the statement.
    strengths : sequence of float
        Ascending.
    n_refused : int
        How many refused people may be asked; a few of them for where to begin.
    sample_weight, random_state, n_jobs, progress, **options
        As in ``ract.evaluation.metrics.lasting_recourse``.

    Returns
    -------
    LastingCurve

    Examples
    --------
    >>> from ract import RecourseForestClassifier, load_loans
    >>> loans = load_loans(n_people=2000)
    >>> forest = RecourseForestClassifier(
    ...     loans.actions, n_estimators=20, recourse_weight=0.3, random_state=0)
    >>> curve = calibrate(forest, loans.frame, loans.target, strengths=[0, 0.7, 0.8])
    >>> curve.strength_for(0.5)
    0.8
    """
    strengths = [float(strength) for strength in strengths]
    if strengths != sorted(set(strengths)):
        raise InvalidSpec(f"strengths must ascend, got {strengths}.")
    check_lasting(lasting)
    replicates = Replicates(
        estimator, X, y, sample_weight, random_state, n_jobs, options, progress
    )  # fmt: skip
    points: list[Point] = []
    for point in _points(replicates, strengths, n_refused, whole=lasting is None):
        points.insert(0, point)
        if lasting is not None and point.at_least(confidence) < lasting:
            break
    return LastingCurve(tuple(points), confidence, lasting)


def check_lasting(lasting: Any) -> None:
    """Refuse what is no probability to promise."""
    number = isinstance(lasting, (int, float, np.number)) and not isinstance(lasting, bool)
    if lasting is not None and not (number and 0 < lasting < 1):
        raise InvalidSpec(f"lasting must be a share between 0 and 1, got {lasting!r}.")


def _points(
    replicates: Replicates, strengths: Sequence[float], n_refused: int, *, whole: bool
) -> Iterator[Point]:
    """What is seen at strengths with enough plans, the highest first; if whole, at the lowest too.

    How many people are tested follows from others, who are only counted: where everyone has a
    plan, fewer are needed.
    """
    most = -(-n_refused // len(PLANNERS))
    n_counted = -(-most // EVERY)
    counted = _ask(replicates, strengths, [slice(n_counted)] * len(strengths))
    n_left = sum(len(people[n_counted:most]) for people in replicates.refused)
    tested, asked, expected = [], [], []
    for strength in strengths:
        share = found_in(counted[counted["strength"] == strength]).mean() if len(counted) else 0.0
        if share * n_left >= FEWEST_PLANS or (whole and strength == strengths[0]):
            n_each = ceil(ENOUGH_PLANS / max(share, 1 / n_refused) / len(PLANNERS))
            tested.append(strength)
            asked.append(slice(n_counted, min(most, n_counted + n_each)))
            expected.append(float(share * n_left))
    for strength, people, n in reversed(list(zip(tested, asked, expected, strict=True))):
        part = _ask(replicates, [strength], [people])
        plans = part[found_in(part)]
        by_planner = plans.groupby("planner")["lasts"].agg(["mean", "size"])
        shares = by_planner["mean"][by_planner["size"] >= FEWEST_OF_PLANNER]
        spread = (float(shares.min()), float(shares.max())) if len(shares) else (np.nan, np.nan)
        yield Point(
            strength, n, len(part), len(plans), int(plans["lasts"].sum()), spread,
            error_of(by_planner["mean"].to_numpy(), by_planner["size"].to_numpy()),
        )  # fmt: skip


def error_of(shares: np.ndarray, sizes: np.ndarray) -> float:
    """The standard error of a new planner's share, from those of others (analysis of variance).

    Parameters
    ----------
    shares, sizes : array (planners,)
        Of each planner's plans: the share that lasts, and how many there are.

    Examples
    --------
    >>> alike, unlike = np.full(10, 0.9), np.tile([0.8, 1.0], 5)
    >>> round(error_of(alike, np.full(10, 20)), 3), round(error_of(unlike, np.full(10, 20)), 3)
    (0.022, 0.09)
    """
    n, k = sizes.sum(), len(sizes)
    if k < 2 or n <= k:
        return 0.0
    mean = (sizes * shares).sum() / n
    within = (sizes * shares * (1 - shares)).sum() / (n - k)
    between = (sizes * (shares - mean) ** 2).sum() / (k - 1)
    size = (n - (sizes**2).sum() / n) / (k - 1)
    own = max(0.0, (between - within) / size)
    return float(np.sqrt(own * (1 + 1 / k) + within / n))


def _ask(
    replicates: Replicates, strengths: Sequence[float], people: Sequence[slice]
) -> pd.DataFrame:
    """Trials of every planner's people."""
    planners = track(
        range(len(PLANNERS)), len(PLANNERS), "Asking other models", show=replicates.progress
    )
    return pd.concat([replicates.trials(k, strengths, people) for k in planners])

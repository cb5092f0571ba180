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
so the share must also be as large with the spread between planners, as that of a new one. And no
single planner may decide: both bounds must hold without any one of them.

Two rules say which plans a strength is about. "strength": the cheapest plan that wins so much.
"strongest", for forests: the strongest plan of everyone whose strongest wins so much. Forests of
other people honour it more often, so that lower strengths pass and more people have a promise; for
boosted models that was not so (``benchmarks/simulate_lasting.py`` and docs/lasting.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import ceil
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import t

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import clopper_pearson_lower
from ract._utils.typing import ColumnLike, TableLike
from ract._utils.validation import NONE, PROBABILITY, check_value, one_of
from ract.recourse.lasting import STRENGTHS, found_in
from ract.recourse.plain_judges import SAME, checked_learners, described
from ract.recourse.replicates import PLANNERS, Replicates, for_part
from ract.trees.ensemble import TreeEnsemble

Rule = Literal["strength", "strongest"]
# Options that the strongest plan cannot be asked for with, and those that several models cannot.
NOT_STRONGEST = frozenset({"margin", "method", "effects", "plausibility", "cost", "earned", "by"})
NOT_SEVERAL = NOT_STRONGEST | {"ranges", "at_least", "n_alternatives", "prefer"}


class LastingWarning(UserWarning):
    """Plans could not be shown to last with the probability that was asked for."""


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
    by_planner : tuple of (int, int)
        Of each planner with plans: how many, and how many of them last. Without any (a model file
        of version 0.2), what holds without one of the planners is not known and not asked.
    """

    strength: float
    expected: float
    refused: int
    plans: int
    last: int
    spread: tuple[float, float]
    error: float = 0.0
    by_planner: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, strength: float, expected: float, refused: int, plans: pd.DataFrame) -> Point:
        """What was seen of plans, with columns planner and lasts."""
        counts = plans.groupby("planner")["lasts"].agg(["size", "sum"]).to_numpy(int)
        enough = counts[counts[:, 0] >= FEWEST_OF_PLANNER]
        shares = enough[:, 1] / enough[:, 0]
        spread = (float(shares.min()), float(shares.max())) if len(shares) else (np.nan, np.nan)
        asked, last = (strength, expected, refused), int(plans["lasts"].sum())
        by_planner = tuple((int(n), int(last)) for n, last in counts)
        return cls(*asked, len(plans), last, spread, _error(counts), by_planner)

    def at_least(self, confidence: float) -> float:
        """The share of plans that last, at the least.

        The lower of two one-sided bounds: of Clopper and Pearson, for people; and of Student, for
        the plans of a new model, by the spread between planners. With all planners and without
        each of them: a promise that hangs on one replicate is given by luck.
        """
        lowest = _lower_bound(self.plans, self.last, self.error, confidence)
        for k in range(len(self.by_planner)):
            other_planners = np.delete(np.array(self.by_planner), k, axis=0)
            n, last = other_planners.sum(axis=0).tolist()
            lowest = min(lowest, _lower_bound(n, last, _error(other_planners), confidence))
        return lowest


def _lower_bound(n: int, last: int, error: float, confidence: float) -> float:
    if last == 0:
        return 0.0
    of_people = clopper_pearson_lower(last, n, confidence)
    of_models = last / n - error * float(t.ppf(confidence, len(PLANNERS) - 1))
    return max(0.0, min(of_people, of_models))


def _error(counts: np.ndarray) -> float:
    return error_of(counts[:, 1] / np.maximum(counts[:, 0], 1), counts[:, 0])


@dataclass(frozen=True)
class LastingCurve:
    """Probability that plans last, by strength, over people and one retraining.

    It is about refused people who have a plan of that strength within the budget, and about the
    same learner trained once more, on as many other people of the same population. If other
    learners were named, it is about all of them at once.

    Parameters
    ----------
    points : tuple of Point
        In order of increasing strength; none below the first that failed.
    confidence : float
    lasting : float or None
        The probability that was asked for when the model was fitted.
    rule : {"strength", "strongest"}
        Which plans a strength is about: the cheapest plans of that strength, or the strongest plans
        of people whose strongest plan has at least that strength.
    robust_to : tuple of {"same", "boosting", "linear"}
        The learners that had to accept a plan, for it to last.
    adoption : float
        Share of the refused who followed their strongest plan before models were trained again.
    guard : TreeEnsemble, optional
        A plain booster in which plans must have the same strength as in the model, if "boosting" is
        one of the learners.

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
    rule: Rule = "strength"
    robust_to: tuple[str, ...] = SAME
    adoption: float = 0.0
    guard: TreeEnsemble | None = field(default=None, compare=False, repr=False)

    def strength_for(self, lasting: float) -> float | None:
        """The smallest strength whose plans last with a probability; None if none was found."""
        smallest = None
        for point in reversed(self.points):
            if point.expected < FEWEST_PLANS and smallest is None:
                continue
            if self.at_least(point) < lasting:
                break
            smallest = point.strength
        return smallest

    def default(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Default options of a search: plans that last or, if none were found to, the strongest.

        Only the exact search finds the strongest plans, and it cannot combine that with every
        option.
        """
        asked = {name for name, value in options.items() if value not in (None, False, 0, ())}
        if self.lasting is None or asked & {"strength", "lasting"} or options.get("strength") == 0:
            return {}
        if self.strength_for(self.lasting) is None:
            return {} if asked & {"at_least", *NOT_STRONGEST} else {"strength": "most"}
        if asked & self._apart:
            return {}
        return {"lasting": self.lasting}

    @property
    def _apart(self) -> frozenset[str]:
        """Options that promised plans cannot be asked for with."""
        if self.guard is not None:
            return NOT_SEVERAL
        return NOT_STRONGEST if self.rule == "strongest" else frozenset()

    def at_least(self, point: Point) -> float:
        """Lower bound on the share of plans of a strength that last."""
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
        what += " that a plain booster agrees with" if self.guard is not None else ""
        if self.rule == "strongest":
            what = f"that is a person's strongest and wins {strength:g} or more"
        low, high = point.spread
        spread = "" if np.isnan(low) else f" (by model, {low:.0%} to {high:.0%})"
        judge = "a model" if self.robust_to == SAME else f"{described(self.robust_to)},"
        people = "other people"
        if self.adoption > 0:
            people += f", of whom {self.adoption:.0%} of the refused had followed their plan"
        return (
            f"A plan {what} lasts with a probability of at least {goal:.0%}, at a confidence of "
            f"{self.confidence:.0%}:\nof {point.plans} such plans, {point.last} were accepted by "
            f"{judge} trained on {people}{spread}.\n"
            f"{point.plans / max(point.refused, 1):.0%} of the refused have one within the budget."
        )


def calibrate(
    estimator: Any,
    X: TableLike,
    y: ColumnLike,
    *,
    lasting: float | None = None,
    confidence: float = 0.9,
    strengths: Sequence[float] = STRENGTHS[1:],
    n_refused: int = N_REFUSED,
    rule: Rule | None = None,
    robust_to: Sequence[str] = SAME,
    adoption: float = 0.0,
    sample_weight: ColumnLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool = False,
    **options: Any,
) -> LastingCurve:
    """Measure how strong plans must be to last, for a learner and a table.

    Replicates are fitted on two fifths of the people. If the learner has a smallest number of
    people in a leaf (``min_samples_leaf``, ``min_child_samples``), it is two fifths as large.

    ``RecourseForestClassifier(lasting=0.9)`` does this when it is fitted; call it for a learner
    of another library and give the curve to ``ract.import_model``.

    Parameters
    ----------
    estimator : classifier
        Not fitted; any that ``ract.recourse.lasting_recourse`` takes.
    X : frame or array
    y : array (people,)
    lasting : float, optional
        The probability with which plans should last; ``print`` of the curve says whether they do.
        Testing, and the curve, end at the first strength that was not shown to have it. By default
        every strength is tested.
    confidence : float
        Of the statement.
    strengths : sequence of float
        Ascending.
    n_refused : int
        How many refused people may be used at most; a few of them determine the first strength.
    rule : {"strength", "strongest"}, optional
        Which plans are promised to last: the cheapest plans of a strength, or the strongest within
        the budget. By default the strongest for forests whose trees vote or are averaged, the
        cheapest for boosted models, single trees and searches that cannot find the strongest.
    robust_to : sequence of {"same", "boosting", "linear"}
        The learners that must all accept a plan for it to last: the learner itself, a plain
        booster, a logistic regression. Each accepts as many people as the learner does. With
        "boosting" plans must also have the same strength in a plain booster of the planner's own
        people, which is stored with the curve, and the rule is "strength".
    adoption : float
        Share of the refused people who follow their strongest plan before the learner is trained
        again on them, with outcomes drawn from a plain booster of other people. The promise then
        holds if so many people act. X must be a pandas frame, and the search must be able to find
        the learner's strongest plans.
    sample_weight, random_state, n_jobs, progress, **options
        As in ``ract.recourse.lasting_recourse``.

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
    >>> curve.rule, curve.strength_for(0.5)
    ('strongest', 0.0)
    """
    strengths = [float(strength) for strength in strengths]
    if strengths != sorted(set(strengths)):
        raise InvalidSpec(f"strengths must ascend, got {strengths}.")
    check_value("lasting", lasting, NONE, PROBABILITY)
    check_value("rule", rule, NONE, one_of("strength", "strongest"))
    table = for_part(estimator), X, y, sample_weight
    learners = checked_learners(robust_to)
    run = random_state, n_jobs, options, progress
    replicates = Replicates(*table, *run, learners, True, adoption)
    if replicates.guarded and rule == "strongest":
        raise InvalidSpec("The strongest plan of several models cannot be found: leave rule out.")
    if rule is None:
        rule = "strongest" if replicates.votes and not replicates.guarded else "strength"
    seen = _strongest if rule == "strongest" else _cheapest
    points: list[Point] = []
    for point in seen(replicates, strengths, n_refused, whole=lasting is None):
        points.insert(0, point)
        if lasting is not None and point.at_least(confidence) < lasting:
            break
    guard = replicates.guard() if points else None
    return LastingCurve(tuple(points), confidence, lasting, rule, learners, adoption, guard)


def _cheapest(
    replicates: Replicates, strengths: Sequence[float], n_refused: int, *, whole: bool
) -> Iterator[Point]:
    """What is seen at strengths with enough plans, the highest first; if whole, at the lowest too.

    How many people are tested follows from others, who are only counted: where everyone has a
    plan, fewer are needed.
    """
    most, n_counted, n_left = _people(replicates, n_refused)
    counted = replicates.all_trials(strengths, [slice(n_counted)] * len(strengths))
    tested = []
    for strength in strengths:
        share = found_in(counted[counted["strength"] == strength]).mean() if len(counted) else 0.0
        if share * n_left >= FEWEST_PLANS or (whole and strength == strengths[0]):
            n_each = ceil(ENOUGH_PLANS / max(share, 1 / n_refused) / len(PLANNERS))
            asked = slice(n_counted, min(most, n_counted + n_each))
            tested.append((strength, asked, float(share * n_left)))
    for strength, people, expected in reversed(tested):
        part = replicates.all_trials([strength], [people])
        yield Point.of(strength, expected, len(part), part[found_in(part)])


def _strongest(
    replicates: Replicates, strengths: Sequence[float], n_refused: int, *, whole: bool
) -> Iterator[Point]:
    """The same of strongest plans that win so much: everyone is asked once, about all strengths."""
    most, n_counted, n_left = _people(replicates, n_refused)
    counted = replicates.all_trials(["most"], [slice(n_counted)])
    won = counted["won"].to_numpy(float)[found_in(counted)]
    expected = {s: (won >= s).sum() / max(len(counted), 1) * n_left for s in strengths}
    lowest = strengths[:1] if whole else []
    tested = [s for s in strengths if expected[s] >= FEWEST_PLANS or s in lowest]
    if not tested:
        return
    part = replicates.all_trials(["most"], [slice(n_counted, most)])
    plans = part[found_in(part)]
    for strength in reversed(tested):
        strong = plans[plans["won"].to_numpy(float) >= strength]
        yield Point.of(strength, float(expected[strength]), len(part), strong)


def _people(replicates: Replicates, n_refused: int) -> tuple[int, int, int]:
    """Of each planner: who is asked at most and who is counted; how many of all are then left."""
    most = -(-n_refused // len(PLANNERS))
    n_counted = -(-most // EVERY)
    return most, n_counted, sum(len(people[n_counted:most]) for people in replicates.refused)


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
    of_planners = max(0.0, (between - within) / size)
    return float(np.sqrt(of_planners * (1 + 1 / k) + within / n))

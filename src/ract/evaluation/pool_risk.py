"""Plans that keep the lender's book: no more of them than a rise of the bad rate allows.

Everybody's plans of several strengths are found once. For a level, each refused person is offered
the cheapest of their plans that a first judge holds at most so bad. A second judge, of other
people, says what the accepted pool becomes if everyone follows: its bad rate may rise by no more
than was asked, with a bound. Levels are tried from the strictest upwards until the bound fails:

    level (bad at most)   .10  .15  .20  .25  .30
    people with an offer   12   40   95  160  210
    rise, at most          .00  .00  .01  .02  .04
                                      ^ the last for a rise of one point

Tried in a fixed order like this, the level that is kept has the confidence of one test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import Estimate
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import BELOW_ONE, check_value
from ract.data.frames import take_rows
from ract.evaluation.lending import TODAY, Pool
from ract.evaluation.outcomes import Judge, JudgedOutcomes, bad_of, check_judge
from ract.recourse.find import inquire
from ract.recourse.replicates import AtStrengths
from ract.recourse.result import Recourse

STRENGTHS = (0.0, 0.6, 0.7, 0.8, 0.9, "most")
LEVELS = tuple(np.round(np.arange(0.025, 1.0001, 0.025), 3).tolist())
# With fewer adopters nothing is tested yet.
FEWEST = 10


@dataclass(frozen=True)
class PoolOffers:
    """Plans that are offered, and what they do to the accepted pool.

    Parameters
    ----------
    recourse : Recourse
        Of the refused people: the plan that each is offered. People who are offered none are
        "unknown": another plan, which was not tried, might be possible.
    offered : bool (people,)
        Of all people.
    level : float or None
        The largest probability of the undesired outcome at which a plan is offered; None if no
        level meets the limit.
    rise : Estimate
        Of the bad rate, once everyone with an offer follows it, by the second judge.
    today : float
        The bad rate of those whom the model accepts.
    levels : DataFrame
        One row per level that was tried: ``level``, ``offers``, ``rise``, ``low``, ``high``.
    """

    recourse: Recourse
    offered: np.ndarray
    level: float | None
    rise: Estimate
    today: float
    levels: pd.DataFrame


def pool_offers(
    model: Classifier,
    X: TableLike,
    y: ColumnLike,
    judge: Judge,
    seeking: Judge,
    *,
    max_pool_risk: float = 0.0,
    strengths: Sequence[float | str] = STRENGTHS,
    confidence: float = 0.9,
    **options: Any,
) -> PoolOffers:
    """Offer only plans with which the accepted pool's bad rate rises by no more than a limit.

    Parameters
    ----------
    model, X, y, judge
        As in ``ract.evaluation.book``.
    seeking : OutcomeJudge or function
        A judge of other people, such as those of training, which chooses the plans. Plans that a
        judge has chosen look better to it than they are, so ``judge`` reports.
    max_pool_risk : float
        The largest rise of the bad rate, such as .01 for one point. The upper end of its interval
        must not exceed it.
    strengths : sequence of float or "most"
        Strengths of the plans that may be offered.
    confidence : float
        Of the interval; the error of the one-sided bound is half of that of the interval.
    **options
        Further ones of ``ract.find_recourse``, such as ``budget`` or ``max_changes``.

    Returns
    -------
    PoolOffers

    Examples
    --------
    >>> from ract import OutcomeJudge, load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, loans), new = loans_forest(), load_loans(400, random_state=1)
    >>> judge, seeking = (OutcomeJudge(new.actions, n_splits=3).fit(d.frame, d.target)
    ...                   for d in (new, loans))
    >>> offers = pool_offers(model, new.frame, new.target, judge, seeking, max_pool_risk=0.02)
    >>> bool(offers.rise.high <= 0.02)
    True
    """
    check_judge(judge)
    check_judge(seeking)
    if seeking is judge:
        raise InvalidSpec("seeking must be a judge of other people than the one that reports.")
    check_value("max_pool_risk", max_pool_risk, BELOW_ONE)
    found = _Found.of(model, X, strengths, options)
    bad = bad_of(y, found.desired, len(found.accepted))
    before = Pool(TODAY, found.accepted, bad.astype(float)).bad_rate(confidence)
    chosen_by, reported = found.judged_by(seeking), [found.outcomes(judge, s) for s in found.each]
    rows, passed = [], None
    for level in LEVELS:
        which = found.cheapest(chosen_by <= level)
        offered = which >= 0
        if offered.sum() < FEWEST:
            continue
        rise = _pool(found, which, reported, bad).rise(before, confidence)
        rows.append((level, int(offered.sum()), rise.value, rise.low, rise.high))
        if not rise.high <= max_pool_risk:
            break
        passed = level, which, rise
    level, which, rise = passed or (None, np.full(len(bad), -1), Estimate(0.0, 0.0, 0.0))
    levels = pd.DataFrame(rows, columns=["level", "offers", "rise", "low", "high"])
    return PoolOffers(found.offer(which), which >= 0, level, rise, before.value, levels)


@dataclass(frozen=True)
class _Found:
    """Plans of all people at several strengths.

    Parameters
    ----------
    each : list of Recourse
        By strength, about the refused.
    refused : int array
        Which of all people those are.
    accepted : bool (people,)
    desired : label
    """

    each: list[Recourse]
    refused: np.ndarray
    accepted: np.ndarray
    desired: Label

    @classmethod
    def of(
        cls,
        model: Classifier,
        X: TableLike,
        strengths: Sequence[float | str],
        options: dict[str, Any],
    ) -> _Found:
        """Find them."""
        inquiry = inquire(model, X, **{"explain": False, **options})
        accepted = inquiry.question.decide()
        refused = np.flatnonzero(~accepted)
        plans = AtStrengths(inquiry.of(refused))
        each = [plans.at(strength) for strength in strengths]
        return cls(each, refused, accepted, each[0].desired)

    def outcomes(self, judge: Judge, plans: Recourse) -> tuple[np.ndarray, JudgedOutcomes]:
        """Where the people with plans stand, and what a judge says of them there."""
        rows = np.flatnonzero(plans.within_budget & ~plans.only_supplied)
        return rows, JudgedOutcomes.of(
            judge, take_rows(plans.outcomes, rows), take_rows(plans.people, rows)
        )

    def judged_by(self, judge: Judge) -> np.ndarray:
        """How bad people are after each plan (strengths x refused); inf without one."""
        bad = np.full((len(self.each), len(self.refused)), np.inf)
        for k, plans in enumerate(self.each):
            rows, outcomes = self.outcomes(judge, plans)
            bad[k, rows] = outcomes.bad
        return bad

    def cheapest(self, may: np.ndarray) -> np.ndarray:
        """For each of all people the strength of their cheapest plan of those they may have."""
        has = np.array([plans.within_budget & ~plans.only_supplied for plans in self.each])
        cost = np.where(may & has, [plans.cost for plans in self.each], np.inf)
        which = np.full(len(self.accepted), -1)
        which[self.refused] = np.where(np.isfinite(cost.min(axis=0)), cost.argmin(axis=0), -1)
        return which

    def offer(self, which: np.ndarray) -> Recourse:
        """The plans of people by the strength that was chosen for each."""
        answers = self.each[0].answers.take(np.arange(len(self.refused)))
        chosen = which[self.refused]
        for k, plans in enumerate(self.each):
            rows = np.flatnonzero(chosen == k)
            answers.put(rows, plans.answers.take(rows))
        answers.withdraw(np.flatnonzero(chosen < 0), self.each[0].question.matrix)
        return Recourse(self.each[0].question, answers)


def _pool(
    found: _Found,
    which: np.ndarray,
    reported: list[tuple[np.ndarray, JudgedOutcomes]],
    bad: np.ndarray,
) -> Pool:
    """The accepted pool once everyone follows the plan that they are offered."""
    by_half = np.full((len(bad), reported[0][1].by_half.shape[1]), np.nan)
    mixed, offered = bad.astype(float), which >= 0
    for k, (rows, outcomes) in enumerate(reported):
        people = found.refused[rows]
        chosen = which[people] == k
        if chosen.any():
            mixed[people[chosen]] = outcomes.bad[chosen]
            by_half[people[chosen]] = outcomes.by_half[chosen]
    return Pool("offered", found.accepted | offered, mixed, offered, by_half)

"""The lender's book: approvals, bad rate and profit before and after people act on their plans.

The accepted pool after adoption is today's pool and the refused who have a plan and follow it:

    today's pool    outcomes that were observed (y)
    adopters        the judge's probabilities where their plans end

so that its bad rate is the mean over both. A plain model that accepts as many people, those whom
the judge holds best, stands beside today's: what the difference costs is the price of recourse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from ract._utils import statistics
from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.statistics import Estimate
from ract.data.frames import take_rows
from ract.data.group_sums import EVERYONE
from ract.data.groups import members_of
from ract.evaluation.metrics.letters import Letters
from ract.evaluation.metrics.sendable import sendable
from ract.evaluation.outcomes import Judge, Outcomes, check_judge
from ract.recourse.few_changes import plans_for_people
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse

TODAY, PLAIN = "today", "plain model"
PLANS = ("cheapest", "sendable", "strongest", "earned")


@dataclass(frozen=True, repr=False)
class Book:
    """What recourse does to a lender's book.

    Parameters
    ----------
    table : DataFrame
        One row per ``group`` and ``pool``: "today", "plain model" (as many people, those whom the
        judge holds best), and for each kind of plan the pool once everyone who has one follows it.
        ``people`` and how many are ``accepted``, ``adopters`` among them, ``unknown`` (refused
        people whose search did not end, counted as refused), then "approval rate", "bad rate",
        "rise" of the bad rate over today's and, with a margin and a loss, "profit" per 100 people,
        each with ``low`` and ``high``.
    price : Estimate
        Today's bad rate minus that of the plain model, with an interval.
    confidence : float
    margin, loss : float or None
        What a good loan earns and a bad one loses.
    """

    table: pd.DataFrame
    price: Estimate
    confidence: float
    margin: float | None = None
    loss: float | None = None

    def row(self, pool: str, group: Any = EVERYONE) -> pd.Series:
        """One row of the table, such as ``row("strongest")``."""
        table = self.table
        rows = table[(table["pool"] == pool) & (table["group"] == group)]
        if not len(rows):
            raise InvalidSpec(
                f"There is no pool {pool!r} of the group {group!r}; pools are "
                f"{', '.join(table['pool'].unique())}."
            )
        return rows.iloc[0]

    def __repr__(self) -> str:
        lines = []
        for _, row in self.table[self.table["group"] == EVERYONE].iterrows():
            text = f"{row['pool']}: {row['approval rate']:.0%} approved, bad rate "
            text += f"{row['bad rate']:.3f} ({row['bad rate low']:.3f} to "
            text += f"{row['bad rate high']:.3f})"
            if "profit" in row:
                text += f", profit per 100 people {row['profit']:.2f}"
            lines.append(text)
        price = self.price
        lines.append(
            f"price of recourse: {price.value:+.3f} ({price.low:+.3f} to {price.high:+.3f}) of bad "
            "rate against a plain model that approves as many"
        )
        return "\n".join(lines)


def book(
    model: Any,
    X: Any,
    y: Any,
    judge: Judge,
    *,
    plans: Iterable[str] | None = None,
    seeking: Any = None,
    margin: float | None = None,
    loss: float | None = None,
    groups: Any = None,
    others: Any = (),
    confidence: float = 0.9,
    **options: Any,
) -> Book:
    """Approval rate, bad rate and profit today, and once everyone follows their plan.

    Parameters
    ----------
    model : fitted classifier
        As in ``ract.find_recourse``.
    X : frame or array
        People who had no part in training.
    y : array (people,)
        What became of them: the classes of the model.
    judge : OutcomeJudge or function
        Who says what becomes of people once they have followed their plans; best fitted on X and y,
        since nobody is judged by their own half. Or a function from a table to probabilities of
        the desired class, where the truth is known.
    plans : sequence of {"cheapest", "sendable", "strongest", "earned"}, optional
        Which plans people follow; all by default, "earned" only with ``seeking``. "sendable": plans
        of at most three changes for which doing more was asked to be safe, of those that pass every
        check of ``ract.evaluation.sendable``, as letters say them.
    seeking : OutcomeJudge, optional
        A judge of other people than ``judge`` (``OutcomeJudge.fit_apart``), with whom earned plans
        are searched for.
    margin, loss : float, optional
        What a good loan earns, and what a bad one loses (the loss given default), both in the same
        unit, for the profit per 100 people.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    others : fitted classifiers, optional
        As in ``ract.evaluation.sendable``: sendable plans must last.
    confidence : float
        Of intervals. Those of adopters count in how far halves of the judge's table disagree.
    **options
        Further ones of ``ract.find_recourse``, such as ``budget``.

    Returns
    -------
    Book

    Examples
    --------
    >>> from ract import OutcomeJudge, load_loans
    >>> from ract.models.examples import loans_forest
    >>> (model, _), new = loans_forest(), load_loans(400, random_state=1)
    >>> judge = OutcomeJudge(new.actions, n_splits=3).fit(new.frame, new.target)
    >>> found = book(model, new.frame, new.target, judge, plans=["cheapest", "strongest"])
    >>> found.table["pool"].tolist()
    ['today', 'plain model', 'cheapest', 'strongest']
    >>> bool(found.row("cheapest")["bad rate"] > found.row("today")["bad rate"])
    True
    """
    check_judge(judge)
    kinds = _kinds(plans, seeking)
    _check_money(margin, loss)
    asked = {"explain": False, "strict": True, **options}
    first = find_recourse(model, X, **asked | {"strength": 0})
    bad = np.asarray(y) != first.desired
    if bad.shape != (len(first),):
        raise InvalidData(f"X has {len(first)} rows but y has shape {bad.shape}.")
    today = Outcomes.of(judge, X, X)
    pools = [_Pool(TODAY, first.accepted, bad.astype(float)), _plain(first, today, bad)]
    for kind in kinds:
        found = first if kind == "cheapest" else _found(kind, model, X, asked, seeking)
        pools.append(_adopted(kind, found, bad, judge, others))
    counting = _Counting(margin, loss, confidence)
    members = [(EVERYONE, np.ones(len(bad), bool))]
    if groups is not None:
        members += [(group, inside) for group, inside in members_of(X, groups).items()]
    rows = [
        {"group": group, **row} for group, inside in members for row in counting.rows(pools, inside)
    ]
    price = _price(pools[0].accepted, pools[1].accepted, bad, confidence)
    return Book(pd.DataFrame(rows), price, confidence, margin, loss)


class _Pool(NamedTuple):
    """Who is accepted, and how bad they are; adopters are judged, with an error in common."""

    name: str
    accepted: np.ndarray
    bad: np.ndarray
    adopters: np.ndarray | None = None
    judged: Outcomes | None = None  # of adopters, in their order
    unknown: np.ndarray | None = None


@dataclass(frozen=True)
class _Counting:
    """From pools to the rows of a table."""

    margin: float | None
    loss: float | None
    confidence: float

    def rows(self, pools: list[_Pool], inside: np.ndarray) -> Iterator[dict[str, Any]]:
        """The rows of one group."""
        [today, *_] = pools
        before = self._bad_rate(today, inside)
        for pool in pools:
            accepted = pool.accepted & inside
            adopters = np.zeros(len(inside), bool) if pool.adopters is None else pool.adopters
            unknown = 0 if pool.unknown is None else int((pool.unknown & inside).sum())
            row = {
                "pool": pool.name, "people": int(inside.sum()), "accepted": int(accepted.sum()),
                "adopters": int((adopters & inside).sum()), "unknown": unknown,
            }  # fmt: skip
            estimates = {
                "approval rate": statistics.share(
                    int(accepted.sum()), int(inside.sum()), self.confidence
                ),
                "bad rate": self._bad_rate(pool, inside),
                "rise": self._rise(pool, before, inside),
            }
            if self.margin is not None and self.loss is not None:
                estimates["profit"] = self._profit(pool, inside)
            for name, found in estimates.items():
                row |= {name: found.value, f"{name} low": found.low, f"{name} high": found.high}
            yield row

    def _bad_rate(self, pool: _Pool, inside: np.ndarray) -> Estimate:
        accepted = pool.accepted & inside
        if pool.adopters is None:
            n_bad = int(pool.bad[accepted].sum())
            return statistics.share(n_bad, int(accepted.sum()), self.confidence)
        share = (pool.adopters & inside).sum() / max(accepted.sum(), 1)
        return self._mean(pool.bad[accepted], share * self._error(pool, inside), 0.0, 1.0)

    def _rise(self, pool: _Pool, before: Estimate, inside: np.ndarray) -> Estimate:
        """How far adopters lift the bad rate: their distance from today's, times their share."""
        if pool.adopters is None:
            return statistics.NOTHING
        adopters, n = pool.adopters & inside, int((pool.accepted & inside).sum())
        if not adopters.any() or n == adopters.sum():
            return Estimate(0.0, 0.0, 0.0) if not adopters.any() else statistics.NOTHING
        theirs = self._mean(pool.bad[adopters], self._error(pool, inside), 0.0, 1.0)
        apart, share = statistics.difference(theirs, before), adopters.sum() / n
        return Estimate(*(float(share * end) for end in (apart.value, apart.low, apart.high)))

    def _profit(self, pool: _Pool, inside: np.ndarray) -> Estimate:
        each = self.margin - (self.margin + self.loss) * pool.bad[inside]  # type: ignore[operator]
        values = 100 * np.where(pool.accepted[inside], each, 0.0)
        error = 0.0
        if pool.adopters is not None:
            share = (pool.adopters & inside).sum() / max(inside.sum(), 1)
            error = 100 * (self.margin + self.loss) * share * self._error(pool, inside)  # type: ignore[operator]
        return self._mean(values, error, -np.inf, np.inf)

    def _error(self, pool: _Pool, inside: np.ndarray) -> float:
        if pool.judged is None or pool.adopters is None:
            return 0.0
        return pool.judged.judge_error(inside[pool.adopters])

    def _mean(self, values: np.ndarray, error: float, low: float, high: float) -> Estimate:
        """A mean whose interval counts in a further standard error."""
        if not len(values):
            return statistics.NOTHING
        value = float(values.mean())
        sampled = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
        half = float(norm.ppf((1 + self.confidence) / 2) * np.hypot(sampled, error))
        return Estimate(value, max(low, value - half), min(high, value + half))


def _found(kind: str, model: Any, X: Any, asked: dict[str, Any], seeking: Any) -> Recourse:
    if kind == "sendable":
        return plans_for_people(partial(find_recourse, model), X, **asked)
    how: dict[str, dict[str, Any]] = {
        "strongest": {"strength": "most"},
        "earned": {"strength": 0, "earned": seeking},
    }
    return find_recourse(model, X, **asked | how[kind])


def _adopted(kind: str, found: Recourse, bad: np.ndarray, judge: Judge, others: Any) -> _Pool:
    """The pool once everyone who has a plan of a kind within the budget has followed it."""
    follows = found.within_budget & ~found.accepted & ~found.only_supplied
    after = found.outcomes
    if kind == "sendable":
        letters, sent = Letters.of_recourse(found), sendable(found, others=others)
        follows[letters.refused] &= sent.people["sendable"].to_numpy(bool)
        after = letters.encoder.decode(letters.after, like=letters.people)
    rows = np.flatnonzero(follows)
    judged = Outcomes.of(judge, take_rows(after, rows), take_rows(found.people, rows))
    mixed = bad.astype(float)
    mixed[rows] = judged.bad
    return _Pool(
        kind, found.accepted | follows, mixed, follows, judged, found.status == "unknown"
    )  # fmt: skip


def _plain(first: Recourse, today: Outcomes, bad: np.ndarray) -> _Pool:
    """As many people as are accepted today: those whom the judge holds best."""
    best = np.argsort(today.bad, kind="stable")[: int(first.accepted.sum())]
    accepted = np.zeros(len(bad), bool)
    accepted[best] = True
    return _Pool(PLAIN, accepted, bad.astype(float))


def _price(today: np.ndarray, plain: np.ndarray, bad: np.ndarray, confidence: float) -> Estimate:
    """The difference of two bad rates of the same people: who is in both pools does not count."""
    n, k = len(bad), int(today.sum())
    if not k:
        return statistics.NOTHING
    each = bad * (today.astype(float) - plain) * n / k
    return statistics.mean(each, confidence)


def _kinds(plans: Iterable[str] | None, seeking: Any) -> list[str]:
    if plans is None:
        return [kind for kind in PLANS if kind != "earned" or seeking is not None]
    kinds = [plans] if isinstance(plans, str) else list(plans)
    for kind in kinds:
        if kind not in PLANS:
            raise InvalidSpec(f"plans are of {', '.join(PLANS)}, got {kind!r}.")
    if "earned" in kinds and seeking is None:
        raise InvalidSpec(
            "Earned plans need seeking, a judge of other people than the one that reports "
            "(OutcomeJudge.fit_apart makes both)."
        )
    return kinds


def _check_money(margin: Any, loss: Any) -> None:
    if (margin is None) != (loss is None):
        raise InvalidSpec("Profit needs both margin and loss, got one of them.")
    for name, value in (("margin", margin), ("loss", loss)):
        if value is not None and not (np.isfinite(value) and value >= 0):
            raise InvalidSpec(f"{name} must be a number of 0 or more, got {value!r}.")

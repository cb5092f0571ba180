"""The lender's book: approvals, bad rate and profit before and after people act on their plans.

The accepted pool after adoption is today's pool and the refused who have a plan and follow it:

    today's pool    outcomes that were observed (y)
    adopters        the judge's probabilities where their plans end

so that its bad rate is the mean over both. A plain model that accepts as many people, those whom
the judge holds best, stands beside today's: what the difference costs is the price of recourse.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from ract._utils import statistics
from ract._utils.errors import InvalidSpec
from ract._utils.statistics import Estimate
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import FINITE_AMOUNT, NONE, check_value
from ract.data.frames import take_rows
from ract.data.groups import EVERYONE, members_of
from ract.evaluation.metrics.letters import Decider, Letters, plans_of_letters
from ract.evaluation.metrics.sendable import sendable
from ract.evaluation.outcomes import Judge, JudgedOutcomes, bad_of, check_judge, judge_error
from ract.models.judge import OutcomeJudge
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
        One row per ``group`` and ``pool``: "today", "plain model" (as many people, those with the
        highest probabilities by the judge), and for each kind of plan the pool if everyone who has
        one follows it. ``people`` and how many are ``accepted``, ``adopters`` among them,
        ``unknown`` (refused people whose search did not end, counted as refused), then "approval
        rate", "bad rate", "rise" of the bad rate over today's and, with a margin and a loss,
        "profit" per 100 people, each with ``low`` and ``high``.
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

    def row(self, pool: str, group: Label = EVERYONE) -> pd.Series:
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
        for row in self.table[self.table["group"] == EVERYONE].to_dict("records"):
            rate = "{bad rate:.3f} ({bad rate low:.3f} to {bad rate high:.3f})".format_map(row)
            text = f"{row['pool']}: {row['approval rate']:.0%} approved, bad rate {rate}"
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
    model: Classifier,
    X: TableLike,
    y: ColumnLike,
    judge: Judge,
    *,
    plans: Iterable[str] | None = None,
    seeking: OutcomeJudge | None = None,
    margin: float | None = None,
    loss: float | None = None,
    groups: str | ColumnLike | None = None,
    others: Decider | list[Decider] | tuple[Decider, ...] = (),
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
        Predicts the outcomes of people after their plans; best fitted on X and y, since nobody is
        judged by their own half. Or a function from a table to probabilities of the desired class,
        if the truth is known.
    plans : sequence of {"cheapest", "sendable", "strongest", "earned"}, optional
        Which plans people follow; all by default, "earned" only with ``seeking``. "sendable": plans
        of at most three changes, safe if people do more, that pass every check of
        ``ract.evaluation.sendable``, as in letters.
    seeking : OutcomeJudge, optional
        A judge trained on other people than ``judge`` (``OutcomeJudge.fit_apart``), with which
        earned plans are searched for.
    margin, loss : float, optional
        What a good loan earns, and what a bad one loses (the loss given default), both in the same
        unit, for the profit per 100 people.
    groups : str or array (people,), optional
        A column of X, or everyone's group.
    others : fitted classifiers, optional
        As in ``ract.evaluation.sendable``; sendable plans must then last.
    confidence : float
        Of intervals. For people who follow their plans they include how far halves of the judge's
        table disagree.
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
    bad = bad_of(y, first.desired, len(first))
    pools = [Pool(TODAY, first.accepted, bad.astype(float)), _plain(first, judge, bad)]
    for kind in kinds:
        found = first if kind == "cheapest" else _found(kind, model, X, asked, seeking)
        pools.append(_adopted(kind, found, bad, judge, others))
    money = None if margin is None or loss is None else (margin, loss)
    members = [(EVERYONE, np.ones(len(bad), bool))]
    if groups is not None:
        members += members_of(X, groups).items()
    rows = []
    for group, inside in members:
        parts = [pool.among(inside) for pool in pools]
        before = parts[0].bad_rate(confidence)
        rows += [{"group": group, **part.row(before, money, confidence)} for part in parts]
    price = _price(pools[0].accepted, pools[1].accepted, bad, confidence)
    return Book(pd.DataFrame(rows), price, confidence, margin, loss)


class Pool(NamedTuple):
    """Who is accepted, and how bad everyone is: as observed, or as judged for adopters."""

    name: str
    accepted: np.ndarray
    bad: np.ndarray
    adopters: np.ndarray | None = None
    by_half: np.ndarray | None = None  # what halves of the judge's table say of adopters
    unknown: np.ndarray | None = None

    def among(self, inside: np.ndarray) -> Pool:
        """The same of the people in a group."""
        columns = {k: v[inside] for k, v in self._asdict().items() if isinstance(v, np.ndarray)}
        return self._replace(**columns)

    def bad_rate(self, confidence: float) -> Estimate:
        """The share of the accepted who are bad."""
        bad = self.bad[self.accepted]
        if self.adopters is None:
            return statistics.proportion(int(bad.sum()), len(bad), confidence)
        share = self.adopters.sum() / max(len(bad), 1)
        return _mean(bad, share * self._error, confidence, 0.0, 1.0)

    def rise(self, before: Estimate, confidence: float) -> Estimate:
        """How far adopters lift the bad rate: their distance from today's, times their share."""
        if self.adopters is None:
            return statistics.NOTHING
        n, n_adopters = int(self.accepted.sum()), int(self.adopters.sum())
        if not n_adopters or n == n_adopters:
            return statistics.NOTHING if n_adopters else Estimate(0.0, 0.0, 0.0)
        theirs = _mean(self.bad[self.adopters], self._error, confidence, 0.0, 1.0)
        apart, share = statistics.difference(theirs, before), n_adopters / n
        return Estimate(*(float(share * end) for end in (apart.value, apart.low, apart.high)))

    def profit(self, margin: float, loss: float, confidence: float) -> Estimate:
        """What 100 people bring."""
        values = 100 * np.where(self.accepted, margin - (margin + loss) * self.bad, 0.0)
        adopters = 0 if self.adopters is None else self.adopters.sum()
        error = 100 * (margin + loss) * adopters / max(len(values), 1) * self._error
        return _mean(values, error, confidence, -np.inf, np.inf)

    @property
    def _error(self) -> float:
        """The standard error of the judge, of the adopters' mean."""
        return 0.0 if self.by_half is None else judge_error(self.by_half[self.adopters])

    def row(
        self, before: Estimate, money: tuple[float, float] | None, confidence: float
    ) -> dict[str, Any]:
        """The row of the book's table; money is what a good loan earns and a bad one loses."""
        n, n_accepted = len(self.bad), int(self.accepted.sum())
        row: dict[str, Any] = {"pool": self.name, "people": n, "accepted": n_accepted}
        for name, counted in (("adopters", self.adopters), ("unknown", self.unknown)):
            row[name] = 0 if counted is None else int(counted.sum())
        estimates = {
            "approval rate": statistics.proportion(n_accepted, n, confidence),
            "bad rate": self.bad_rate(confidence),
            "rise": self.rise(before, confidence),
        }
        if money is not None:
            estimates["profit"] = self.profit(*money, confidence)
        for name, found in estimates.items():
            row |= {name: found.value, f"{name} low": found.low, f"{name} high": found.high}
        return row


def _mean(values: np.ndarray, error: float, confidence: float, low: float, high: float) -> Estimate:
    """A mean whose interval counts in a further standard error."""
    if not len(values):
        return statistics.NOTHING
    value = float(values.mean())
    sampled = float(values.std(ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    half = float(norm.ppf((1 + confidence) / 2) * np.hypot(sampled, error))
    return Estimate(value, max(low, value - half), min(high, value + half))


def _found(
    kind: str,
    model: Classifier,
    X: TableLike,
    asked: dict[str, Any],
    seeking: OutcomeJudge | None,
) -> Recourse:
    """Plans of a kind."""
    if kind == "sendable":
        return plans_of_letters(model, X, **asked)
    strongest, earned = {"strength": "most"}, {"strength": 0, "earned": seeking}
    return find_recourse(model, X, **asked | (strongest if kind == "strongest" else earned))


def _adopted(
    kind: str,
    found: Recourse,
    bad: np.ndarray,
    judge: Judge,
    others: Decider | list[Decider] | tuple[Decider, ...],
) -> Pool:
    """The pool once everyone who has a plan of a kind within the budget has followed it."""
    follows = found.within_budget & ~found.accepted & ~found.only_supplied
    after = found.outcomes
    if kind == "sendable":
        letters, sent = Letters.of_recourse(found), sendable(found, others=others)
        follows[letters.refused] &= sent.people["sendable"].to_numpy(bool)
        after = letters.encoder.decode(letters.after, like=letters.people)
    rows = np.flatnonzero(follows)
    judged = JudgedOutcomes.of(judge, take_rows(after, rows), take_rows(found.people, rows))
    mixed, by_half = bad.astype(float), np.full((len(bad), judged.by_half.shape[1]), np.nan)
    mixed[rows], by_half[rows] = judged.bad, judged.by_half
    unknown = np.asarray(found.status == "unknown")
    return Pool(kind, found.accepted | follows, mixed, follows, by_half, unknown)


def _plain(first: Recourse, judge: Judge, bad: np.ndarray) -> Pool:
    """As many people as are accepted today: those whom the judge holds best."""
    today = JudgedOutcomes.of(judge, first.people, first.people)
    best = np.argsort(today.bad, kind="stable")[: int(first.accepted.sum())]
    return Pool(PLAIN, np.isin(np.arange(len(bad)), best), bad.astype(float))


def _price(today: np.ndarray, plain: np.ndarray, bad: np.ndarray, confidence: float) -> Estimate:
    """The difference of two bad rates of the same people: who is in both pools does not count."""
    n, k = len(bad), int(today.sum())
    if not k:
        return statistics.NOTHING
    each = bad * (today.astype(float) - plain) * n / k
    return statistics.mean(each, confidence)


def _kinds(plans: Iterable[str] | None, seeking: OutcomeJudge | None) -> list[str]:
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


def _check_money(margin: float | None, loss: float | None) -> None:
    if (margin is None) != (loss is None):
        raise InvalidSpec("Profit needs both margin and loss, got one of them.")
    for name, value in (("margin", margin), ("loss", loss)):
        check_value(name, value, NONE, FINITE_AMOUNT)

"""Plans, drawn: those of many people by what they cost, and what one person can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import Classifier, Label, TableLike
from ract.data.costs import ceiling
from ract.evaluation.plots.style import DESIRED, LINE, QUIET, Axes, Display
from ract.recourse.find import find_recourse
from ract.recourse.levers import Levers
from ract.recourse.plan import Change, Plan, rounded_number
from ract.recourse.problem import own_budget
from ract.recourse.result import Recourse

NOW, GOAL, FIRST, LAST = 0.0, 1.0, -0.35, 1.9  # places on the axis of a plan


class CostDisplay(Display):
    """How much the plans of refused people cost.

    Parameters
    ----------
    costs : float array
        Of those who have a plan.
    budget : float
    n_without : int
        How many refused people have none.
    """

    def __init__(self, costs: np.ndarray, budget: float, n_without: int = 0) -> None:
        self.costs, self.budget, self.n_without = np.asarray(costs), budget, n_without

    @classmethod
    def from_recourse(
        cls, recourse: Recourse, *, ax: Axes | None = None, bins: int | Sequence[float] = 20
    ) -> Self:
        """Draw the costs of plans that were found."""
        without = int(((~recourse.accepted) & ~recourse.found).sum())
        return cls(recourse.cost[recourse.found], recourse.budget, without).plot(ax=ax, bins=bins)

    @classmethod
    def from_estimator(
        cls,
        model: Classifier,
        X: TableLike,
        *,
        ax: Axes | None = None,
        bins: int | Sequence[float] = 20,
        **options: Any,
    ) -> Self:
        """Find the plans and draw; options are those of ``ract.find_recourse``."""
        found = find_recourse(model, X, explain=False, strict=True, **options)
        return cls.from_recourse(found, ax=ax, bins=bins)

    def plot(self, *, ax: Axes | None = None, bins: int | Sequence[float] = 20) -> Self:
        """Draw a histogram.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        bins : int or sequence
            As in matplotlib.
        """
        ax = self._axes(ax)
        ax.hist(self.costs, bins=bins, color=LINE, rwidth=0.92)
        self._mark_budget(self.budget)
        title = f"{len(self.costs):,} people with a plan, {self.n_without:,} without"
        ax.set(xlim=(0, None), xlabel="cost of the cheapest plan", ylabel="people", title=title)
        return self


class BudgetDisplay(Display):
    """What share of people is accepted or has a plan, at each budget.

    Parameters
    ----------
    costs : float array
        Of everyone: 0 if accepted, inf without a plan.
    budget : float
        The one in use.
    """

    def __init__(self, costs: np.ndarray, budget: float = np.inf) -> None:
        self.costs, self.budget = np.sort(np.asarray(costs, np.float64)), budget

    @classmethod
    def from_recourse(
        cls, recourse: Recourse, *, budget: float | None = None, ax: Axes | None = None
    ) -> Self:
        """Draw plans that were found without a budget (``budget=np.inf``)."""
        return cls(recourse.cost, recourse.budget if budget is None else budget).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        model: Classifier,
        X: TableLike,
        *,
        ax: Axes | None = None,
        budget: float | None = None,
        **options: Any,
    ) -> Self:
        """Find the plans, whatever they cost, and draw."""
        recourse = find_recourse(model, X, explain=False, strict=True, budget=np.inf, **options)
        return cls(recourse.cost, own_budget(model, budget)).plot(ax=ax)

    def share(self, budget: float) -> float:
        """Share of people with recourse within a budget."""
        return float(np.searchsorted(self.costs, ceiling(budget), side="right") / len(self.costs))

    def _draw(self, ax: Axes) -> None:
        """Draw the share as steps."""
        at = np.unique(np.append(self.costs[np.isfinite(self.costs)], 0.0))
        end = max(float(at[-1]) * 1.05, min(self.budget, 1.0) * 1.2 if self.budget < np.inf else 0)
        at = np.append(at, end if end > at[-1] else at[-1] + 0.1)
        ax.step(at, [self.share(cost) for cost in at], where="post", color=LINE, lw=1.5)
        self._mark_budget(self.budget, "budget in use")
        if np.isfinite(self.budget):
            ax.axhline(self.share(self.budget), color=QUIET, lw=0.8, ls=":")
        ax.set(xlim=(0, at[-1]), ylim=(0, 1.02))
        ax.set(xlabel="budget", ylabel="share of people with recourse")


class PlanDisplay(Display):
    """One person's plan: each change from now to its goal, and which values are accepted too.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def from_recourse(cls, recourse: Recourse, person: int, *, ax: Axes | None = None) -> Self:
        """Draw the plan of the person at a position."""
        return cls(recourse[person]).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw one arrow per change; values that are proved to be accepted too are shaded.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        changes = [change for change in self.plan.changes if not change.by_itself]
        if not changes:
            raise InvalidSpec(f"There is nothing to draw: {self.plan.describe()}")
        ax = self._axes(ax, len(changes))
        for place, change in enumerate(changes):
            _draw_change(ax, place, change)
        names = [f"{change.feature}\neffort {change.effort:.2g}" for change in changes]
        ax.set_yticks(range(len(changes)), names)
        ax.set_xticks([NOW, GOAL], ["now", "goal"])
        title = f"Person {self.plan.person}: cost {self.plan.cost:.3g}"
        if np.isfinite(self.plan.budget):
            title += f" of a budget of {self.plan.budget:.3g}"
        ax.set(xlim=(FIRST, LAST), ylim=(len(changes) - 0.4, -0.6), title=title)
        ax.set_xlabel("shaded: values that are proved to be accepted too")
        return self


class LeversDisplay(Display):
    """The menu of one person: sets of features that are enough, and what each costs.

    Parameters
    ----------
    levers : Levers
    person : label
    """

    def __init__(self, levers: Levers, person: Label | None) -> None:
        self.levers, self.person = levers, person

    @classmethod
    def from_levers(
        cls, levers: Levers, person: Label | None = None, *, ax: Axes | None = None
    ) -> Self:
        """Draw the sets of a person, by label; of the only one if none is given.

        Parameters
        ----------
        levers : Levers
            Of ``ract.recourse.find_levers``.
        person : label, optional
        ax : matplotlib axes, optional

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> from ract.models.examples import loans_forest
        >>> from ract.recourse import find_levers
        >>> model, loans = loans_forest()
        >>> levers = find_levers(model, loans.frame.iloc[[15]])
        >>> LeversDisplay.from_levers(levers, ax=Figure().subplots()).ax_.get_xlabel()
        'cost of the cheapest plan with these features alone'
        """
        people = list(dict.fromkeys(levers.people))
        if person is None and len(people) == 1:
            person = people[0]
        if person not in people:
            raise InvalidSpec(f"person must be one of {listing(people)}, got {person!r}.")
        return cls(levers, person).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw one bar per set, the cheapest first.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        rows = np.flatnonzero(np.asarray(self.levers.people == self.person))
        ax, place = self._axes(ax, len(rows)), np.arange(len(rows))
        ax.barh(place, self.levers.plans.cost[rows], color=LINE, height=0.5)
        ax.set_yticks(place, [" +\n".join(self.levers.sets[k]) for k in rows])
        self._mark_budget(self.levers.plans.budget)
        title = f"Person {self.person}: {len(rows)} sufficient set{'s' * (len(rows) != 1)}"
        if undecided := len(self.levers.undecided.get(self.person, ())):
            title += f", {undecided} sets undecided"
        ax.set(xlim=(0, None), ylim=(len(rows) - 0.5, -0.5), title=title)
        ax.set_xlabel("cost of the cheapest plan with these features alone")
        return self


def _draw_change(ax: Axes, place: int, change: Change) -> None:
    """An arrow from now to the goal, with both values, on a band of what serves as well."""
    low, high = _band(change)
    ax.barh(place, high - low, left=low, height=0.34, color=DESIRED, alpha=0.25, lw=0)
    arrow = {"arrowstyle": "-|>", "color": LINE, "lw": 1.6, "shrinkA": 4, "shrinkB": 4}
    ax.annotate("", (GOAL, place), (NOW, place), arrowprops=arrow)
    ax.plot([NOW], [place], "o", color=QUIET)
    ax.plot([GOAL], [place], "o", color=DESIRED)
    will_do = change.will_do or (f"exactly {_value(change.goal)}" if not change.switch else "")
    for x, text in ((NOW, _value(change.before)), (GOAL, will_do or _value(change.goal))):
        ax.text(x, place - 0.26, text, ha="center", va="bottom", fontsize=9)


def _band(change: Change) -> tuple[float, float]:
    """The proved range as places on the axis, where now is 0 and the goal is 1."""
    if change.ends is None or change.supplied or change.goal == change.before:
        return GOAL, GOAL
    start, length = float(change.before), float(change.goal) - float(change.before)
    open_ends = (-np.inf * np.sign(length), np.inf * np.sign(length))
    ends = [
        beyond if end is None else (float(end) - start) / length
        for end, beyond in zip(change.ends, open_ends, strict=True)
    ]
    first, last = np.clip(sorted(ends), FIRST, LAST)
    return float(first), float(last)


def _value(value: object) -> str:
    if value is None:
        return "not given"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return rounded_number(value) if isinstance(value, (int, float, np.number)) else str(value)

"""What one person can do, drawn: a plan from now to its goal, and the menu of levers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract.evaluation.plots.style import DESIRED, LINE, QUIET, Display
from ract.recourse.levers import Levers
from ract.recourse.plan import Change, Plan, number
from ract.recourse.result import Recourse

NOW, GOAL, FIRST, LAST = 0.0, 1.0, -0.35, 1.9  # places on the axis of a plan


class PlanDisplay(Display):
    """One person's plan: each change from now to its goal, and which values serve as well.

    Parameters
    ----------
    plan : Plan
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan

    @classmethod
    def from_recourse(cls, recourse: Recourse, person: int, *, ax: Any = None) -> PlanDisplay:
        """Draw the plan of the person at a position."""
        return cls(recourse[person]).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> PlanDisplay:
        """Draw one arrow per change; what is proved to serve as well is shaded.

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
        ax.set(
            xlim=(FIRST, LAST), ylim=(len(changes) - 0.4, -0.6), title=title,
            xlabel="shaded: values that are proved to serve as well",
        )  # fmt: skip
        return self


class LeversDisplay(Display):
    """The menu of one person: sets of features that are enough, and what each costs.

    Parameters
    ----------
    levers : Levers
    person : label
    """

    def __init__(self, levers: Levers, person: Any) -> None:
        self.levers, self.person = levers, person

    @classmethod
    def from_levers(cls, levers: Levers, person: Any = None, *, ax: Any = None) -> LeversDisplay:
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

    def plot(self, *, ax: Any = None) -> LeversDisplay:
        """Draw one bar per set, the cheapest first.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        rows = np.flatnonzero(np.asarray(self.levers.people == self.person))
        costs = self.levers.plans.cost[rows]
        ax, place = self._axes(ax, len(rows)), np.arange(len(rows))
        ax.barh(place, costs, color=LINE, height=0.5)
        ax.set_yticks(place, [" +\n".join(self.levers.sets[k]) for k in rows])
        self._mark_budget(self.levers.plans.budget)
        undecided = len(self.levers.undecided.get(self.person, ()))
        title = f"Person {self.person}: {len(rows)} way{'s' * (len(rows) != 1)}" + (
            f", {undecided} sets undecided" if undecided else ""
        )
        ax.set(
            xlim=(0, None), ylim=(len(rows) - 0.5, -0.5), title=title,
            xlabel="cost of the cheapest plan with these features alone",
        )  # fmt: skip
        return self


def _draw_change(ax: Any, place: int, change: Change) -> None:
    """An arrow from now to the goal, with both values, on a band of what serves as well."""
    low, high = _band(change)
    ax.barh(place, high - low, left=low, height=0.34, color=DESIRED, alpha=0.25, lw=0)
    ax.annotate(
        "", (GOAL, place), (NOW, place),
        arrowprops={"arrowstyle": "-|>", "color": LINE, "lw": 1.6, "shrinkA": 4, "shrinkB": 4},
    )  # fmt: skip
    ax.plot([NOW], [place], "o", color=QUIET)
    ax.plot([GOAL], [place], "o", color=DESIRED)
    will_do = change.will_do or (f"exactly {_value(change.goal)}" if not change.switch else "")
    said = {NOW: _value(change.before), GOAL: will_do or _value(change.goal)}
    for x, text in said.items():
        ax.text(x, place - 0.26, text, ha="center", va="bottom", fontsize=9)


def _band(change: Change) -> tuple[float, float]:
    """The proved range as places on the axis, where now is 0 and the goal is 1."""
    if change.ends is None or change.supplied or change.goal == change.before:
        return GOAL, GOAL
    low, high = change.ends
    start, length = float(change.before), float(change.goal) - float(change.before)
    sides = [np.inf * side if end is None else (float(end) - start) / length
             for end, side in ((low, -np.sign(length)), (high, np.sign(length)))]  # fmt: skip
    first, last = np.clip(sorted(sides), FIRST, LAST)
    return float(first), float(last)


def _value(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return number(value) if isinstance(value, (int, float, np.number)) else str(value)

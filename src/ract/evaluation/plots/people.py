"""Plans of many people, drawn: what they cost, and who has one at which budget."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract.data.costs import ceiling
from ract.evaluation.plots.style import LINE, QUIET, Display
from ract.recourse.find import find_recourse
from ract.recourse.problem import own_budget
from ract.recourse.result import Recourse


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
    def from_recourse(cls, recourse: Recourse, *, ax: Any = None, bins: Any = 20) -> CostDisplay:
        """Draw the costs of plans that were found."""
        without = int(((~recourse.accepted) & ~recourse.found).sum())
        return cls(recourse.cost[recourse.found], recourse.budget, without).plot(ax=ax, bins=bins)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, ax: Any = None, bins: Any = 20, **options: Any
    ) -> CostDisplay:
        """Find the plans and draw; options are those of ``ract.find_recourse``."""
        return cls.from_recourse(
            find_recourse(model, X, explain=False, strict=True, **options), ax=ax, bins=bins
        )

    def plot(self, *, ax: Any = None, bins: Any = 20) -> CostDisplay:
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
        cls, recourse: Recourse, *, budget: float | None = None, ax: Any = None
    ) -> BudgetDisplay:
        """Draw plans that were found without a budget (``budget=np.inf``)."""
        shown = recourse.budget if budget is None else budget
        return cls(recourse.cost, shown).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, ax: Any = None, budget: float | None = None, **options: Any
    ) -> BudgetDisplay:
        """Find the plans, whatever they cost, and draw."""
        recourse = find_recourse(model, X, explain=False, strict=True, budget=np.inf, **options)
        return cls(recourse.cost, own_budget(model, budget)).plot(ax=ax)

    def share(self, budget: float) -> float:
        """Share of people with recourse within a budget."""
        return float(np.searchsorted(self.costs, ceiling(budget), side="right") / len(self.costs))

    def plot(self, *, ax: Any = None) -> BudgetDisplay:
        """Draw the share as steps.

        Parameters
        ----------
        ax : matplotlib axes, optional
            New ones by default.
        """
        ax, finite = self._axes(ax), self.costs[np.isfinite(self.costs)]
        at = np.unique(np.append(finite, 0.0))
        end = max(float(at[-1]) * 1.05, min(self.budget, 1.0) * 1.2 if self.budget < np.inf else 0)
        at = np.append(at, end if end > at[-1] else at[-1] + 0.1)
        ax.step(at, [self.share(cost) for cost in at], where="post", color=LINE, lw=1.5)
        self._mark_budget(self.budget, "budget in use")
        if np.isfinite(self.budget):
            ax.axhline(self.share(self.budget), color=QUIET, lw=0.8, ls=":")
        ax.set(xlim=(0, at[-1]), ylim=(0, 1.02))
        ax.set(xlabel="budget", ylabel="share of people with recourse")
        return self

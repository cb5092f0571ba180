"""Plans that still hold when people fall short of them.

With a margin m, every change may fall short by up to the share m of its way, each independently
of the others. The plan holds when everyone in the box between is desired:

    x ------------------ x + (1 - m)(v - x) ====== v
                              every point here is desired

Whole numbers stop at whole numbers; categories and binaries are changed or not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import Problem
from ract.recourse.exact.decide import Model, Person
from ract.recourse.exact.search import ExactSearch
from ract.recourse.explain.ranges import Certifier

# How much more of the vote to ask for, when the cheapest plan has no margin.
STRICTER = (0.0, 0.01, 0.02, 0.04, 0.08, 0.16)


@dataclass(frozen=True)
class RobustSearch:
    """Finds plans with a margin: candidates from the exact search, each one certified.

    Parameters
    ----------
    search : ExactSearch
    margin : float
        Between 0 and 1.
    max_nodes : int
    """

    search: ExactSearch
    margin: float
    max_nodes: int

    @property
    def problem(self) -> Problem:
        """The model and what its cells cost."""
        return self.search.problem

    def solve(self, person: np.ndarray, asking: Person, budget: float) -> np.ndarray | None:
        """Encoded values of the first plan within the budget that holds; None if none was found.

        Parameters
        ----------
        person : float (columns,)
        asking : Person
            The same person before the model.
        budget : float
        """
        certifier = Certifier(self.search.refusing, self.max_nodes)
        for share in STRICTER:
            found = self._stricter(share, asking, budget)
            if found.point is None:
                return None
            plan = self.problem.values_of(person, asking.own, found.point)
            for values in (plan, self._further(person, plan)):
                cheap = self.problem.cost.between(person[None], values[None])[0] <= budget
                if (
                    cheap
                    and self._allowed(person, values)
                    and self._holds(certifier, person, values)
                ):
                    return values
        return None

    def _stricter(self, share: float, person: Person, budget: float) -> Answer:
        """The cheapest plan of a model that asks for more."""
        problem, n_trees = self.problem, self.problem.ensemble.n_trees
        rule = problem.rule
        if share > 0:
            spread = float(np.ptp(rule.weight))
            more = share * spread * (n_trees if rule.divisor == 1 else 1)
            if problem.ensemble.combine == "votes":
                more = float(np.ceil(share * n_trees))
            rule = rule._replace(cutoff=rule.cutoff + more, against=rule.against[:0])
        model = Model(problem, problem.forest, rule, (problem.forest, rule))
        return replace(person, model=model).cheapest(budget, self.max_nodes)

    def _further(self, person: np.ndarray, plan: np.ndarray) -> np.ndarray:
        """So far beyond a plan that falling short by the margin still meets it."""
        values = plan.copy()
        for axis in self.problem.grid.axes:
            j, kind = axis.columns[0], axis.feature.kind
            if kind not in ("continuous", "integer") or plan[j] == person[j]:
                continue
            step = (plan[j] - person[j]) / (1 - self.margin)
            if kind == "integer":
                step = np.sign(step) * np.ceil(abs(step))
            values[j] = person[j] + step
            short = values[j] - self.margin * (values[j] - person[j])
            if (short < plan[j]) == (plan[j] > person[j]) and short != plan[j]:
                values[j] = np.nextafter(values[j], np.sign(step) * np.inf)
        return values

    def _allowed(self, person: np.ndarray, values: np.ndarray) -> bool:
        """Whether values keep to the bounds; those of the search do, so a step beyond may not."""
        ordinal = [axis for axis in self.problem.grid.axes if not axis.is_categorical]
        limits = [axis.feature.limits(person[axis.columns[0]]) for axis in ordinal]
        return all(
            low <= values[axis.columns[0]] <= high
            for axis, (low, high) in zip(ordinal, limits, strict=True)
        )

    def _holds(self, certifier: Certifier, person: np.ndarray, values: np.ndarray) -> bool:
        short = values - self.margin * (values - person)
        for axis in self.problem.grid.axes:
            columns = list(axis.columns)
            if axis.is_categorical or axis.feature.kind == "binary":
                short[columns] = values[columns]
            elif axis.feature.kind == "integer":
                j = columns[0]
                up = values[j] > person[j]
                short[j] = np.ceil(short[j]) if up else np.floor(short[j])
        cells = self.problem.cells(np.stack([short, values]))
        return certifier.holds(cells.min(axis=0), cells.max(axis=0))

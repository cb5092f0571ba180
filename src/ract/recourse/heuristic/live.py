"""Live regions: follow people whom the model accepts, into the region where it answers alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._kernels.search import live as kernel
from ract.costs import FittedCost
from ract.encoding import Axis
from ract.ensemble import TreeEnsemble
from ract.recourse.common.answers import FOUND, OPEN, OPTIMAL, Solutions
from ract.recourse.common.parallel import Watch, in_parts
from ract.recourse.common.point_cost import Measure
from ract.recourse.common.problem import Problem, budgets_of
from ract.recourse.heuristic.leaves import changes_of


class LiveRegionSearch:
    """The person's nearest point in the live region of any known person whom the model accepts.

    The live region of a person is the intersection of the leaves they fall into: everyone in it
    gets the same answer from every tree. So no point has to be put to the ensemble, and each is
    near someone who exists; but only regions where someone is known are found.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        With norm "max", "l1" or "l2", or the Mahalanobis distance. Under the latter the nearest
        point of a region is the one that is nearest in each feature, which need not be the
        cheapest.
    accepted : float (known people, columns)
        Encoded people; those whom the ensemble refuses are left out.

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=500)
    >>> model = RecourseForestClassifier(loans.actions, n_estimators=9, random_state=0)
    >>> model = model.fit(loans.frame, loans.target)
    >>> people = model.encoder_.matrix(loans.frame)
    >>> search = LiveRegionSearch(model.ensemble_, model.encoder_.axes, model.cost_, people)
    >>> solutions = search.solve(people[model.predict(loans.frame) == "refused"], budget=0.3)
    >>> bool(model.ensemble_.decide(solutions.values[solutions.found]).all())
    True
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        axes: Sequence[Axis],
        cost: FittedCost,
        accepted: np.ndarray,
    ) -> None:
        self._measure = Measure(cost, axes)
        self._problem = Problem(ensemble, axes, self._measure.by_column)
        self._regions = _live_regions(self._problem, accepted[ensemble.decide(accepted)])
        # Axes on which nobody moves rule out most regions at once.
        fixed = [not axis.feature.actionable for axis in axes]
        self._order = np.argsort(np.logical_not(fixed), kind="stable")

    @property
    def n_regions(self) -> int:
        """Number of different live regions."""
        return len(self._regions[0])

    def solve(
        self,
        people: np.ndarray,
        budget: float | np.ndarray = np.inf,
        *,
        max_changes: int | None = None,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Solutions:
        """The cheapest action found for each person within a budget; never a proof.

        ``nodes`` counts regions.

        Parameters
        ----------
        people : float (people, columns)
            Encoded people.
        budget : float or array of float
            The same for everyone, or one for each; inf for any action at all.
        max_changes : int, optional
            Most features that may change; a categorical feature counts once.
        n_jobs : int, optional
            Threads.
        progress : bool
            Show a bar with the time left.
        """
        problem, measure = self._problem, self._measure
        budgets = budgets_of(budget, len(people))
        most_changes = changes_of(max_changes, len(problem.grid.axes))
        cells, watch = problem.cells(people), Watch(len(people), None)
        points, prices = cells.copy(), np.zeros(len(people))
        refused = np.flatnonzero(~problem.ensemble.decide(people))

        def search(part: range) -> None:
            rows = refused[part.start : part.stop]
            costs = problem.costs(people[rows], cells[rows])
            for k, i in enumerate(rows):
                with watch.timing(i):
                    prices[i] = kernel.nearest_region(
                        *self._regions, self._order, cells[i], costs[k], problem.grid.n_cells,
                        problem.categorical, measure.norm,
                        measure.joint(problem, people[i], cells[i]), budgets[i], most_changes,
                        points[i],
                    )  # fmt: skip

        in_parts(search, len(refused), n_jobs=n_jobs, progress=progress)
        status, nodes = np.full(len(people), OPTIMAL), np.zeros(len(people), np.int64)
        status[refused] = np.where(np.isfinite(prices[refused]), FOUND, OPEN)
        nodes[refused] = self.n_regions
        values = problem.values(people, cells, points)
        return Solutions(status, prices, np.zeros(len(people)), values, nodes, watch.seconds)


def _live_regions(
    problem: Problem, people: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The different live regions of people, in the order in which they come up."""
    cells = problem.cells(people)
    lowest, highest = np.empty_like(cells), np.empty_like(cells)
    categories = np.empty(cells.shape, np.int64)
    kernel.live_regions(
        problem.forest, cells, problem.grid.n_cells, problem.categorical, lowest, highest,
        categories,
    )  # fmt: skip
    rows = np.concatenate([lowest, highest, categories], axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    first = np.sort(first)
    return lowest[first], highest[first], categories[first]

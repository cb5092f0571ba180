"""Live regions: follow people whom the model accepts, into the region where it answers alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._kernels.search import live as kernel
from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.recourse.common.by_pattern import refuse_missing
from ract.recourse.common.point_cost import PointCost
from ract.recourse.common.problem import Problem
from ract.recourse.common.search import Batch, Search
from ract.trees.ensemble import TreeEnsemble


class LiveRegionSearch(Search):
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
    reference : float (people, columns)
        Encoded people; those whom the ensemble refuses are left out.
    """

    def __init__(
        self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost, reference: np.ndarray
    ) -> None:
        refuse_missing(axes, "Leaves and live regions", categories=False)
        self._point_cost = PointCost(cost, axes)
        self._problem = Problem(ensemble, axes, self._point_cost.by_column)
        self._regions = _live_regions(self._problem, reference[ensemble.decide(reference)])
        # Axes on which nobody moves rule out most regions at once.
        fixed = [not axis.feature.actionable for axis in axes]
        self._order = np.argsort(np.logical_not(fixed), kind="stable")

    @property
    def n_regions(self) -> int:
        """Number of different live regions."""
        return len(self._regions[0])

    def fill(self, batch: Batch) -> None:
        """Nodes count regions; nothing is proved."""
        problem, point_cost = self._problem, self._point_cost
        people, answers = batch.people, batch.answers
        changes = batch.limits.changes_of(len(problem.grid.axes))
        cells, accepted = problem.cells(people), problem.ensemble.decide(people)
        points = cells.copy()

        def search(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
            if accepted[i]:
                answers.status[i], answers.cost[i] = Status.OPTIMAL, 0.0
                return
            answers.nodes[i] = self.n_regions
            answers.cost[i] = kernel.nearest_region(
                *self._regions, self._order, cells[i], costs, problem.grid.n_cells,
                problem.categorical, point_cost.norm,
                point_cost.joint(problem, people[i], cells[i]), batch.budgets[i], changes, stop,
                points[i],
            )  # fmt: skip
            if np.isfinite(answers.cost[i]):
                answers.status[i] = Status.FOUND

        answers.seconds = problem.for_each(search, people, cells, batch.limits)
        answers.values = problem.values(people, cells, points)


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

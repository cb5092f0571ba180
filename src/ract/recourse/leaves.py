"""Feature tweaking, the paper's Algorithm 2: the nearest point of every leaf that may help."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._kernels.search import leaves as kernel
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import FittedCost
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answer
from ract.recourse.common.by_pattern import refuse_missing_values
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.search import Batch, RecourseSearch
from ract.recourse.exact.cheapest import Squeeze
from ract.recourse.exact.decide import Model
from ract.trees.ensemble import TreeEnsemble


class LeafSearch(RecourseSearch):
    """For each leaf that may help, the person's nearest point in it; the cheapest that is accepted.

    A fast search for any ensemble and cost. It looks at one leaf at a time, so that it can miss
    actions that only several trees together allow; in a single tree it misses nothing.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Candidates are the leaves with the desired label (votes), with a value of at least the
        cutoff (means), or with a value above that of the person's own leaf in the tree (sums).
    axes : sequence of Axis
    cost : FittedCost
        With norm "max" or "l1".
    """

    def __init__(self, ensemble: TreeEnsemble, axes: Sequence[Axis], cost: FittedCost) -> None:
        refuse_missing_values(axes, "Leaves", categories=False)
        if cost.norm == "combined":
            raise InvalidSpec("Leaves take no CombinedCost; the exact search does.")
        self._norm = kernel.MAX if cost.norm == "max" else kernel.SUM
        self._problem = problem = CellProblem(ensemble, axes, cost)
        self._model = Model.of(problem)
        self._model.simplified  # noqa: B018  worked out once, before threads ask for it
        self._leaves = _leaves(self._model)

    def fill(self, batch: Batch) -> None:
        """Nodes count the points that were put to the ensemble."""
        problem, people, answers = self._problem, batch.people, batch.answers
        changes = batch.limits.changes_of(len(problem.grid.axes))
        cells = problem.cells(people)
        points = cells.copy()

        def search(i: int, costs: np.ndarray, stop: np.ndarray) -> None:
            found = self._search(cells[i], costs, batch.budgets[i], changes, stop)
            answers.record(i, found)
            if found.point is not None:
                points[i] = found.point

        answers.seconds = problem.for_each(search, people, cells, batch.limits)
        answers.values = problem.values(people, cells, points)

    def cheapest(
        self, person: np.ndarray, budget: float, max_nodes: int, stop: np.ndarray
    ) -> tuple[Answer, np.ndarray]:
        """One person's answer and encoded values after it, for searches that begin with this one.

        The search knows no nodes; ``max_nodes`` is there as in ``ExactSearch``.
        """
        problem, row = self._problem, person[None]
        [start] = problem.cells(row)
        [costs] = problem.costs(row, start[None])
        found = self._search(start, costs, budget, len(costs), stop)
        point = start if found.point is None else found.point
        return found, problem.values_of(person, start, point)

    def _search(
        self, start: np.ndarray, costs: np.ndarray, budget: float, changes: int, stop: np.ndarray
    ) -> Answer:
        """The answer of a person in these cells, to whom cells cost so much (axes, cells)."""
        problem, model, forest = self._problem, self._model, self._problem.forest
        squeeze = Squeeze.of(problem, start, costs)
        if squeeze is not None:
            model, forest = model.squeezed(squeeze), squeeze.forest(forest)
            start, costs = squeeze.point(start), squeeze.rows(costs, np.inf)
        accepting, rules = model.decides_by
        if model.by_votes:  # a small forest answers for the budget's box
            left = model.within(model.simplified, start, costs, budget, changes)
            accepting, rules = model.decides_in(left)
        point = start.copy()
        status, cost, bound, nodes = kernel.search_leaves(
            forest, self._leaves, accepting, rules, start, costs, problem.grid.n_cells,
            problem.categorical, self._norm, budget, changes, stop, point,
        )  # fmt: skip
        found = Answer(Status(status), cost, bound, None, nodes)
        if not np.isfinite(cost):
            return found
        return found._replace(point=point if squeeze is None else squeeze.cells(point))


def _leaves(model: Model) -> kernel.Leaves:
    """What leaves give and which are candidates."""
    ensemble = model.problem.ensemble
    combine, is_leaf = ensemble.combine, ensemble.feature < 0
    value = ensemble.label if combine == "votes" else ensemble.value
    value = value.astype(np.float64)
    if combine == "sum":
        candidate = is_leaf
    else:
        candidate = is_leaf & (value >= (1.0 if combine == "votes" else ensemble.cutoff))
    other_values = np.where(is_leaf & ~candidate, value, -np.inf)
    rest = np.maximum.reduceat(other_values, ensemble.root)
    sizes = np.diff(np.append(ensemble.root, len(value)))
    return kernel.Leaves(
        value=value,
        worth=_worth(ensemble, candidate, value),
        rest=rest,
        gain=combine == "sum",
        tree=np.repeat(np.arange(ensemble.n_trees, dtype=np.int32), sizes),
        least=model.least,
    )


def _worth(ensemble: TreeEnsemble, candidate: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Most that a candidate below each node gives; -inf without one."""
    worth = np.where(candidate, value, -np.inf).tolist()
    parent = ensemble.parent.tolist()
    for node in range(len(worth) - 1, -1, -1):  # children stand after their parents
        above = parent[node]
        if above >= 0 and worth[node] > worth[above]:
            worth[above] = worth[node]
    return np.array(worth)

"""Exact search by an integer programming solver: any cost, any ensemble, joint constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions.rules import Rule
from ract.data.costs import FittedCost, FittedMahalanobis
from ract.data.encoder import Axis
from ract.data.grid import Grid
from ract.recourse.common.by_pattern import refuse_missing
from ract.recourse.common.parallel import for_each
from ract.recourse.common.search import Batch, Search
from ract.recourse.solver.action import Actions, Setting
from ract.recourse.solver.branches import Branches
from ract.recourse.solver.distance import Distance
from ract.recourse.solver.person import PersonSearch
from ract.recourse.solver.program import cp_sat
from ract.recourse.solver.relations import read_relations
from ract.recourse.solver.time import Time
from ract.trees.ensemble import TreeEnsemble

__all__ = ["SolverSearch"]


class SolverSearch(Search):
    """Exact search for any cost and ensemble, with joint constraints, by OR-Tools' CP-SAT.

    Slower than :class:`~ract.recourse.exact.search.ExactSearch`, which is the one for votes and
    costs of norm "max" without further constraints. Needs the extra ``ract[solver]``.

    Every answer has been run through the ensemble, and its cost, the budget and the relations
    have been checked in floating point. ``NONE`` is exact: roundings never lose an action. What
    ``OPTIMAL`` allows another action to be cheaper by, and what values are searched:

    =====================================  ===========  =========================================
    cost                                   of the cost  values
    =====================================  ===========  =========================================
    norm "max", no relations               0            the cheapest of their cells
    norm "l1" or "l2", no relations        1e-6         the cheapest of their cells
    norm "max" or "l1", with relations     1e-5         of features in relations: all
    norm "l2" with relations, Mahalanobis  1e-4         of features in relations, or of any: all
    =====================================  ===========  =========================================

    ``solve`` takes besides: ``start`` (people, columns), encoded values to begin with, such as
    another search's; a row of NaN for none. One that is a valid action is the worst that this
    search can end with.

    All values means every whole number, and for a continuous feature steps of 2**-24 of what is
    in reach, together with the ends of cells. Where relations leave less room than a few such
    steps a search may end as ``UNKNOWN`` or ``FOUND``, though there is no time limit.

    Parameters
    ----------
    ensemble : TreeEnsemble
        Combining by votes, mean or sum.
    axes : sequence of Axis
    cost : FittedCost
        Of any norm; with relations, linear between knots, as all costs of this package are.
    relations : sequence of LinearRelation or str
        What must hold between features after the action.

    Examples
    --------
    >>> from ract.data import make_cost
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> people = model.encoder_.matrix(loans.frame)
    >>> cost = make_cost("l1").fit(people.T, model.encoder_.weights)
    >>> search = SolverSearch(model.ensemble_, model.encoder_.axes, cost,
    ...                       relations=["LoanAmount <= 0.5 Income"])
    >>> refused = people[~model.ensemble_.decide(people)]
    >>> answers = search.solve(refused[:5], max_changes=2)
    >>> bool(model.ensemble_.decide(answers.values[answers.found]).all())
    True
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        axes: Sequence[Axis],
        cost: FittedCost,
        *,
        relations: Sequence[Rule | str] = (),
    ) -> None:
        cp_sat()  # say at once if it is missing
        if cost.norm == "combined":
            raise InvalidSpec("Programs take no CombinedCost; the exact search does.")
        refuse_missing(axes, "Programs", categories=False)
        read, columns = read_relations(relations, axes)
        splits = ensemble.feature >= 0
        grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        distance = Distance(cost, axes) if isinstance(cost, FittedMahalanobis) else None
        prices = None if distance is not None else grid.price(cost)
        branches = Branches(ensemble, grid)
        self._setting = Setting(ensemble, cost, grid, prices, branches, read, columns, distance)

    def fill(self, batch: Batch, *, start: np.ndarray | None = None) -> None:
        """One program per person; nodes count the solver's branches."""
        people, answers, limits = batch.people, batch.answers, batch.limits
        starts = _starts(start, people)
        most = np.inf if limits.time_limit is None else limits.time_limit
        seconds = np.broadcast_to(most, (len(people),))

        def search(i: int, stop: np.ndarray) -> None:
            time, budget = Time(stop, float(seconds[i])), float(batch.budgets[i])
            actions = Actions(self._setting, people[i], budget, limits.max_changes)
            one = PersonSearch(actions, time)
            one.run(starts[i])
            answers.status[i], answers.nodes[i] = one.status, one.nodes
            answers.cost[i], answers.bound[i] = one.cost, one.bound
            answers.values[i] = one.values

        answers.seconds = for_each(search, len(people), limits)


def _starts(start: np.ndarray | None, people: np.ndarray) -> np.ndarray:
    if start is None:
        return np.full(people.shape, np.nan)
    start = np.asarray(start, dtype=np.float64)
    if start.shape != people.shape:
        raise InvalidData(f"start has shape {start.shape}; people have {people.shape}.")
    return start

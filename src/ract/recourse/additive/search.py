"""Exact search under a cost that adds up, in one model or in several at once."""

from __future__ import annotations

from functools import cache

import numpy as np

from ract.data.actions import Feature
from ract.data.costs import FittedCost, LinearCost
from ract.data.encoder import Axis
from ract.recourse.additive.objective import Objective
from ract.recourse.additive.person import AdditivePerson, PersonBeforeSeveral
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact import several
from ract.recourse.exact.decide import Model
from ract.recourse.exact.search import ExactSearch
from ract.trees.ensemble import TreeEnsemble


class AdditiveSearch(ExactSearch):
    """Exact search in an ensemble under a cost that adds up over features.

    Branch and bound over cells (``ract._kernels.search.additive``). ``OPTIMAL`` means that no
    action costs less by more than 1e-9 of the cost; what ``solve`` takes is what ``ExactSearch``
    takes.

    Parameters
    ----------
    ensemble : TreeEnsemble
    axes : sequence of Axis
    cost : FittedCost
        With norm "l1", or a combined one.

    Examples
    --------
    >>> from ract.data.costs import make_cost
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> people = model.encoder_.matrix(loans.frame)
    >>> cost = make_cost("l1").fit(people.T, model.encoder_.weights)
    >>> search = AdditiveSearch(model.ensemble_, model.encoder_.axes, cost)
    >>> refused = people[~model.ensemble_.decide(people)]
    >>> answers = search.solve(refused[:5], max_changes=2)
    >>> bool(model.ensemble_.decide(answers.values[answers.found]).all())
    True
    """

    def _take(self, cost: FittedCost) -> None:
        self.objective = Objective.of(cost)

    def _warm_up(self) -> None:
        super()._warm_up()  # a first point may be that of the smallest maximum
        warm_up_sums(by_votes=self.problem.ensemble.combine == "votes")

    def _person(
        self, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray
    ) -> AdditivePerson:
        return AdditivePerson(self.model, own, costs, changes, stop, self.objective)


class SeveralAdditiveSearch(several.SeveralSearch):
    """Exact search for actions that several ensembles accept, under a cost that adds up.

    Parameters are those of ``SeveralSearch``, with a cost as in ``AdditiveSearch``.

    Examples
    --------
    >>> from ract.data.costs import make_cost
    >>> from ract.models.examples import loans_tree
    >>> (old, loans), (new, _) = loans_tree(max_depth=3), loans_tree(max_depth=4)
    >>> people, both = old.encoder_.matrix(loans.frame), (old.ensemble_, new.ensemble_)
    >>> cost = make_cost("l1").fit(people.T, old.encoder_.weights)
    >>> search = SeveralAdditiveSearch(both, old.encoder_.axes, cost)
    >>> answers = search.solve(people[~old.ensemble_.decide(people)][:5])
    >>> [bool(model.decide(answers.values[answers.found]).all()) for model in both]
    [True, True]
    """

    def _take(self, cost: FittedCost) -> None:
        self.objective = Objective.of(cost)

    def _warm_up(self) -> None:
        super()._warm_up()
        warm_up_sums(by_votes=False)

    def _person(
        self, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray
    ) -> PersonBeforeSeveral:
        return PersonBeforeSeveral(self.models, own, costs, changes, stop, self.objective)


@cache
def warm_up_sums(*, by_votes: bool) -> None:
    """Compile or load the kernels, so that nobody's time limit has to pay for it."""
    axis = Axis(Feature("x", "continuous"), (0,))
    trees = TreeEnsemble.stump(0, 0.0, "votes" if by_votes else "sum")
    problem = CellProblem(trees, [axis], LinearCost("l1", np.ones(1)))
    own = np.zeros(1, np.int64)
    costs = problem.costs(np.zeros((1, 1)), own[None])[0]
    AdditivePerson(Model.of(problem), own, costs, 1, np.zeros(1, np.uint8)).cheapest(1.0, 10)

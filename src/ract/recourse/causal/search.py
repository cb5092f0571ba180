"""Search for actions that count on their consequences: the model decides on x + a + E a.

Branch and bound over the actions that have effects. Each part of them is bounded by a search that
the exact method solves (``bound``), and the point that it suggests is aimed at: the region
around the point in which enough trees vote for the person is entered one feature after another
(``region_by_steps``) or by a linear program (``region_by_program``). While nothing has been found,
votes are raised from there one feature at a time (``climb``). Whatever comes out is run through the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from heapq import heappop, heappush

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract._utils.validation import AMOUNT, AT_LEAST_ONE, NONE, check_value
from ract.data.costs import FittedCost, require_max_norm
from ract.data.effects import CausalEffects
from ract.data.encoder import Axis
from ract.recourse.causal.bound import STEPS, Relaxation
from ract.recourse.causal.incumbent import Incumbent, climb_to_desired
from ract.recourse.causal.region_by_program import enter_region
from ract.recourse.common.anchors import Anchors
from ract.recourse.common.moves import Moves
from ract.recourse.common.outcomes import ActionBox, PersonOutcomes
from ract.recourse.common.region_by_steps import enter_by_steps
from ract.recourse.common.search import LARGEST, Batch, RecourseSearch, for_each
from ract.recourse.exact.search import ExactSearch
from ract.recourse.plan import Obstacle
from ract.trees.ensemble import TreeEnsemble

# An action that is cheaper by less is no improvement.
TOLERANCE = 1e-6
PLAIN_NODES = 1000
# By default; with uncertain effects, of which bounds do not know, more nodes find little.
MAX_NODES, MAX_NODES_UNCERTAIN = 3, 2
MOST_ENTERED = 16


class CausalSearch(RecourseSearch):
    """Search for actions when effects follow them.

    A person intervenes with ``a``: directions, bounds, whole numbers, the budget and the cost
    hold for what they do themselves, that is for ``x + a``, feature by feature. The model decides
    on what they end at, ``x + a + E a``, in which features that follow take whatever value they
    take. The ``values`` of answers are ``x + a``, their ``outcomes`` what people end at.

    Answers are ``OPTIMAL`` if no action is cheaper by more than 1e-6, ``NONE`` if there is none
    within the budget, both proved; else ``FOUND``, with a lower bound, or ``UNKNOWN``. Without
    effects this is ``ExactSearch``.

    Nodes (``max_nodes``) are parts of the actions to look at. ``solve`` takes besides: ``max_gap``,
    the search ends when the action found is at most this much above the lower bound; 0 to go on
    until it is proved cheapest or the nodes are used up.

    Parameters
    ----------
    ensemble, axes, cost
        As in ``ExactSearch``.
    effects : CausalEffects
        Among encoded columns, by their names; no category may be an effect. The cheapest action
        ends just across the edge of a decision, and comes to nothing if an effect is a little
        weaker than thought; with an ``uncertainty``, actions hold in all the ways of
        ``CausalEffects.perturbed``. (The lower bounds do not know of it.)
    reference : float (people, columns), optional
        People like those that got the desired class. An ensemble that does not decide by votes
        needs them, as places to aim at; without votes nothing is proved.
    held : callable, optional
        Rows as the people's table holds them, such as rounded to singles; actions and outcomes
        are such rows then.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> effects = CausalEffects.from_edges({("Income", "Savings"): 0.3, ("Income", "Debt"): 0.15})
    >>> search = CausalSearch(model.ensemble_, model.encoder_.axes, model.cost_, effects)
    >>> refused = model.encoder_.matrix(loans.frame[model.predict(loans.frame) == "refused"])[:20]
    >>> answers = search.solve(refused, budget=0.3)
    >>> bool(model.ensemble_.decide(answers.outcomes[answers.found]).all())
    True
    """

    def __init__(
        self,
        ensemble: TreeEnsemble,
        axes: Sequence[Axis],
        cost: FittedCost,
        effects: CausalEffects,
        *,
        reference: np.ndarray | None = None,
        held: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> None:
        require_max_norm(cost, "Plans with causal effects need")
        self._ensemble, self._cost, self._moves = ensemble, cost, Moves(axes, cost)
        named = effects.among(column_names(axes))
        _refuse_effects_on_categories(axes, named)
        # Nobody acts on a fixed feature, so nothing follows from it.
        self._effects = np.where(self._moves.actionable, named.total, 0.0)
        others = named.perturbed(named.uncertainty, self._moves.actionable)
        self._others = np.where(self._moves.actionable, others, 0.0)
        nobody = np.zeros((0, len(named.names)))
        self._held = None if held is None or held(nobody) is nobody else held
        causes = np.abs(np.concatenate([self._effects[None], self._others])).max(axis=(0, 1)) > 0
        self._causes = np.array([causes[list(axis.columns)].any() for axis in axes])
        self._order = np.array([named.names.index(name) for name in named.order])
        self._plain: ExactSearch | None = None
        self._relaxed: Relaxation | None = None
        if ensemble.combine == "votes":
            self._plain = ExactSearch.prepared(ensemble, axes, cost)
            receives = np.asarray(self._effects.any(axis=1))
            self._relaxed = Relaxation(ensemble, axes, cost, receives)
        else:
            self._anchors = _anchors_of(ensemble, reference)

    def fill(self, batch: Batch, *, max_gap: float = 0.01) -> None:
        """Branch and bound for each person; outcomes with effects stand beside the values."""
        people, answers, limits = batch.people, batch.answers, batch.limits
        max_nodes = limits.nodes(MAX_NODES_UNCERTAIN if len(self._others) else MAX_NODES)
        check_value("max_changes", limits.max_changes, NONE, AT_LEAST_ONE)
        check_value("max_gap", max_gap, AMOUNT)
        answers.outcomes = outcomes = people.copy()
        simple = not self._causes.any() and self._held is None and limits.max_changes is None
        if self._plain is not None and simple:
            self._plain.fill(replace(batch, limits=replace(limits, max_nodes=None)))
            answers.outcomes = answers.values.copy()
            return
        accepted = self._ensemble.decide(people)

        def search(i: int, stop: np.ndarray) -> None:
            if accepted[i]:
                answers.status[i], answers.cost[i] = Status.OPTIMAL, 0.0
                return
            one = _PersonSearch(self, people[i], batch.budgets[i], limits.max_changes, stop)
            answers.status[i] = one.run(max_nodes, max_gap)
            answers.cost[i], answers.bound[i] = one.best.cost, one.bound
            answers.nodes[i], outcomes[i] = one.nodes, one.best.ends
            if one.best.values is not None:
                answers.values[i] = one.best.values
            if answers.status[i] == Status.NONE:
                answers.obstacles[i] = one.obstacle(max_nodes)

        answers.seconds = for_each(search, len(people), limits)


class _PersonSearch:
    """The search for one person who does not have the desired class."""

    def __init__(
        self,
        search: CausalSearch,
        person: np.ndarray,
        budget: float,
        max_changes: int | None,
        stop: np.ndarray,
    ) -> None:
        self._search, self._max_changes, self._stop = search, max_changes, stop
        self._budget = budget
        self._outcomes = PersonOutcomes(
            person, search._moves, search._effects, search._others, search._held
        )
        self._dearest = search._moves.dearest(person)
        cap = min(budget, self._dearest)
        self.best = Incumbent(
            self._outcomes, search._ensemble, search._cost, cap, TOLERANCE, stop, max_changes
        )
        self.bound, self.nodes, self._pushed = 0.0, 0, 0
        self._queue: list[tuple[float, int, ActionBox]] = []
        self._aimed = person  # the last action that was to lead into a region

    def run(self, max_nodes: int, max_gap: float) -> Status:
        """Search; returns a status."""
        relaxed, plain = self._search._relaxed, self._search._plain
        if relaxed is None or plain is None:
            self._aim_at_accepted(self._search._anchors)
            if self.best.values is None:
                self._climb()
            return Status.UNKNOWN if self.best.values is None else Status.FOUND
        self._begin(plain)
        left_over = np.inf  # least bound of the parts that could be neither decided nor split
        self._push(0.0, self._outcomes.everything())
        while self._queue and self.nodes < max_nodes and not self._stop[0]:
            bound, _, box = heappop(self._queue)
            if bound > self.best.cap or self.best.cost - min(bound, left_over) <= max_gap:
                self._push(bound, box)
                break
            self.nodes += 1
            least, point = relaxed.solve(self._outcomes, box, self.best.cap, self._stop)
            bound = max(bound, least)
            if bound > self.best.cap:
                continue
            if point is not None and self._aim(point):
                self._push(bound, box)  # once more, below the new best
                continue
            parts = self._outcomes.split(box, self.best.cap, point)
            left_over = left_over if parts else min(left_over, bound)
            for part in parts:
                self._push(bound, part)
        return self._status_at(min([left_over, *(bound for bound, _, _ in self._queue)]))

    def obstacle(self, max_nodes: int) -> Obstacle:
        """Why there is no action within the budget: whether there is one at any cost."""
        needed = np.inf
        if self._budget < self._dearest:
            anyhow = _PersonSearch(
                self._search, self._outcomes.person, self._dearest, self._max_changes, self._stop
            )
            # Any action will do: then another budget helps, but which is the least is not known.
            if anyhow.run(max_nodes, max_gap=LARGEST) != Status.NONE:
                needed = np.nan
        return Obstacle((), False, needed)

    def _begin(self, plain: ExactSearch) -> None:
        """Try what is cheapest without effects, and what leaves all causes alone."""
        person, causes = self._outcomes.person, self._search._causes
        limits = self._budget, PLAIN_NODES, self._stop, self._max_changes
        found, values = plain.cheapest(person, *limits)
        if found.point is None or not self._offer_cleared(values):
            alone, values_alone = plain.cheapest(person, *limits, still=causes)
            if alone.point is not None:
                self._offer_cleared(values_alone)
        if found.point is not None and not self._stop[0]:  # to end where it leads without effects
            self._aim_near(values)
        if self.best.values is None:
            self._climb()

    def _offer_cleared(self, values: np.ndarray) -> bool:
        cleared = self._outcomes.cleared(values, self.best.cap)
        return self.best.offer(np.stack([values, cleared]))

    def _push(self, bound: float, box: ActionBox) -> None:
        self._pushed += 1
        heappush(self._queue, (bound, -self._pushed, box))  # of equals, the newest first

    def _status_at(self, left: float) -> Status:
        """Status, when nothing that is left costs less than this."""
        found = self.best.values is not None
        if left > self.best.cap:
            self.bound = max(self.best.cap, 0.0) if found else np.inf
            return Status.OPTIMAL if found else Status.NONE
        self.bound = left
        return Status.FOUND if found else Status.UNKNOWN

    def _aim(self, point: np.ndarray) -> bool:
        """Try to get near a point; while there is no action, to climb from where that led."""
        if self._aim_near(point):
            return True
        if self.best.values is not None:
            return False
        return self._climb()

    def _climb(self) -> bool:
        return climb_to_desired(self.best, self._search._ensemble, self._aimed, self._stop)

    def _aim_near(self, point: np.ndarray) -> bool:
        """Try to enter the region in which enough trees, the nearest, vote as at the point."""
        return self._enter(Anchors(self._search._ensemble, point[None]), 0)

    def _enter(self, anchors: Anchors, which: int) -> bool:
        cap, order, outcomes = self.best.cap, self._search._order, self._outcomes
        reached = outcomes.reached(outcomes.everything(), cap, STEPS)
        price = outcomes.first_costs(reached, anchors.lower[which], anchors.upper[which])
        lower, upper = anchors.region(which, price)
        steps = enter_by_steps(self._outcomes, order, lower[None], upper[None], cap)
        self._aimed = steps[0]
        if self.best.offer(steps):
            return True
        values = enter_region(self._outcomes, lower, upper, cap, self._max_changes)
        return values is not None and self.best.offer(values[None])

    def _aim_at_accepted(self, anchors: Anchors) -> None:
        """Try the regions of accepted people, nearest first."""
        person, actionable = self._outcomes.person, self._search._moves.actionable
        near = anchors.meeting(*self._outcomes.hull(self.best.cap))
        goals = np.where(actionable, anchors.points[near], person)
        distance = self._search._cost.between(np.tile(person, (len(near), 1)), goals)
        for r in near[np.argsort(distance, kind="stable")[:MOST_ENTERED]]:
            if self._stop[0]:
                break
            self._enter(anchors, int(r))
            self.nodes += 1


def column_names(axes: Sequence[Axis]) -> tuple[str, ...]:
    """Names of the encoded columns of axes, as the encoder gives them."""
    names: dict[int, str] = {}
    for axis in axes:
        feature = axis.feature
        labels = feature.columns or tuple(f"{feature.name}={c}" for c in feature.categories)
        names |= zip(axis.columns, labels or (feature.name,), strict=True)
    return tuple(names[j] for j in range(len(names)))


def _refuse_effects_on_categories(axes: Sequence[Axis], effects: CausalEffects) -> None:
    for axis in axes:
        if axis.is_categorical and effects.direct[list(axis.columns)].any():
            raise InvalidSpec(
                f"Feature {axis.feature.name!r} is categorical; it may be a cause but not an "
                "effect, since what follows by itself is a number."
            )


def _anchors_of(ensemble: TreeEnsemble, reference: np.ndarray | None) -> Anchors:
    if reference is None or not ensemble.decide(reference).any():
        raise InvalidSpec(
            f"Causal search in an ensemble that decides by {ensemble.combine!r} needs reference: "
            "people to whom it gives the desired class."
        )
    return Anchors.among(ensemble, reference)

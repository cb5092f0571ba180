"""Exact search in several models at once: the cheapest action that all of them accept."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache, cached_property, partial
from typing import Self

import numpy as np

from ract._kernels.search import decide_votes
from ract._kernels.search.boxes import LeafBoxes
from ract._kernels.search.cell_forest import Forest, Needs, PointRules, polish
from ract._kernels.search.decide_several import SHARPNESS, decide_several
from ract._utils.status import Status
from ract.data.actions import Feature
from ract.data.costs import FittedCost, LinearCost
from ract.data.encoder import Axis
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem
from ract.recourse.common.search import Batch
from ract.recourse.exact.cheapest import Descent, Squeeze
from ract.recourse.exact.decide import Left, Model, ModelDescent, boxes_of, joined_rules
from ract.recourse.exact.search import MAX_NODES, CellSearch
from ract.trees.ensemble import TreeEnsemble

Lefts = tuple[Left, ...]

# Nodes of a question to all models before each is asked by itself; ten times as many each time.
TOGETHER = 500


class Models:
    """Several models in the cells of all their thresholds.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble
        Over the same encoded columns.
    axes : sequence of Axis
    cost : FittedCost
    """

    def __init__(
        self, ensembles: Sequence[TreeEnsemble], axes: Sequence[Axis], cost: FittedCost
    ) -> None:
        self.problem = CellProblem(TreeEnsemble.joined(ensembles, votes_needed=1), axes, cost)
        self.each: list[Model] = []
        for ensemble in ensembles:
            part = copy(self.problem)  # the same cells and prices
            part.ensemble = ensemble
            self.each.append(Model.of(part))
        sizes = [len(model.rule.weight) for model in self.each]
        self._first_label = np.cumsum([1, *sizes])  # label 0 is that of a leaf without a vote
        self.by_votes = np.array([model.by_votes for model in self.each])
        self.least = np.array([model.least for model in self.each])

    def squeezed(self, squeeze: Squeeze) -> Models:
        """The same models without some cells."""
        other = copy(self)
        for name in ("simplified", "decides_by", "weights"):
            vars(other).pop(name, None)
        other.problem = squeeze.problem(self.problem)
        other.each = [model.squeezed(squeeze) for model in self.each]
        return other

    @cached_property
    def simplified(self) -> Lefts:
        """The trees of each model without splits between equal leaves."""
        return tuple(model.simplified for model in self.each)

    @cached_property
    def weights(self) -> np.ndarray:
        """What bounds the labels of all models, after the one of a leaf without a vote."""
        return np.concatenate([[0.0], *(model.rule.weight for model in self.each)])

    @cached_property
    def decides_by(self) -> tuple[Forest, PointRules]:
        """All trees, and the rules by which the models add them up."""
        rules = joined_rules([(len(model.forest.root), model.deciding[1]) for model in self.each])
        # Labels of all models, after the one of a leaf without a vote.
        weight, against = (np.append(0.0, values) for values in (rules.weight, rules.against))
        forest = self.joined([model.forest for model in self.each])
        return forest, rules._replace(weight=weight, against=against)

    def joined(self, forests: Sequence[Forest]) -> Forest:
        """The trees of one forest per model in one, with different labels for different models."""
        first = np.cumsum([0, *(len(forest.axis) for forest in forests)])
        labels = [
            np.where(by_votes & (forest.label <= 0), 0, forest.label + shift)
            for forest, by_votes, shift in zip(
                forests, self.by_votes, self._first_label[:-1], strict=True
            )
        ]

        def end_to_end(name: str) -> np.ndarray:
            nodes = [getattr(forest, name) for forest in forests]
            return np.concatenate(
                [np.where(n < 0, -1, n + f) for n, f in zip(nodes, first[:-1], strict=True)]
            ).astype(np.int32)

        return Forest(
            axis=np.concatenate([forest.axis for forest in forests]),
            cell=np.concatenate([forest.cell for forest in forests]),
            label=np.concatenate(labels).astype(np.int32),
            missing_left=np.concatenate([forest.missing_left for forest in forests]),
            missing=forests[0].missing,
            **{name: end_to_end(name) for name in ("left", "right", "parent", "root")},
        )

    def within(
        self, lefts: Lefts, own: np.ndarray, costs: np.ndarray, limit: float, changes: int
    ) -> Lefts:
        """What is left of each model in the box of the cells that cost at most limit."""
        each = zip(self.each, lefts, strict=True)
        return tuple(model.within(left, own, costs, limit, changes) for model, left in each)

    def first_price(
        self, lefts: Lefts, own: np.ndarray, costs: np.ndarray, prices: np.ndarray
    ) -> int:
        """Position of the lowest of some prices at which every model can have enough."""
        each = zip(self.each, lefts, strict=True)
        return max(model.first_price(left, own, costs, prices) for model, left in each)

    def may_do(self, lefts: Lefts) -> bool:
        """Whether every model can have enough."""
        return all(left.best >= need for left, need in zip(lefts, self.least, strict=True))


class ModelsDescent(Descent):
    """One person before several models."""

    model: Models

    def _ask(self, lefts: Lefts, max_nodes: int) -> Answer:
        """Whether all accept some point of what is left, and what it costs at least."""
        models, point = self.model, self.own.copy()
        categorical = models.problem.categorical
        if not models.may_do(lefts):
            return Answer(Status.NONE)
        forest = models.joined([left.forest for left in lefts])
        boxes = boxes_of(self, forest, 1, lefts[0].box)
        if boxes is None:
            return Answer(Status.UNKNOWN)
        value = models.weights[boxes.label]
        asked = boxes, value, *self._needs(lefts, boxes, value), self.changes, *models.decides_by
        nodes, allowed = 0, TOGETHER
        while True:
            few = min(allowed, max_nodes - nodes)
            status, used = decide_several(*asked, few, self.stop, point)
            nodes += used
            if status != Status.UNKNOWN or nodes >= max_nodes or self.stop[0]:
                break
            refused, used = self._one_refuses(lefts, few // 4)
            nodes += used
            if refused:
                return Answer(Status.NONE, nodes=nodes)
            allowed *= 10
        if status != Status.FOUND:
            return Answer(Status(status), nodes=nodes)
        cost = polish(*models.decides_by, self.own, self.costs, categorical, self.stop, point)
        return Answer(Status.FOUND, cost, 0.0, point, nodes)

    def _one_refuses(self, lefts: Lefts, max_nodes: int) -> tuple[bool, int]:
        """Whether a model by itself is proved to accept no point of what is left, and nodes.

        The bound of sums is sharper there, and nodes take longer.
        """
        nodes = 0
        for model, left in zip(self.model.each, lefts, strict=True):
            alone = ModelDescent(model, self.own, self.costs, self.changes, self.stop)
            status, used = alone.look(left, max_nodes, self.own.copy())
            nodes += used
            if status == Status.NONE:
                return True, nodes
        return False, nodes

    def _needs(self, lefts: Lefts, boxes: LeafBoxes, value: np.ndarray) -> tuple[Needs, np.ndarray]:
        """What the trees that are left must have, and how much of that counts as much."""
        by_votes = self.model.by_votes
        first = np.cumsum([0, *(len(left.forest.root) for left in lefts)])
        scale = np.where(by_votes, decide_votes.SHARPNESS, SHARPNESS)
        begin = np.searchsorted(boxes.tree, np.arange(first[-1] + 1))
        for g in np.flatnonzero(~by_votes & (np.diff(first) > 0)):
            trees = slice(first[g], first[g + 1])
            best, worst = value[begin[:-1][trees]], value[begin[1:][trees] - 1]
            scale[g] /= (best - worst).mean()
        constant = np.array([left.constant for left in lefts])
        return Needs(first, by_votes, self.model.least - constant), scale


class SeveralSearch(CellSearch[ModelsDescent]):
    """Exact search for actions that several ensembles accept, however each of them decides.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble
        Over the same encoded columns.
    axes, cost
        As in ``ExactSearch``.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> (old, loans), (new, _) = loans_tree(max_depth=3), loans_tree(max_depth=4)
    >>> both = old.ensemble_, new.ensemble_
    >>> search = SeveralSearch(both, old.encoder_.axes, old.cost_)
    >>> refused = old.encoder_.matrix(loans.frame[old.predict(loans.frame) == "refused"])
    >>> answers = search.solve(refused, budget=0.3)
    >>> [bool(model.decide(answers.values[answers.found]).all()) for model in both]
    [True, True]
    """

    def __init__(
        self, ensembles: Sequence[TreeEnsemble], axes: Sequence[Axis], cost: FittedCost
    ) -> None:
        self._take(cost)
        self.ensembles = tuple(ensembles)
        self.models = Models(self.ensembles, axes, cost)
        self.problem = self.models.problem
        made_once = self.models.simplified, self.models.decides_by, self.models.weights  # noqa: F841
        self._warm_up()

    def _warm_up(self) -> None:
        compile_kernels_for_several()

    def _person(
        self, own: np.ndarray, costs: np.ndarray, changes: int, stop: np.ndarray
    ) -> ModelsDescent:
        return ModelsDescent(self.models, own, costs, changes, stop)

    @classmethod
    def prepared(
        cls, ensembles: Sequence[TreeEnsemble], axes: Sequence[Axis], cost: FittedCost
    ) -> Self:
        """The search, kept with the first model's trees from one call to the next."""
        make = partial(cls, ensembles, axes, cost)
        # A search holds its trees and cost, so that their ids are nobody else's while it is kept.
        key = cls, tuple(axes), id(cost), *((each.key, each.cutoff) for each in ensembles)
        search: Self = ensembles[0].memo.get(key, make)
        return search

    def fill(self, batch: Batch) -> None:
        """Fill the table."""
        max_nodes = batch.limits.nodes(MAX_NODES)

        def search(i: int, person: ModelsDescent) -> None:
            self._write(batch, i, person, person.cheapest(batch.budgets[i], max_nodes))

        batch.answers.seconds = self.for_each(search, batch.people, batch.limits)


@cache
def compile_kernels_for_several() -> None:
    """Compile or load the kernels, so that nobody's time limit has to pay for it."""
    axis = Axis(Feature("x", "continuous"), (0,))
    stump = TreeEnsemble.stump(0, 0.0)
    models = Models([stump, stump], [axis], LinearCost("max", np.ones(1)))
    own = np.zeros(1, np.int64)
    costs = models.problem.costs(np.zeros((1, 1)), own[None])[0]
    ModelsDescent(models, own, costs, 1, np.zeros(1, np.uint8)).cheapest(1.0, 10)

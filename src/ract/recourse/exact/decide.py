"""One person's questions to a forest: whether a desired point costs at most so much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ract._kernels.search.bits import OWN_WIDTH
from ract._kernels.search.boxes import LeafBoxes, make_boxes
from ract._kernels.search.cell_forest import (
    Box,
    Forest,
    PointRule,
    PointRules,
    first_price,
    polish,
    prune,
)
from ract._kernels.search.decide_sums import ROUNDING, decide_sums
from ract._kernels.search.decide_votes import decide_votes
from ract._kernels.search.few_axes import most_with_few
from ract._utils.status import Status
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.cheapest import QUICK_NODES, Descent, Squeeze

# Numbers that the tables of one question may hold (1 GB); larger questions have no answer.
MOST_NUMBERS = 1 << 27


@dataclass(frozen=True)
class Left:
    """What is left of a forest in a box of cells.

    Parameters
    ----------
    forest : Forest
        The trees that are not constant in the box.
    box : Box
    constant : float
        What the constant ones add up to.
    best : float
        The most that all can add up to.
    """

    forest: Forest
    box: Box
    constant: float
    best: float


@dataclass(frozen=True)
class Model:
    """A forest in cells and which points of it are wanted.

    Parameters
    ----------
    problem : Problem
    forest : Forest
        Larger labels are better.
    rule : PointRule
        The weights of the labels and what they must add up to.
    deciding : tuple of Forest and PointRule
        Those with which the model itself adds up.
    """

    problem: CellProblem
    forest: Forest
    rule: PointRule
    deciding: tuple[Forest, PointRule]

    @classmethod
    def of(cls, problem: CellProblem) -> Model:
        """Desired points are wanted."""
        return cls(problem, problem.forest, problem.bounding, (problem.forest, problem.rule))

    def part(self, trees: np.ndarray, needed: float) -> Model:
        """The model of some trees, which need so many votes, or a mean of so much."""
        forest = self.forest._replace(root=self.forest.root[trees])
        rule = self.rule._replace(cutoff=float(needed))
        if self.problem.ensemble.combine == "mean":
            rule = rule._replace(divisor=float(len(forest.root)))
        return Model(self.problem, forest, rule, (forest, rule))

    def needing(self, cutoff: float) -> Model:
        """The same trees, which must add up to at least this much."""
        rule = self.rule._replace(cutoff=float(cutoff), against=self.rule.against[:0])
        model = Model(self.problem, self.forest, rule, (self.forest, rule))
        vars(model)["simplified"] = self.simplified  # what the trees hold is the same
        return model

    def deciding_as(self, other: Model) -> Model:
        """The same trees, which must add up to as much as those of another model."""
        model = Model(self.problem, self.forest, other.rule, (self.deciding[0], other.deciding[1]))
        vars(model)["simplified"] = self.simplified
        return model

    def squeezed(self, squeeze: Squeeze) -> Model:
        """The same model without some cells."""
        forest, (deciding, rule) = squeeze.forest(self.forest), self.deciding
        deciding = forest if deciding is self.forest else squeeze.forest(deciding)
        model = Model(squeeze.problem(self.problem), forest, self.rule, (deciding, rule))
        left = self.simplified
        vars(model)["simplified"] = replace(left, forest=squeeze.forest(left.forest))
        return model

    @cached_property
    def refusing(self) -> Model:
        """The other way round: undesired points are wanted."""
        forest, rule = self.forest, self.rule
        flipped = forest._replace(label=(len(rule.weight) - 1 - forest.label).astype(np.int32))
        if self.by_votes:
            rule = rule._replace(cutoff=len(forest.root) - rule.cutoff + 1)
            return Model(self.problem, flipped, rule, (flipped, rule))
        rule = rule._replace(weight=-rule.weight[::-1].copy(), base=-rule.base, cutoff=-rule.cutoff)
        return Model(self.problem, flipped, rule, (forest, self.rule._replace(wanted=False)))

    @property
    def by_votes(self) -> bool:
        """Whether labels count, not values."""
        return self.problem.ensemble.combine == "votes"

    @cached_property
    def decides_by(self) -> tuple[Forest, PointRules]:
        """The trees that decide, and their rule."""
        forest, rule = self.deciding
        return forest, joined_rules([(len(forest.root), rule)])

    def decides_in(self, left: Left) -> tuple[Forest, PointRules]:
        """Trees that decide on the points of what is left, and their rule."""
        rules, first = self.decides_by[1], np.array([0, len(left.forest.root)])
        return left.forest, rules._replace(first=first, cutoff=rules.cutoff - left.constant)

    @cached_property
    def least(self) -> float:
        """No point is wanted whose leaves add up to less, in whatever order they are added."""
        rule, n_trees = self.rule, len(self.forest.root)
        needed = rule.cutoff * rule.divisor - rule.base
        if self.by_votes:
            return needed
        digits = np.finfo(np.float32 if rule.single else np.float64).eps
        deciding = self.deciding[1]
        each = np.abs(np.concatenate([rule.weight, deciding.weight, deciding.against]))
        largest = n_trees * each.max() + abs(rule.base) + abs(needed)
        return float(needed - 4 * n_trees * digits * largest)

    @cached_property
    def simplified(self) -> Left:
        """The trees without splits between equal leaves."""
        n_axes, n_cells = len(self.problem.grid.axes), int(self.problem.grid.n_cells.max())
        nobody = np.zeros(n_axes, np.int64), np.zeros((n_axes, n_cells))
        whole = Left(self.forest, Box(*np.zeros((3, 0))), 0.0, 0.0)
        return self.within(whole, *nobody, 0.0, n_axes)

    def within(
        self, left: Left, own: np.ndarray, costs: np.ndarray, limit: float, changes: int
    ) -> Left:
        """What is left in the box of the cells that cost at most limit, for so many changes."""
        room = np.empty((11, len(left.forest.axis)), np.int32)
        root, numbers = np.empty_like(left.forest.root), np.empty((3, len(own)), np.int64)
        trees, cells = (left.forest, self.rule.weight), self._cells
        constant, most, n_nodes, n_trees = prune(
            *trees, own, costs, *cells, limit, changes, numbers, root, room
        )
        constant += left.constant
        nodes = room[:7, :n_nodes].copy()
        forest = Forest._make([*nodes, root[:n_trees], left.forest.missing])
        return Left(forest, Box(*numbers), constant, constant + most)

    def first_price(
        self, left: Left, own: np.ndarray, costs: np.ndarray, prices: np.ndarray
    ) -> int:
        """Position of the lowest of some prices at which what is left can have enough."""
        trees, needed = (left.forest, self.rule.weight), self.least - left.constant
        room = np.empty((3, len(own)), np.int64), np.empty(len(left.forest.axis), np.int32)
        at: int = first_price(*trees, own, costs, *self._cells, prices, needed, *room)
        return at

    @property
    def _cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Number of cells of each axis, and which axes are categorical."""
        return self.problem.grid.n_cells, self.problem.categorical

    def may_do(self, left: Left) -> bool:
        """Whether what is left can have enough."""
        return left.best >= self.least


def joined_rules(models: Sequence[tuple[int, PointRule]]) -> PointRules:
    """The rules of models whose trees, so many of each, stand one after the other."""
    n_trees, each = zip(*models, strict=True)
    against = [r.against if len(r.against) else np.zeros(len(r.weight)) for r in each]
    return PointRules(
        first=np.cumsum([0, *n_trees]),
        weight=np.concatenate([rule.weight for rule in each]),
        against=np.concatenate(against),
        compares=np.array([len(rule.against) > 0 for rule in each]),
        **{
            name: np.array([getattr(rule, name) for rule in each])
            for name in ("ahead", "base", "single", "divisor", "cutoff", "wanted")
        },
    )


class ModelDescent(Descent):
    """One person before a model."""

    model: Model

    def attains(self, budget: float, max_nodes: int) -> int:
        """Whether some desired point is within a budget: FOUND, NONE or UNKNOWN."""
        if self.stop[0]:
            return Status.UNKNOWN
        if self.squeezed is not None:
            status: int = self.squeezed[0].attains(budget, max_nodes)
            return status
        model, most = self.model, self.inside(budget)
        status, nodes = self.look(most, max_nodes, self.own.copy())
        if status != Status.UNKNOWN or nodes > 0:
            return status
        # The question is too large. A smaller budget asks a smaller one and may do.
        prices = np.unique(self.costs[self.costs <= budget])
        at, step = 0, 1 + len(prices) // 24
        while at < len(prices) and not self.stop[0]:
            left = model.within(most, self.own, self.costs, prices[at], self.changes)
            if self.look(left, QUICK_NODES, self.own.copy())[0] == Status.FOUND:
                return Status.FOUND
            at, step = at + step, step * 2
        return Status.UNKNOWN

    def _ask(self, left: Left, max_nodes: int) -> Answer:
        """Whether some point of what is left is desired, and what it costs at least."""
        model, point = self.model, self.own.copy()
        answer, nodes = self.look(left, max_nodes, point)
        if answer != Status.FOUND:
            return Answer(Status(answer), nodes=nodes)
        # Votes are whole numbers: the small forest gives the same answers.
        forest, rules = model.decides_in(left) if model.by_votes else model.decides_by
        categorical = model.problem.categorical
        cost = polish(forest, rules, self.own, self.costs, categorical, self.stop, point)
        return Answer(Status.FOUND, cost, 0.0, point, nodes)

    def inside(self, budget: float) -> Left:
        """What is left in the cells of which each alone is within a budget."""
        whole = self.model.simplified
        return self.model.within(whole, self.own, self.costs, budget, self.changes)

    def most(self, budget: float) -> float:
        """What no point within a budget adds up to more than."""
        if self.squeezed is not None:
            return self.squeezed[0].most(budget)
        left = self.inside(budget)
        boxes = None if self.model.by_votes else boxes_of(self, left.forest, 0, left.box)
        return left.best if boxes is None else min(left.best, left.constant + self._most(boxes))

    def _most(self, boxes: LeafBoxes) -> float:
        """What the best leaves of sums add up to at most, with so few changes."""
        if self.changes >= len(self.own):
            return np.inf
        value = self.model.rule.weight[boxes.label]
        return float(most_with_few(boxes, value, self.changes) + ROUNDING * np.abs(value).sum())

    def look(
        self, left: Left, max_nodes: int, point: np.ndarray, budget: float = np.inf
    ) -> tuple[int, int]:
        """Whether some point of what is left is desired, and nodes; point becomes that point.

        UNKNOWN without a node: the question is too large for memory. budget: that of what is left,
        in which every point is within it.
        """
        model = self.model
        if not model.may_do(left):
            return Status.NONE, 0
        if self.stop[0]:
            return Status.UNKNOWN, 0
        boxes = boxes_of(self, left.forest, int(model.by_votes), left.box)
        if boxes is None:
            return Status.UNKNOWN, 0
        if self.stop[0]:
            return Status.UNKNOWN, 1
        n_trees, needed = len(left.forest.root), model.least - left.constant
        limits = max_nodes, self.stop, point
        answer: tuple[int, int]
        if model.by_votes:
            answer = decide_votes(boxes, n_trees, int(needed), self.changes, *limits)
            return answer
        value = model.rule.weight[boxes.label]
        if max_nodes > 0 and self._most(boxes) < needed:
            return Status.NONE, 1
        decides = model.decides_by
        answer = decide_sums(boxes, n_trees, value, needed, self.changes, *decides, *limits)
        return answer


def boxes_of(person: Descent, forest: Forest, least: int, box: Box) -> LeafBoxes | None:
    """The leaves with at least a label as boxes; None if the question is too large for memory."""
    own, most_cells = person.own, person.costs.shape[1]
    n_nodes, n_trees = len(forest.axis), len(forest.root)
    if n_nodes * len(own) > MOST_NUMBERS:  # half of the nodes are boxes with two ends
        return None
    most_boxes = MOST_NUMBERS // (2 * len(own)) if (forest.missing >= 0).any() else None
    categorical = person.model.problem.categorical
    leaves, ends, numbers, start, too_many = make_boxes(
        forest, np.int64(least), box, own, categorical, most_cells, most_boxes
    )
    if too_many:
        return None
    boxes = LeafBoxes._make([*leaves, *ends, numbers[0], start, *numbers[1:], own, categorical])
    # Masks of cells and open questions, bounds of boxes, and which boxes meet or miss which.
    n_boxes, n_words = len(boxes.tree), n_trees + len(boxes.tree) // OWN_WIDTH

    def size(n_cells: int, n_axes: int) -> int:
        return 4 * n_cells * n_words + 3 * n_axes * n_boxes + 2 * n_boxes * n_words

    if size(len(own) * most_cells, len(own)) <= MOST_NUMBERS:  # no need to count
        return boxes
    active = boxes.n_cells[boxes.n_cells > 1]
    return boxes if size(int(active.sum()), len(active)) <= MOST_NUMBERS else None

"""One person's questions to a forest: whether a desired point costs at most so much."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from ract._kernels.search.bits import OWN_WIDTH
from ract._kernels.search.boxes import Boxes, make_boxes
from ract._kernels.search.cell_forest import (
    Box,
    Forest,
    Rule,
    Rules,
    polish,
    prune,
    settle,
    tidy,
)
from ract._kernels.search.decide_sums import decide_sums
from ract._kernels.search.decide_votes import decide_votes
from ract.recourse.common.answers import Answer
from ract.recourse.common.problem import Problem
from ract.recourse.exact.cheapest import QUICK_NODES, cheapest
from ract.status import Status

# Numbers that the tables of one question may hold (1 GB); larger questions have no answer.
MOST_NUMBERS = 1 << 27

T = TypeVar("T")


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
    rule : Rule
        The weights of the labels and what they must add up to.
    deciding : tuple of Forest and Rule
        Those with which the model itself adds up.
    """

    problem: Problem
    forest: Forest
    rule: Rule
    deciding: tuple[Forest, Rule]

    @classmethod
    def of(cls, problem: Problem) -> Model:
        """Desired points are wanted."""
        return cls(problem, problem.forest, problem.rule, (problem.forest, problem.rule))

    def part(self, trees: np.ndarray, needed: int) -> Model:
        """The model of some trees, which need so many votes."""
        forest = self.forest._replace(root=self.forest.root[trees])
        rule = self.rule._replace(cutoff=float(needed))
        return Model(self.problem, forest, rule, (forest, rule))

    def needing(self, cutoff: float) -> Model:
        """The same trees, which must add up to at least this much."""
        rule = self.rule._replace(cutoff=float(cutoff), against=self.rule.against[:0])
        model = Model(self.problem, self.forest, rule, (self.forest, rule))
        vars(model)["simplified"] = self.simplified  # what the trees hold is the same
        return model

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
    def rules(self) -> Rules:
        """The rule of the trees that decide."""
        forest, rule = self.deciding
        return rules_of([(len(forest.root), rule)])

    @cached_property
    def least(self) -> float:
        """No point is wanted whose leaves add up to less, in whatever order they are added."""
        rule, n_trees = self.rule, len(self.forest.root)
        needed = rule.cutoff * rule.divisor - rule.base
        if self.by_votes:
            return needed
        digits = np.finfo(np.float32 if rule.single else np.float64).eps
        largest = n_trees * np.abs(rule.weight).max() + abs(rule.base) + abs(needed)
        return float(needed - 4 * n_trees * digits * largest)

    @cached_property
    def simplified(self) -> Left:
        """The trees without splits between equal leaves."""
        n_axes, n_cells = len(self.problem.grid.axes), int(self.problem.grid.n_cells.max())
        nobody = np.zeros(n_axes, np.int64), np.zeros((n_axes, n_cells))
        return self.within(Left(self.forest, Box(*np.zeros((3, 0))), 0.0, 0.0), *nobody, 0.0)

    def within(self, left: Left, own: np.ndarray, costs: np.ndarray, limit: float) -> Left:
        """What is left in the box of the cells that cost at most limit."""
        constant, most, nodes, root, box = prune(
            left.forest, self.rule.weight, own, costs, self.problem.grid.n_cells,
            self.problem.categorical, limit, np.empty((7, len(left.forest.axis)), np.int32),
        )  # fmt: skip
        constant += left.constant
        forest = Forest._make([*nodes, root, left.forest.missing])
        return Left(forest, Box(*box), constant, constant + most)


def rules_of(models: Sequence[tuple[int, Rule]]) -> Rules:
    """The rules of models whose trees, so many of each, stand one after the other."""
    n_trees, each = zip(*models, strict=True)
    against = [r.against if len(r.against) else np.zeros(len(r.weight)) for r in each]
    return Rules(
        first=np.cumsum([0, *n_trees]),
        weight=np.concatenate([rule.weight for rule in each]),
        against=np.concatenate(against),
        compares=np.array([len(rule.against) > 0 for rule in each]),
        **{
            name: np.array([getattr(rule, name) for rule in each])
            for name in ("tie", "base", "single", "divisor", "cutoff", "wanted")
        },
    )


def come_home(
    problem: Problem, forest: Forest, rules: Rules, own: np.ndarray, point: np.ndarray
) -> None:
    """Move every axis home that need not have left, and choose sensible values to hand in."""
    tidy(forest, rules, own, problem.categorical, point)
    for a in problem.handed_in(own, point).tolist():
        settle(forest, rules, problem.categorical, a, problem.sensible_cells(a), point)


def cheapest_within(
    most: T,
    within: Callable[[T, float], T],
    may_do: Callable[[T], bool],
    ask: Callable[[T, int], Answer],
    prices: np.ndarray,
    max_nodes: int,
) -> Answer:
    """The lowest price at which there is a solution in what is left of the trees.

    Parameters
    ----------
    most : what is left at the highest price
        Inside that box the trees are small; everything after works on what is left.
    within : callable
        ``within(left, limit)``: what is left at another price.
    may_do : callable
        Whether there can be a solution.
    ask : callable
        ``ask(left, max_nodes)``: whether there is one.
    prices : float array, ascending
    max_nodes : int
        For all questions together.
    """
    if not may_do(most):
        return Answer(Status.NONE)
    low, high, left = 0, len(prices) - 1, most
    while low < high:
        middle = (low + high) // 2
        there = within(left, prices[middle])
        if may_do(there):
            high, left = middle, there
        else:
            low = middle + 1

    def at(limit: float, allowed: int) -> Answer:
        nonlocal most
        left = within(most, limit)
        answer = ask(left, allowed)
        if answer.status == Status.FOUND:  # nobody asks for more again
            most = left
        return answer

    return cheapest(at, prices[low:], max_nodes)


@dataclass(frozen=True)
class Person:
    """One person before a model.

    Parameters
    ----------
    model : Model
    own : int64 (axes,)
        Their cells.
    costs : float64 (axes, cells)
        What each cell costs them.
    changes : int
        How many features they may change.
    stop : uint8 (1,)
        Set when their time is up.
    """

    model: Model
    own: np.ndarray
    costs: np.ndarray
    changes: int
    stop: np.ndarray

    def cheapest(self, budget: float, max_nodes: int) -> Answer:
        """Their cheapest point of cells within a budget."""
        model = self.model

        def within(left: Left, limit: float) -> Left:
            return model.within(left, self.own, self.costs, limit)

        found = cheapest_within(
            within(model.simplified, budget), within, lambda left: left.best >= model.least,
            self._ask, np.unique(self.costs[self.costs <= budget]), max_nodes,
        )  # fmt: skip
        if found.point is not None:
            come_home(model.problem, model.deciding[0], model.rules, self.own, found.point)
        return found

    def attains(self, budget: float, max_nodes: int) -> int:
        """Whether some desired point is within a budget: FOUND, NONE or UNKNOWN."""
        model = self.model
        most = model.within(model.simplified, self.own, self.costs, budget)
        status, nodes = self.look(most, max_nodes, self.own.copy())
        if status != Status.UNKNOWN or nodes > 0:
            return status
        # The question is too large. A smaller budget asks a smaller one and may do.
        prices = np.unique(self.costs[self.costs <= budget])
        at, step = 0, 1 + len(prices) // 24
        while at < len(prices) and not self.stop[0]:
            left = model.within(most, self.own, self.costs, prices[at])
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
        forest, rules = model.deciding[0], model.rules
        if model.by_votes:  # whole numbers: the small forest gives the same answers
            forest, first = left.forest, np.array([0, len(left.forest.root)])
            rules = rules._replace(first=first, cutoff=rules.cutoff - left.constant)
        cost = polish(forest, rules, self.own, self.costs, model.problem.categorical, point)
        return Answer(Status.FOUND, cost, 0.0, point, nodes)

    def look(self, left: Left, max_nodes: int, point: np.ndarray) -> tuple[int, int]:
        """Whether some point of what is left is desired, and nodes; point becomes that point.

        UNKNOWN without a node: the question is too large for memory.
        """
        model = self.model
        if left.best < model.least:
            return Status.NONE, 0
        boxes = boxes_of(
            left.forest, int(model.by_votes), left.box, self.own, model.problem.categorical,
            self.costs.shape[1],
        )  # fmt: skip
        if boxes is None:
            return Status.UNKNOWN, 0
        decide = self._decide_votes if model.by_votes else self._decide_sum
        return decide(left, boxes, max_nodes, point)

    def _decide_votes(
        self, left: Left, boxes: Boxes, max_nodes: int, point: np.ndarray
    ) -> tuple[int, int]:
        answer: tuple[int, int] = decide_votes(
            boxes, len(left.forest.root), int(self.model.least - left.constant), self.changes,
            self.own, self.model.problem.categorical, max_nodes, self.stop, point,
        )  # fmt: skip
        return answer

    def _decide_sum(
        self, left: Left, boxes: Boxes, max_nodes: int, point: np.ndarray
    ) -> tuple[int, int]:
        model = self.model
        answer: tuple[int, int] = decide_sums(
            boxes, len(left.forest.root), model.rule.weight[boxes.label],
            model.least - left.constant, self.changes, *model.deciding, self.own,
            model.problem.categorical, max_nodes, self.stop, point,
        )  # fmt: skip
        return answer


def boxes_of(
    forest: Forest, least: int, box: Box, own: np.ndarray, categorical: np.ndarray, most_cells: int
) -> Boxes | None:
    """The leaves with at least a label as boxes; None if the question is too large for memory."""
    n_nodes, n_trees = len(forest.axis), len(forest.root)
    if n_nodes * len(own) > MOST_NUMBERS:  # half of the nodes are boxes with two ends
        return None
    leaves, ends, numbers, start, too_many = make_boxes(
        forest, np.int64(least), box, own, categorical, most_cells,
        MOST_NUMBERS // (2 * len(own)),
    )  # fmt: skip
    if too_many:
        return None
    boxes = Boxes._make([*leaves, *ends, numbers[0], start, *numbers[1:]])
    # Masks of cells and open questions, bounds of boxes, and which boxes meet or miss which.
    active, n_boxes = boxes.n_cells > 1, len(boxes.tree)
    n_words = n_trees + n_boxes // OWN_WIDTH
    masks = 4 * boxes.n_cells[active].sum() * n_words
    size = masks + 3 * active.sum() * n_boxes + 2 * n_boxes * n_words
    return boxes if size <= MOST_NUMBERS else None

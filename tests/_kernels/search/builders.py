"""Boxes, forests of cells and people before random models, for the tests of search kernels."""

import itertools

import numpy as np
import pytest

from ract._kernels.search.additive.climb import PointProblem
from ract._kernels.search.additive.search import cheapest_sum
from ract._kernels.search.boxes import LeafBoxes, make_boxes
from ract._kernels.search.cell_forest import Box, Forest, Needs, PointRules, prune
from tests import naive


def random_boxes(rng, n_trees):
    """Boxes of trees on six axes of both kinds; each has one that holds the current cells."""
    categorical, n_axes = np.arange(6) >= 4, 6
    n_cells = np.where(categorical, 3, rng.integers(1, 5, n_axes))
    current = np.array([rng.integers(n) for n in n_cells])
    tree = np.repeat(np.arange(n_trees), rng.integers(1, 6, n_trees))
    shape = len(tree), n_axes
    first = np.where(categorical, 7, np.zeros(shape, np.int64))
    last = np.tile(n_cells - 1, (len(tree), 1))
    holds = np.append(True, tree[1:] != tree[:-1])
    for r in range(len(tree)):
        for a in rng.choice(n_axes, rng.integers(0, 5), replace=False):
            ends = np.sort(rng.integers(0, n_cells[a], 2))
            if categorical[a]:
                first[r, a] = rng.integers(1, 8) | (1 << current[a] if holds[r] else 0)
            else:
                first[r, a] = min(ends[0], current[a]) if holds[r] else ends[0]
                last[r, a] = max(ends[1], current[a]) if holds[r] else ends[1]
    start = np.tile(np.arange(8), (n_axes, 1))
    ends, missing = (first, last), current * 0 - 1
    of_person = start, current, missing, current, categorical
    return LeafBoxes(tree, np.ones_like(tree), *ends, n_cells, *of_person)


def listed(bits, words):
    """Boxes of a set of words."""
    return {r for r in range(len(bits.slot) - 1) if words[bits.slot[r]] & bits.bit[r]}


def boxes_with(boxes, a, cell):
    """Boxes that hold a cell of an axis."""
    if boxes.categorical[a]:
        return set(np.flatnonzero((boxes.first[:, a] >> cell) & 1))
    return set(np.flatnonzero((boxes.first[:, a] <= cell) & (cell <= boxes.last[:, a])))


def worth_of(boxes, value, points):
    """What each point wins: a vote, or the best box that it lies in, of each tree."""
    worth = []
    for point in points:
        ends = boxes.tree, boxes.first, boxes.last, boxes.categorical
        if value is None:
            worth.append(len(naive.trees_at(point, *ends)))
            continue
        numbers = np.arange(len(value)), *ends[1:]
        inside = sorted(naive.trees_at(point, *numbers))
        best = {t: max((value[r] for r in inside if boxes.tree[r] == t), default=-np.inf)
                for t in range(int(boxes.tree[-1]) + 1)}  # fmt: skip
        worth.append(sum(best.values()))
    return np.array(worth)


def random_tree(rng, n_cells, categorical, missing, depth, n_labels, nodes, parent=-1):
    """Append a tree to a list of nodes; returns its root."""
    here = len(nodes)
    nodes.append([-1, 0, -1, -1, parent, int(rng.integers(n_labels)), 0])
    if depth > 0 and rng.random() < 0.9:
        axis = int(rng.integers(len(n_cells)))
        ordered = n_cells[axis] - (missing[axis] >= 0)
        cell = int(rng.integers(n_cells[axis] if categorical[axis] else max(ordered - 1, 1)))
        sides = [
            random_tree(rng, n_cells, categorical, missing, depth - 1, n_labels, nodes, here)
            for _ in range(2)
        ]
        nodes[here][:4] = axis, cell, *sides
        nodes[here][6] = int(rng.integers(2))
    return here


def random_forest(rng, n_cells, categorical, missing, n_trees, n_labels):
    """Trees on cells, every child after its parent."""
    nodes, root = [], []
    for _ in range(n_trees):
        root.append(random_tree(rng, n_cells, categorical, missing, 3, n_labels, nodes))
    columns = np.array(nodes, np.int32).T.copy()
    return Forest(*columns, np.array(root, np.int32), missing)


def label_at(forest, root, point, categorical):
    """The label of a point's leaf."""
    node = root
    while forest.axis[node] >= 0:
        a = forest.axis[node]
        left = point[a] != forest.cell[node] if categorical[a] else point[a] <= forest.cell[node]
        if point[a] == forest.missing[a]:
            left = bool(forest.missing_left[node])
        node = forest.left[node] if left else forest.right[node]
    return forest.label[node]


class Case:
    """A random person before one or several random models."""

    def __init__(self, rng, objective, n_models=1, *, holes=False):
        self.rng, n = rng, int(rng.integers(1, 5))
        self.categorical = rng.random(n) < 0.3
        self.n_cells = rng.integers(2, 6, n)
        gaps = (rng.random(n) < 0.5) & ~self.categorical & holes
        self.missing = np.where(gaps, self.n_cells, -1)
        self.n_cells = self.n_cells + gaps
        self.own = np.array([rng.integers(k) for k in self.n_cells])
        supplies = gaps & (rng.random(n) < 0.6)
        self.own[supplies] = self.missing[supplies]
        self._set_models(n_models)
        self._set_prices(objective)
        self.changes = int(rng.integers(0, n + 1)) if rng.random() < 0.4 else n

    def _set_models(self, n_models):
        rng, self.parts, self.weights = self.rng, [], []
        self.by_votes = rng.random(n_models) < 0.5
        for votes in self.by_votes:
            values = [0.0, 1.0] if votes else rng.choice([-1.0, -0.1, 0.1, 0.2, 0.3, 0.7], 4)
            weight = np.sort(np.array(values, float))
            self.parts.append(
                random_forest(
                    rng, self.n_cells, self.categorical, self.missing, int(rng.integers(1, 7)),
                    len(weight),
                )
            )  # fmt: skip
            self.weights.append(weight)
        self.forest, self.first, self.weight = self.joined(self.parts)
        n_trees = np.diff(self.first)
        low, high = (np.array([end(w) for w in self.weights]) for end in (np.min, np.max))
        cutoff = (low + (high - low) * rng.uniform(0.3, 0.9, n_models)) * n_trees
        self.cutoff = np.where(self.by_votes, np.ceil(cutoff), cutoff)

    def joined(self, parts):
        """One forest of all models' trees, with first trees and weights of labels."""
        shift = np.cumsum([1, *(len(w) for w in self.weights)])
        first = np.cumsum([0, *(len(p.axis) for p in parts)])
        label = [
            np.where(votes & (p.label <= 0), 0, p.label + k)
            for p, votes, k in zip(parts, self.by_votes, shift[:-1], strict=True)
        ]

        def end_to_end(name):
            columns = [getattr(p, name) for p in parts]
            return np.concatenate(
                [np.where(c < 0, -1, c + f) for c, f in zip(columns, first[:-1], strict=True)]
            ).astype(np.int32)

        forest = Forest(
            np.concatenate([p.axis for p in parts]), np.concatenate([p.cell for p in parts]),
            end_to_end("left"), end_to_end("right"), end_to_end("parent"),
            np.concatenate(label).astype(np.int32),
            np.concatenate([p.missing_left for p in parts]), end_to_end("root"), self.missing,
        )  # fmt: skip
        trees = np.cumsum([0, *(len(p.root) for p in parts)])
        return forest, trees, np.concatenate([[0.0], *self.weights])

    def _set_prices(self, objective):
        rng, n, most = self.rng, len(self.own), int(self.n_cells.max())
        effort = np.full((n, most), np.inf)
        ties = rng.random() < 0.5
        for a in range(n):
            k = self.n_cells[a]
            steps = rng.choice([0.0, 0.25, 0.5, 1.0], k) if ties else rng.random(k)
            if self.categorical[a]:
                effort[a, :k] = np.where(rng.random(k) < 0.2, np.inf, steps)
            elif self.own[a] == self.missing[a]:
                effort[a, : k - 1] = steps[0]
            else:
                own, end = self.own[a], k - (self.missing[a] >= 0)
                effort[a, own:end] = np.cumsum(np.append(0.0, steps[own + 1 : end]))
                effort[a, :own] = np.cumsum(steps[:own][::-1])[::-1]
                if rng.random() < 0.2:  # one way only
                    effort[a, :own] = np.inf
            effort[a, self.own[a]] = 0.0
        fee, share = 0.0, 0.0
        if objective == "count":
            effort, fee = np.where(np.isinf(effort), np.inf, 0.0), 1.0
        elif objective == "free":
            effort = np.where(np.isinf(effort), np.inf, 0.0)
        elif objective == "fee":
            fee = 0.3
        elif objective == "mixture":
            share = 0.4
        away = np.arange(most) != self.own[:, None]
        with np.errstate(invalid="ignore"):
            self.price = np.where(away, (1 - share) * effort + fee, 0.0)
            self.size = np.where(away & np.isfinite(effort), share * effort, 0.0)

    def brute_force(self):
        """Cost of every accepted point with few enough changes, the least first."""
        costs = [np.inf]
        for point in itertools.product(*(range(k) for k in self.n_cells)):
            moved = [a for a, c in enumerate(point) if c != self.own[a]]
            cost = sum(self.price[a, point[a]] for a in moved)
            cost += max((self.size[a, point[a]] for a in moved), default=0.0)
            if len(moved) <= self.changes and np.isfinite(cost) and self.accepts(point):
                costs.append(cost)
        return min(costs)

    def accepts(self, point):
        for g in range(len(self.cutoff)):
            sum_ = 0.0
            for t in range(self.first[g], self.first[g + 1]):
                sum_ += self.weight[
                    label_at(self.forest, self.forest.root[t], point, self.categorical)
                ]
            if not sum_ >= self.cutoff[g]:
                return False
        return True

    def left(self, budget=1e300):
        """Boxes of the trees left within a budget, their values, what they need, and the rules."""
        n_models, alone = len(self.cutoff), self.price + self.size
        numbers, left, constant = np.empty((3, len(self.own)), np.int64), [], []
        for part, weight in zip(self.parts, self.weights, strict=True):
            room = np.empty((11, len(part.axis)), np.int32)
            root = np.empty_like(part.root)
            known, _, n_nodes, n_trees = prune(
                part, weight, self.own, alone, self.n_cells, self.categorical, min(budget, 1e300),
                self.changes, numbers, root, room,
            )  # fmt: skip
            left.append(Forest(*room[:7, :n_nodes].copy(), root[:n_trees], self.missing))
            constant.append(known)
        forest, first, weight = self.joined(left)
        least = self.cutoff - constant - 1e-9 * ~self.by_votes
        zeros, no = np.zeros(n_models), np.zeros(n_models, bool)
        rules = PointRules(
            self.first,
            self.weight,
            0 * self.weight,
            no,
            zeros,
            zeros,
            no,
            zeros + 1,
            self.cutoff,
            ~no,
        )
        most = int(self.n_cells.max())
        lists, ends, of_axes, start, _ = make_boxes(
            forest, np.int64(1), Box(*numbers), self.own, self.categorical, most, 10_000
        )
        of_person = *of_axes[1:], self.own, self.categorical
        boxes = LeafBoxes(*lists, *ends, of_axes[0], start, *of_person)
        return boxes, weight[boxes.label], Needs(first, self.by_votes, least), rules

    def search(self, budget=1e300, max_nodes=10_000, *, climbs=True, easy=40):
        """Whether it is proved, cost, bound, point."""
        boxes, value, needs, rules = self.left(budget)
        person = PointProblem(self.forest, rules, self.price, self.size)
        cost, point = np.array([np.inf, budget]), self.own.copy()
        proved, bound, _ = cheapest_sum(
            boxes, value, needs, self.changes,
            person, cost, 0.0, climbs, easy, max_nodes, np.zeros(1, np.uint8), point,
        )  # fmt: skip
        return proved, cost[0], bound, point

    def check_point(self, point, cost):
        moved = [a for a, c in enumerate(point) if c != self.own[a]]
        known = sum(self.price[a, point[a]] for a in moved)
        known += max((self.size[a, point[a]] for a in moved), default=0.0)
        assert known == pytest.approx(cost, rel=1e-12)
        assert len(moved) <= self.changes
        assert self.accepts(point)

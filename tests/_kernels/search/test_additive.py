"""The search for the cheapest sum, beside every point of small random tables."""

import itertools

import numpy as np
import pytest

from ract._kernels.search.additive.climb import Person
from ract._kernels.search.additive.search import Needs, cheapest_sum
from ract._kernels.search.boxes import Boxes, make_boxes
from ract._kernels.search.cell_forest import Box, Forest, Rules, prune

OBJECTIVES = ["sum", "count", "fee", "mixture", "free"]


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

    def search(self, budget=1e300, max_nodes=10_000, *, climbs=True, easy=40):
        """Whether it is proved, cost, bound, point."""
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
        rules = Rules(
            self.first, self.weight, np.zeros(len(self.weight)), np.zeros(n_models, bool),
            np.zeros(n_models, bool), np.zeros(n_models), np.zeros(n_models, bool),
            np.ones(n_models), self.cutoff, np.ones(n_models, bool),
        )  # fmt: skip
        lists, ends, of_axes, start, _ = make_boxes(
            forest, np.int64(1), Box(*numbers), self.own, self.categorical,
            int(self.n_cells.max()), 10_000,
        )  # fmt: skip
        boxes = Boxes(*lists, *ends, of_axes[0], start, *of_axes[1:])
        person = Person(
            self.forest, rules, self.own, self.price, self.size, self.categorical
        )  # fmt: skip
        cost, point = np.array([np.inf, budget]), self.own.copy()
        proved, bound, _ = cheapest_sum(
            boxes, weight[boxes.label], Needs(first, self.by_votes, least), self.changes,
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


def check(seed, objective, n_models, *, holes):
    rng = np.random.default_rng(seed)
    case = Case(rng, objective, n_models, holes=holes)
    best = case.brute_force()
    proved, cost, bound, point = case.search(
        climbs=bool(rng.random() < 0.5), easy=int(rng.integers(1, 4))
    )
    assert proved
    assert cost == pytest.approx(best, rel=2e-9), (cost, best)
    if np.isfinite(cost):
        case.check_point(point, cost)
        budget = rng.choice([cost, 0.9 * cost, 1.1 * cost])
        proved, within, _, _ = case.search(budget)
        assert proved and np.isfinite(within) == (cost <= budget)
    proved, cost, bound, point = case.search(max_nodes=1)
    assert bound <= best * (1 + 1e-9) or (np.isinf(bound) and np.isinf(best))
    assert cost >= best * (1 - 1e-12)
    if proved:
        assert cost == pytest.approx(best, rel=2e-9)
    return best


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_no_point_of_small_tables_is_cheaper(objective):
    costs = [check(seed, objective, 1, holes=seed % 2 == 0) for seed in range(150)]
    assert 20 < np.isfinite(costs).sum() < 140


@pytest.mark.parametrize("objective", ["sum", "fee", "mixture"])
def test_no_point_of_small_tables_is_cheaper_for_two_models(objective):
    costs = [check(seed, objective, 2, holes=seed % 2 == 0) for seed in range(100)]
    assert np.isfinite(costs).sum() > 10


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_nobody_of_ten_thousand_has_a_cheaper_point(objective):
    for seed in range(10_000):
        check(seed, objective, 1 + (seed % 5 == 4), holes=seed % 2 == 0)

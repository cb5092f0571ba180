"""Slow, obvious twins of the kernels. They share no code with the package on purpose."""

from __future__ import annotations

import itertools
import math

import numpy as np


def percentile_level(training, value):
    """Share of training values at or below a value, linear between observed values."""
    observed = sorted(set(training))
    share = {v: sum(1 for t in training if t <= v) / len(training) for v in observed}
    if value <= observed[0]:
        return share[observed[0]]
    if value >= observed[-1]:
        return share[observed[-1]]
    for left, right in itertools.pairwise(observed):
        if left <= value <= right:
            part = (value - left) / (right - left)
            return share[left] + part * (share[right] - share[left])
    raise AssertionError


def cell_of(thresholds, value):
    """How many thresholds a value lies above."""
    return sum(1 for t in thresholds if value > t)


def attainable_values(kind, change, lower, upper, own, thresholds, rng):
    """Every integer, or enough reals to hold the cheapest of each cell, that a person may take."""
    if kind in ("integer", "binary"):
        first, last = math.floor(min(lower, own)), math.floor(max(upper, own))
        values = [float(v) for v in range(first, last + 1)]
    else:
        values = [lower, upper, *rng.uniform(lower, upper, 20)]
        for t in thresholds:
            values += [t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf)]
    allowed = [own]
    for v in values:
        too_far = (v > own and v > upper) or (v < own and v < lower)
        wrong_way = (v > own and change in ("decrease", "fixed")) or (
            v < own and change in ("increase", "fixed")
        )
        if not too_far and not wrong_way:
            allowed.append(v)
    return allowed


def cheapest_per_cell(training, weight, own, thresholds, values):
    """Cell -> (cost, value) of the cheapest attainable value under the percentile cost."""
    here = percentile_level(training, own)
    best = {}
    for v in values:
        cost = weight * abs(percentile_level(training, v) - here)
        cell = cell_of(thresholds, v)
        if cell not in best or cost < best[cell][0]:
            best[cell] = (cost, v)
    return best


def flip_cost(training_column):
    """Cost of flipping a 0/1 column under the percentile cost: the share of ones."""
    column = np.asarray(training_column)
    return abs(percentile_level(list(column), 1.0) - percentile_level(list(column), 0.0))


# Growing: leaves are lists of conditions (axis, cell, goes right), people are points of cells.


def goes_right(categorical, value, cell):
    return value == cell if categorical else value > cell


def inside(leaf, point, categorical):
    return all(
        goes_right(categorical[axis], point[axis], cell) == right for axis, cell, right in leaf
    )


def reachable_points(cells, lowest, highest, can_enter, i):
    """Every combination of cells that person i can attain."""
    options = []
    for a in range(len(cells)):
        if can_enter[a] is not None:
            own = cells[a][i]
            options.append([k for k in range(len(can_enter[a])) if can_enter[a][own][k]])
        else:
            options.append(list(range(lowest[a][i], highest[a][i] + 1)))
    return list(itertools.product(*options))


def gini_mass(pos, neg):
    return 0.0 if pos + neg == 0 else (pos + neg) * 2 * (pos / (pos + neg)) * (neg / (pos + neg))


def entropy_mass(pos, neg):
    total, parts = pos + neg, [p for p in (pos, neg) if p > 0]
    return -sum(p * math.log2(p / total) for p in parts)


class NaiveObjective:
    """Error and recourse of a whole tree from their definitions (Eq. 2 of the paper)."""

    def __init__(self, people, weights, recourse_weight):
        self.cells = people.cells.astype(int)
        self.can_enter = people.can_enter
        self.desired = people.desired
        self.weights = weights
        self.recourse_weight = recourse_weight
        self.categorical = [table is not None for table in people.can_enter]
        lowest, highest = people.lowest.astype(int), people.highest.astype(int)
        self.people = [i for i in range(len(weights)) if weights[i] > 0]
        self.points = {
            i: reachable_points(self.cells, lowest, highest, people.can_enter, i)
            for i in self.people
        }

    def members(self, leaf):
        return [i for i in self.people if inside(leaf, self.cells[:, i], self.categorical)]

    def attains(self, i, leaf):
        return any(inside(leaf, point, self.categorical) for point in self.points[i])

    def without_recourse(self, leaves):
        """Mass of people who attain no desired leaf; leaves: list of (conditions, label)."""
        return sum(
            self.weights[i]
            for i in self.people
            if not any(label and self.attains(i, leaf) for leaf, label in leaves)
        )

    def errors(self, leaves):
        return sum(
            self.weights[i]
            for leaf, label in leaves
            for i in self.members(leaf)
            if self.desired[i] != label
        )

    def split_value(self, others, leaf, axis, cell, labels, criterion):
        """Objective of a tree whose leaf is split so; others: its other leaves with labels."""
        left, right = [*leaf, (axis, cell, False)], [*leaf, (axis, cell, True)]
        tree = [*others, (left, labels[0]), (right, labels[1])]
        recourse = self.recourse_weight * self.without_recourse(tree)
        if criterion == "error":
            return self.errors(tree) + recourse
        mass = gini_mass if criterion == "gini" else entropy_mass
        mixed = 0.0
        for side in (left, right):
            who = self.members(side)
            pos = sum(self.weights[i] for i in who if self.desired[i])
            mixed += mass(pos, sum(self.weights[i] for i in who) - pos)
        return mixed + recourse

    def best_labels(self, others, leaf, axis, cell):
        """The pair of labels with the least error plus recourse, first of equals."""
        pairs = [(1, 1), (1, 0), (0, 1), (0, 0)]
        values = [self.split_value(others, leaf, axis, cell, pair, "error") for pair in pairs]
        return pairs[values.index(min(values))], min(values)


# Recourse: every combination of values that may matter, judged by walking the trees.


def naive_votes(ensemble, X):
    """Votes of each row, tree by tree, by walking."""
    votes = np.zeros(len(X), int)
    for root in ensemble.root:
        stack = [(int(root), np.arange(len(X)))]
        while stack:
            node, rows = stack.pop()
            if ensemble.feature[node] < 0:
                votes[rows] += int(ensemble.label[node])
                continue
            left = X[rows, ensemble.feature[node]] <= ensemble.threshold[node]
            stack.append((int(ensemble.left[node]), rows[left]))
            stack.append((int(ensemble.right[node]), rows[~left]))
    return votes


def options_of_feature(feature, columns, own, training, thresholds, rng):
    """Encoded values that a person may give a feature, with their percentile costs.

    columns: encoded columns of the feature; own: the person's encoded row. Returns a list of
    (tuple of values for those columns, cost).
    """
    if not feature.is_categorical:
        j = columns[0]
        here = percentile_level(list(training[:, j]), own[j])
        values = attainable_values(
            feature.kind, feature.change, feature.lower, feature.upper, own[j], thresholds, rng
        )
        return [
            ((v,), feature.weight * abs(percentile_level(list(training[:, j]), v) - here))
            for v in sorted(set(values))
        ]
    now = int(np.argmax(own[list(columns)]))
    flips = [feature.weight * flip_cost(training[:, j]) for j in columns]
    options = []
    for k in range(len(columns)):
        allowed = {"any": True, "increase": k > now, "decrease": k < now, "fixed": False}
        if k == now or allowed[feature.change]:
            one_hot = tuple(float(i == k) for i in range(len(columns)))
            options.append((one_hot, 0.0 if k == now else max(flips[k], flips[now])))
    return options


def cheapest_action(ensemble, axes, own, training, rng):
    """Least cost of a row that has enough votes, over every combination; inf if there is none."""
    options = []
    for axis in axes:
        j = axis.columns[0]
        thresholds = ensemble.threshold[ensemble.feature == j]
        options.append(
            options_of_feature(axis.feature, axis.columns, own, training, thresholds, rng)
        )
    order = [j for axis in axes for j in axis.columns]
    rows, costs = [], []
    for choice in itertools.product(*options):
        rows.append([v for values, _ in choice for v in values])
        costs.append(max(cost for _, cost in choice))
    X = np.empty((len(rows), len(order)))
    X[:, order] = rows
    enough = naive_votes(ensemble, X) >= ensemble.cutoff
    return min(np.array(costs)[enough], default=np.inf)


# Recourse with other costs and constraints: the same, with the price worked out row by row.


def naive_scores(ensemble, X):
    """Votes, or the sum or mean of values, added in the order of the trees."""
    if ensemble.combine == "votes":
        return naive_votes(ensemble, X)
    sums = np.zeros(len(X))
    for i, x in enumerate(X):
        for root in ensemble.root:
            node = int(root)
            while ensemble.feature[node] >= 0:
                left = x[ensemble.feature[node]] <= ensemble.threshold[node]
                node = int((ensemble.left if left else ensemble.right)[node])
            sums[i] += ensemble.value[node]
    return sums / len(ensemble.root) if ensemble.combine == "mean" else sums


def level_of(name, training, value):
    """Place on the effort scale of a column under a named cost."""
    if name == "percentile":
        return percentile_level(training, value)
    if name == "log-percentile":
        n = len(training)
        # Linear between observed values, as the package's levels are.
        observed = sorted(set(training))
        levels = [-math.log(1 - sum(t <= v for t in training) / (n + 1)) for v in observed]
        return float(np.interp(value, observed, levels))
    return value / ((max(training) - min(training)) or 1.0)  # range, l1, l2


def price_rows(name, training, weights, own, rows):
    """Cost of moving to each row, from the definition of a named cost."""
    if name == "mahalanobis":
        precision = np.linalg.pinv(np.atleast_2d(np.cov(training.T)))
        return np.array([
            math.sqrt(max(0.0, float((d * weights) @ precision @ (d * weights))))
            for d in rows - own
        ])  # fmt: skip
    efforts = np.empty(rows.shape)
    for j in range(rows.shape[1]):
        column = training[:, j].tolist()
        here = level_of(name, column, own[j])
        known = {v: abs(level_of(name, column, v) - here) for v in set(rows[:, j].tolist())}
        efforts[:, j] = [weights[j] * known[v] for v in rows[:, j].tolist()]
    if name in ("percentile", "range"):
        return efforts.max(axis=1)
    return efforts.sum(axis=1) if name != "l2" else np.sqrt((efforts**2).sum(axis=1))


def allowed_rows(ensemble, axes, own, training, rng, relations=(), max_changes=None):
    """Every combination of values that a person may take and that may matter.

    relations: list of (dict of feature name to factor, upper).
    """
    options = []
    for axis in axes:
        thresholds = ensemble.threshold[ensemble.feature == axis.columns[0]]
        each = options_of_feature(axis.feature, axis.columns, own, training, thresholds, rng)
        options.append([values for values, _ in each])
    order = [j for axis in axes for j in axis.columns]
    rows = np.empty((math.prod(map(len, options)), len(order)))
    rows[:, order] = [[v for part in row for v in part] for row in itertools.product(*options)]
    kept = np.ones(len(rows), bool)
    column = {axis.feature.name: axis.columns[0] for axis in axes}
    for factors, upper in relations:
        kept &= sum(c * rows[:, column[name]] for name, c in factors.items()) <= upper
    if max_changes is not None:
        moved = [(rows[:, list(axis.columns)] != own[list(axis.columns)]).any(1) for axis in axes]
        kept &= np.sum(moved, axis=0) <= max_changes
    return rows[kept]


def cheapest_row(ensemble, rows, prices):
    """Least price of a row that the ensemble accepts; inf if there is none."""
    return min(prices[naive_scores(ensemble, rows) >= ensemble.cutoff], default=np.inf)

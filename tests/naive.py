"""Slow, obvious twins of the kernels. They share no code with the package on purpose."""

from __future__ import annotations

import dataclasses
import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

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


def room_of(feature, own):
    """How far a person may move a number: the limits as the documentation words them."""
    most = [limit for limit in [feature.max_change] if limit is not None]
    if feature.max_relative is None:
        return min(most, default=math.inf)
    most.append(feature.max_relative * max(abs(own), abs(feature.median or 0)))
    return max(min(most), feature.step or (0 if feature.kind == "continuous" else 1))


def is_round(value, own, step):
    """Whether a changed number is a multiple of the step, and of one that grows with the change.

    In fractions of the decimals that the numbers are written as.
    """
    v, x, unit = (Fraction(repr(float(number))) for number in (value, own, step))
    if v == x or v % unit:
        return v == x
    power = math.floor(math.log10(abs(v - x)) + 1e-10)
    return v % Fraction(10) ** (power - 1) == 0


def round_values(feature, own):
    """The person's own value and every round one that they may take."""
    unit, room = Fraction(repr(float(feature.step))), room_of(feature, own)
    first = math.floor(Fraction(feature.lower) / unit)
    last = math.ceil(Fraction(feature.upper) / unit)
    values = [float(unit * k) for k in range(first, last + 1)]
    allowed = [own]
    for v in values:
        inside = feature.lower <= v <= feature.upper and abs(v - own) <= room * (1 + 1e-9)
        ways = {"any": True, "increase": v > own, "decrease": v < own, "fixed": False}
        if inside and ways[feature.change] and is_round(v, own, feature.step):
            allowed.append(v)
    return allowed


def attainable_values(kind, change, lower, upper, own, thresholds, rng, room=math.inf):
    """Every integer, or enough reals to hold the cheapest of each cell, that a person may take."""
    if kind in ("integer", "binary"):
        first, last = math.floor(min(lower, own)), math.floor(max(upper, own))
        values = [float(v) for v in range(first, last + 1)]
    else:
        values = [lower, upper, *rng.uniform(lower, upper + 0.0, 20)]  # NumPy refuses (0, -0)
        for t in thresholds:
            values += [t, math.nextafter(t, math.inf), math.nextafter(t, -math.inf)]
    if room < math.inf and kind == "continuous":
        values += [own - room, own + room]
    allowed = [own]
    for v in values:
        too_far = (v > own and v > upper) or (v < own and v < lower)
        too_far = too_far or abs(v - own) > room * (1 + 1e-9)
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


# Growing: leaves are lists of conditions (axis, cell, goes right), people are points of cells. On
# an axis with missing values the cell is a triple: cell, missing cell, whether that goes left.


def goes_right(categorical, value, cell):
    if isinstance(cell, tuple):
        cell, missing, missing_left = cell
        return not missing_left if value == missing else value > cell
    return value == cell if categorical else value > cell


def inside(leaf, point, categorical):
    return all(
        goes_right(categorical[axis], point[axis], cell) == right for axis, cell, right in leaf
    )


def reachable_points(cells, lowest, highest, can_enter, i, missing):
    """Every combination of cells that person i can attain."""
    options = []
    for a in range(len(cells)):
        if can_enter[a] is not None:
            own = cells[a][i]
            options.append([k for k in range(len(can_enter[a])) if can_enter[a][own][k]])
        elif cells[a][i] == missing[a]:  # they stay, or supply something
            handed_in = range(lowest[a][i], highest[a][i] + 1)
            options.append(sorted({missing[a], *handed_in}))
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

    def __init__(self, people, weights, recourse_weight, cut=0.5):
        self.cells = people.cells.astype(int)
        self.can_enter = people.can_enter
        self.desired = people.desired
        self.weights = weights
        self.recourse_weight = recourse_weight
        self.cut = cut
        self.categorical = np.array([table is not None for table in people.can_enter])
        lowest, highest = people.lowest.astype(int), people.highest.astype(int)
        self.missing = people.missing_cells
        self.people = [i for i in range(len(weights)) if weights[i] > 0]
        self.points = {
            i: reachable_points(self.cells, lowest, highest, people.can_enter, i, self.missing)
            for i in self.people
        }

    def members(self, leaf):
        return [i for i in self.people if inside(leaf, self.cells[:, i], self.categorical)]

    def attains(self, i, leaf):
        """Whether person i attains a leaf: each threshold on its own, categories together.

        Thresholds of an axis with missing values go together too: below "x <= 3 or missing" the
        split "x <= 3" leaves nobody with a value on its right.

        That is the same as all of them at once for every leaf that there is. Beyond that, 0-1 loss
        by the authors' rules tries thresholds outside of a node too, with an empty side that
        people attain by the new threshold alone.
        """
        together = self.categorical | (self.missing >= 0)
        parts = [[step] for step in leaf if not together[step[0]]]
        parts.append([step for step in leaf if together[step[0]]])
        return all(
            any(inside(part, point, self.categorical) for point in self.points[i]) for part in parts
        )

    def without_recourse(self, leaves):
        """Mass of people who attain no desired leaf; leaves: list of (conditions, label)."""
        return sum(
            self.weights[i]
            for i in self.people
            if not any(label and self.attains(i, leaf) for leaf, label in leaves)
        )

    def errors(self, leaves):
        counts = (2 * self.cut, 2 - 2 * self.cut)  # of an undesired and of a desired person
        return sum(
            self.weights[i] * counts[int(self.desired[i])]
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

    def best_labels(self, others, leaf, axis, cell, pairs=((1, 1), (1, 0), (0, 1), (0, 0))):
        """The pair of labels with the least error plus recourse, first of equals."""
        values = [self.split_value(others, leaf, axis, cell, pair, "error") for pair in pairs]
        return pairs[values.index(min(values))], min(values)

    def shares(self, leaf, axis, cell):
        """Share of desired people on both sides of a split, as fractions; None for nobody."""
        shares = []
        for right in (False, True):
            who = self.members([*leaf, (axis, cell, right)])
            pos = sum(Fraction(self.weights[i]) for i in who if self.desired[i])
            total = sum(Fraction(self.weights[i]) for i in who)
            shares.append(pos / total if who else None)
        return shares

    def monotone_pairs(self, leaf, axis, cell, direction, frozen):
        """Pairs of labels that a split may take under a direction; none if it may not be made.

        frozen: the label that everything below the leaf keeps, or None.
        """
        left, right = self.shares(leaf, axis, cell)
        known = left is not None and right is not None
        if known and direction * (left - right) > 0:
            return []
        if frozen is not None:
            return [(frozen, frozen)]
        if direction == 0:
            return [(1, 1), (1, 0), (0, 1), (0, 0)]
        if known and left + right < 2 * Fraction(
            self.cut
        ):  # the side that is worse off stays undesired
            return [(1, 0), (0, 0)] if direction == -1 else [(0, 1), (0, 0)]
        return [(1, 1), (1, 0)] if direction == -1 else [(1, 1), (0, 1)]

    def pairs_above(self, floor, leaf, axis, cell, pairs, frozen):
        """Those pairs of labels that call no side desired whose share is below the floor.

        If neither side may be desired and the label is free, both are undesired.
        """
        shares = self.shares(leaf, axis, cell)
        low = [share is not None and float(share) < floor for share in shares]
        if pairs and all(low) and frozen is None:
            return [(0, 0)]
        return [pair for pair in pairs if not any(map(min, pair, low))]

    def freezes(self, leaf, axis, cell, direction, frozen, labels):
        """What everything left and right of a split keeps as its label, or None."""
        if direction == 0 or frozen is not None:
            return frozen, frozen
        worse_is_kept = sum(self.shares(leaf, axis, cell)) < 2 * Fraction(self.cut) or labels == (
            0,
            0,
        )
        low, high = (0, None) if worse_is_kept else (None, 1)
        return (low, high) if direction == 1 else (high, low)


# Recourse: every combination of values that may matter, decided by walking the trees.


def naive_leaves(ensemble, X):
    """Leaf of each row in each tree, by walking (rows x trees)."""
    X = np.asarray(X)
    leaves = np.zeros((len(X), len(ensemble.root)), int)
    for t, root in enumerate(ensemble.root):
        stack = [(int(root), np.arange(len(X)))]
        while stack:
            node, rows = stack.pop()
            if ensemble.feature[node] < 0:
                leaves[rows, t] = node
                continue
            x = X[rows, ensemble.feature[node]]
            left = x <= ensemble.threshold[node]
            if ensemble.missing_left is not None and ensemble.missing_left[node]:
                left = left | np.isnan(x)
            stack.append((int(ensemble.left[node]), rows[left]))
            stack.append((int(ensemble.right[node]), rows[~left]))
    return leaves


def naive_votes(ensemble, X):
    """Votes of each row."""
    return ensemble.label[naive_leaves(ensemble, X)].sum(axis=1, dtype=int)


def naive_decision(ensemble, X):
    """Whether each row is desired: votes, or values added up one tree after the other."""
    if ensemble.combine == "votes":
        return naive_votes(ensemble, X) >= ensemble.cutoff
    number = np.float32 if ensemble.single else np.float64
    sums = np.full(len(X), ensemble.base, number)
    for leaf in naive_leaves(ensemble, X).T:
        sums = (sums + ensemble.value[leaf]).astype(number)
    sums = sums.astype(np.float64)
    if ensemble.combine == "mean":
        sums = sums / len(ensemble.root)
    if ensemble.against is not None:
        others = np.zeros(len(X))
        for leaf in naive_leaves(ensemble, X).T:
            others = others + ensemble.against[leaf]
        others = others / len(ensemble.root)
        return (sums > others) | ((sums == others) & (ensemble.cutoff <= 0.5))
    return sums >= ensemble.cutoff


def leaf_paths(ensemble, root):
    """(leaf, conditions) of a tree from left to right; a condition is (column, cut, goes right)."""
    node = int(root)
    if ensemble.feature[node] < 0:
        return [(node, [])]
    j, cut = int(ensemble.feature[node]), float(ensemble.threshold[node])
    found = []
    for child, right in ((ensemble.left[node], False), (ensemble.right[node], True)):
        found += [(leaf, [(j, cut, right), *path]) for leaf, path in leaf_paths(ensemble, child)]
    return found


def holds(conditions, row):
    return all((row[j] > cut) == right for j, cut, right in conditions)


def combined(efforts, norm):
    return max(efforts, default=0.0) if norm == "max" else sum(efforts)


def nearest_in_region(axes, own, conditions, training, rng, norm="max", margins=None):
    """The allowed row nearest to a person under some conditions: (row, cost, changed features).

    Nearest in each feature; the own category or else the cheapest, the first of equals. Changed
    numbers go further by their margin, but not beyond a bound. None if no row is allowed.
    """
    row, efforts, changed = np.array(own), [], 0
    for axis in axes:
        feature, columns = axis.feature, list(axis.columns)
        mine = [c for c in conditions if c[0] in columns]
        if feature.is_categorical:
            options = []
            for values, cost in options_of_feature(feature, columns, own, training, [], rng, norm):
                row[columns] = values
                if holds(mine, row):
                    options.append((cost > 0 or list(values) != list(own[columns]), cost, values))
            if not options:
                return None
            _, cost, row[columns] = min(options, key=lambda option: option[:2])
            efforts.append(cost)
        else:
            j = columns[0]
            values = attainable_values(
                feature.kind, feature.change, feature.lower, feature.upper, own[j],
                [cut for _, cut, _ in mine], rng,
            )  # fmt: skip
            fitting = [v for v in values if all((v > cut) == right for _, cut, right in mine)]
            if not fitting:
                return None
            row[j] = min(fitting, key=lambda v: abs(v - own[j]))
            if margins is not None and row[j] > own[j]:
                row[j] = min(row[j] + margins[j], feature.upper)
            elif margins is not None and row[j] < own[j]:
                row[j] = max(row[j] - margins[j], feature.lower)
            here, there = (percentile_level(list(training[:, j]), v) for v in (own[j], row[j]))
            efforts.append(feature.weight * abs(there - here))
        changed += list(row[columns]) != list(own[columns])
    return row, combined(efforts, norm), changed


def candidate_leaves(ensemble, own):
    """Conditions of the leaves that feature tweaking tries for a person, in tree order."""
    found = []
    for root in ensemble.root:
        paths = leaf_paths(ensemble, root)
        (here,) = [leaf for leaf, conditions in paths if holds(conditions, own)]
        for leaf, conditions in paths:
            value = ensemble.value[leaf]
            helps = {
                "votes": ensemble.label[leaf] == 1,
                "mean": value >= ensemble.cutoff,
                "sum": value > ensemble.value[here],
            }
            if helps[ensemble.combine]:
                found.append(conditions)
    return found


def cheapest_of_regions(regions, ensemble, axes, own, training, rng, *, norm="max", margins=None,
                        budget=np.inf, max_changes=10**9):  # fmt: skip
    """Least cost of a region's nearest row that is accepted, over all regions; inf if none is."""
    if naive_decision(ensemble, own[None])[0]:
        return 0.0
    rows, costs = [], []
    for conditions in regions:
        nearest = nearest_in_region(axes, own, conditions, training, rng, norm, margins)
        if nearest is not None and nearest[1] <= budget and nearest[2] <= max_changes:
            rows.append(nearest[0])
            costs.append(nearest[1])
    if not rows:
        return np.inf
    return min(np.array(costs)[naive_decision(ensemble, rows)], default=np.inf)


def options_of_feature(feature, columns, own, training, thresholds, rng, norm="max"):
    """Encoded values that a person may give a feature, with their percentile costs.

    columns: encoded columns of the feature; own: the person's encoded row. Returns a list of
    (tuple of values for those columns, cost).
    """
    if feature.missing is not None:
        return _options_with_missing(feature, columns, own, training, thresholds, rng, norm)
    if not feature.is_categorical:
        j = columns[0]
        here = percentile_level(list(training[:, j]), own[j])
        values = (
            round_values(feature, own[j]) if feature.step
            else attainable_values(
                feature.kind, feature.change, feature.lower, feature.upper, own[j], thresholds,
                rng, room_of(feature, own[j]),
            )
        )  # fmt: skip
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
            cost = 0.0 if k == now else combined([flips[now], flips[k]], norm)
            options.append((one_hot, cost))
    return options


def _options_with_missing(feature, columns, own, training, thresholds, rng, norm):
    """The same of a feature with missing values, whose costs are those of the known ones.

    A missing number is NaN, a missing category has the last column. Handing one in costs what
    the feature says.
    """
    known = dataclasses.replace(feature, missing=None, supply_cost=None)
    if feature.is_categorical:
        mark, columns = columns[-1], columns[:-1]
        lacks, people = own[mark] == 1, training[training[:, mark] == 0]
        kept, end = tuple(own[list(columns)]), ((1.0,), (0.0,))
    else:
        lacks, people = np.isnan(own[columns[0]]), training[~np.isnan(training[:, columns[0]])]
        kept, end = (own[columns[0]],), ((), ())
    if not lacks:
        own_options = options_of_feature(known, columns, own, people, thresholds, rng, norm)
        return [(values + end[1], cost) for values, cost in own_options]
    options = [(kept + end[0], 0.0)]
    if feature.missing == "supply":
        free = dataclasses.replace(known, change="any", max_change=None, max_relative=None)
        someone = people[0] if feature.is_categorical else np.where(np.isnan(own), 0.0, own)
        if not feature.is_categorical:
            someone[columns[0]] = feature.lower
        price = feature.supply_cost * feature.weight
        for values, _ in options_of_feature(free, columns, someone, people, thresholds, rng, norm):
            options.append((values + end[1], price))
    return options


def cheapest_action(ensemble, axes, own, training, rng, max_changes=None, norm="max"):
    """Least cost of a row that is desired, over every combination; inf if there is none."""
    X, costs = every_action([ensemble], axes, own, training, rng, max_changes, norm)
    return min(costs[naive_decision(ensemble, X)], default=np.inf)


def every_action(ensembles, axes, own, training, rng, max_changes=None, norm="max"):
    """Rows that a person can come to, one or more in each cell of the ensembles, and their costs.

    own: encoded; of missing numbers NaN.
    """
    X, efforts, changed = every_plan(ensembles, axes, own, training, rng, norm)
    kept = changed.sum(axis=1) <= (len(axes) if max_changes is None else max_changes)
    costs = [combined(row, norm) for row in efforts[kept].tolist()]
    return X[kept], np.array(costs)


def every_plan(ensembles, axes, own, training, rng, norm="l1"):
    """Rows that a person can come to, the effort of each feature, and whether it changes.

    norm: how the two columns of a category that is left for another add up.
    """
    feature = np.concatenate([ensemble.feature for ensemble in ensembles])
    threshold = np.concatenate([ensemble.threshold for ensemble in ensembles])
    options = []
    for axis in axes:
        j = axis.columns[0]
        thresholds = threshold[(feature == j) & np.isfinite(threshold)]
        options.append(
            options_of_feature(axis.feature, axis.columns, own, training, thresholds, rng, norm)
        )
    order = [j for axis in axes for j in axis.columns]
    rows, efforts, changed = [], [], []
    for choice in itertools.product(*options):
        rows.append([v for values, _ in choice for v in values])
        efforts.append([effort for _, effort in choice])
        changed.append([
            any(v != own[j] and v == v for v, j in zip(values, axis.columns, strict=True))
            for (values, _), axis in zip(choice, axes, strict=True)
        ])  # fmt: skip
    X = np.empty((len(rows), len(order)))
    X[:, order] = rows
    return X, np.array(efforts), np.array(changed)


def cheapest_for_all(ensembles, axes, own, training, rng, max_changes=None):
    """Least cost of a row that every ensemble accepts, over every combination; inf without one."""
    splits = SimpleNamespace(
        feature=np.concatenate([ensemble.feature for ensemble in ensembles]),
        threshold=np.concatenate([ensemble.threshold for ensemble in ensembles]),
    )
    rows = allowed_rows(splits, axes, own, training, rng, max_changes=max_changes)
    weights = np.array([axis.feature.weight for axis in axes for _ in axis.columns])
    prices = price_rows("percentile", training, weights, own, rows)
    accepted = np.all([naive_decision(ensemble, rows) for ensemble in ensembles], axis=0)
    return min(prices[accepted], default=np.inf)


def outcome(own, values, total):
    """Where a person ends who sets values: each change moves every feature by its effect."""
    ends = list(values)
    for j in range(len(own)):
        for i in range(len(own)):
            ends[i] += total[i][j] * (values[j] - own[j])
    return ends


def total_effects(direct):
    """Sum of the products of effects along every path, by walking them all."""
    n = len(direct)
    total = [[0.0] * n for _ in range(n)]

    def walk(start, here, product):
        for i in range(n):
            if direct[i][here] != 0:
                total[i][start] += product * direct[i][here]
                walk(start, i, product * direct[i][here])

    for j in range(n):
        walk(j, j, 1.0)
    return np.array(total)


def cheapest_causal_action(ensemble, axes, own, training, total, max_changes=None):
    """As cheapest_action, for features without real numbers, after effects have followed."""
    options = []
    for axis in axes:
        choices = options_of_feature(axis.feature, axis.columns, own, training, [], None)
        same = tuple(own[list(axis.columns)])
        options.append([(values, cost, values != same) for values, cost in choices])
    order = [j for axis in axes for j in axis.columns]
    best = np.inf
    rows, costs = [], []
    for choice in itertools.product(*options):
        if max_changes is not None and sum(changed for _, _, changed in choice) > max_changes:
            continue
        row = np.empty(len(order))
        row[order] = [v for values, _, _ in choice for v in values]
        rows.append(outcome(own, row, total))
        costs.append(max(cost for _, cost, _ in choice))
    enough = naive_votes(ensemble, np.array(rows)) >= ensemble.cutoff
    return min(np.array(costs)[enough], default=best)


# Recourse with other costs and constraints: the same, with the price worked out row by row.


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
    return value / ((max(training) - min(training)) or 1.0)  # range, l1


def price_rows(name, training, weights, own, rows):
    """Cost of moving to each row, from the definition of a named cost."""
    efforts = np.empty(rows.shape)
    for j in range(rows.shape[1]):
        column = training[:, j].tolist()
        here = level_of(name, column, own[j])
        known = {v: abs(level_of(name, column, v) - here) for v in set(rows[:, j].tolist())}
        efforts[:, j] = [weights[j] * known[v] for v in rows[:, j].tolist()]
    if name in ("percentile", "range"):
        return efforts.max(axis=1)
    return efforts.sum(axis=1)


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
    return min(prices[naive_decision(ensemble, rows)], default=np.inf)


def trees_at(point, tree, first, last, categorical):
    """Trees of which a point lies in a box; boxes as in the kernels."""
    inside = np.ones(len(tree), bool)
    for a, c in enumerate(point):
        if categorical[a]:
            inside &= (first[:, a] >> c) & 1 == 1
        else:
            inside &= (first[:, a] <= c) & (c <= last[:, a])
    return set(tree[inside])


def most_trees(tree, first, last, n_cells, categorical):
    """Most trees of which a point lies in a box, over all points."""
    points = itertools.product(*(range(n) for n in n_cells))
    return max(len(trees_at(point, tree, first, last, categorical)) for point in points)


# Reasons


def naive_score(ensemble, X):
    """The score that decides: the share of votes, or the mean or sum of values."""
    if ensemble.combine == "votes":
        return naive_votes(ensemble, X) / len(ensemble.root)
    values = ensemble.value[naive_leaves(ensemble, X)].sum(axis=1)
    return values / len(ensemble.root) if ensemble.combine == "mean" else ensemble.base + values


def shapley(score, own, reference, blocks):
    """Interventional Shapley values of a row, over every coalition of blocks of columns."""
    n = len(blocks)

    def worth(members):
        rows = np.array(reference, dtype=float)
        for k in members:
            rows[:, list(blocks[k])] = own[list(blocks[k])]
        return score(rows).mean()

    worths = {
        members: worth(members)
        for size in range(n + 1)
        for members in itertools.combinations(range(n), size)
    }
    values = np.zeros(n)
    for k in range(n):
        for members, without in worths.items():
            if k in members:
                continue
            size = len(members)
            chance = math.factorial(size) * math.factorial(n - size - 1) / math.factorial(n)
            values[k] += chance * (worths[tuple(sorted((*members, k)))] - without)
    return values


def accepted_share(accepts, feature, own, thresholds):
    """Share of a number's allowed values, other than a person's own, that are accepted.

    accepts: from values to whether each is accepted. own: NaN if it is missing; then those count
    that may be supplied.
    """
    lower = min(feature.lower, own) if feature.change in ("any", "decrease") else own
    upper = max(feature.upper, own) if feature.change in ("any", "increase") else own
    if math.isnan(own):
        if feature.missing != "supply":
            return math.nan
        lower, upper = feature.lower, feature.upper
    if feature.kind != "continuous":
        values = [float(v) for v in range(math.ceil(lower), math.floor(upper) + 1) if v != own]
        return sum(accepts(values)) / len(values) if values else math.nan
    ends = [lower, *sorted(t for t in set(thresholds) if lower < t < upper), upper]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    lengths = [high - low for low, high in itertools.pairwise(ends)]
    if sum(lengths) == 0:
        return math.nan
    kept = accepts(middles)
    return sum(x for x, good in zip(lengths, kept, strict=True) if good) / sum(lengths)


def newton_splits(cells, kinds, n_cells, missing):
    """Every way to part some rows: axis and the set of cells that go right.

    kinds: "categorical" or "ordinal" by axis. missing: the missing cell of each axis, or -1.
    """
    for axis, kind in enumerate(kinds):
        held = set(cells[:, axis].tolist())
        if kind == "categorical":
            yield from ((axis, {c}) for c in held)
            continue
        ordered = range(n_cells[axis] - (missing[axis] >= 0))
        for c in ordered[:-1]:
            above = set(ordered[c + 1 :])
            yield axis, above
            if missing[axis] in held:
                yield axis, above | {missing[axis]}
        if missing[axis] in held:
            yield axis, {missing[axis]}


def newton_tree(cells, slope, curvature, is_person, axes, rules):
    """Values of rows by the tree that best-first Newton boosting grows, without the rate.

    axes: (kinds, n_cells, missing, directions). rules: max_leaves, min_leaf, l2.
    """
    kinds, n_cells, missing, directions = axes
    max_leaves, min_leaf, l2 = rules

    def value(rows, bounds):
        free = -slope[rows].sum() / (curvature[rows].sum() + l2)
        return min(max(free, bounds[0]), bounds[1])

    def worth(rows, bounds):
        v = value(rows, bounds)
        return -(2 * slope[rows].sum() * v + (curvature[rows].sum() + l2) * v * v)

    def best(rows, bounds):
        found = (1e-12, None)
        for axis, right in newton_splits(cells[rows], kinds, n_cells, missing):
            goes = np.isin(cells[rows, axis], list(right))
            sides = rows[~goes], rows[goes]
            if min(is_person[side].sum() for side in sides) < min_leaf:
                continue
            if min(curvature[side].sum() for side in sides) < 1e-3:
                continue
            direction = 0 if right == {missing[axis]} else directions[axis]
            values = [value(side, bounds) for side in sides]
            if direction * (values[1] - values[0]) < 0:
                continue
            gain = sum(worth(side, bounds) for side in sides) - worth(rows, bounds)
            if gain > found[0]:
                low = high = bounds
                if direction:
                    middle = sum(values) / 2
                    low, high = (bounds[0], middle), (middle, bounds[1])
                    if direction < 0:
                        low, high = high, low
                found = (gain, [(sides[0], low), (sides[1], high)])
        return found

    everyone, free = np.arange(len(cells)), (-np.inf, np.inf)
    leaves = [(everyone, free, best(everyone, free))]
    while len(leaves) < max_leaves:
        at = max(range(len(leaves)), key=lambda k: leaves[k][2][0])
        _, _, (_, split) = leaves[at]
        if split is None:
            break
        leaves.pop(at)
        leaves += [(rows, b, best(rows, b)) for rows, b in split]
    out = np.zeros(len(cells))
    for rows, bounds, _ in leaves:
        out[rows] = value(rows, bounds)
    return out

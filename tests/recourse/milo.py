"""The cheapest action as a mixed-integer linear program, solved by SciPy's HiGHS.

The formulation of the paper's exact method: a 0/1 variable for each value that a feature may take
and for each leaf of each tree. One value per feature and one leaf per tree are chosen, a leaf only
if the chosen values of all features lie in it, and the largest cost of a chosen value is made as
small as can be. Written from the definition, on raw thresholds; it shares no code with the
package's searches, and checks them on forests that are too large for brute force.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array


def percentile(training, values):
    """Share of training people at or below values, linear between observed ones."""
    observed, counts = np.unique(training, return_counts=True)
    return np.interp(values, observed, np.cumsum(counts) / len(training))


def numbers_of(feature, own, thresholds):
    """Values on both sides of every threshold that a person may take, and their own."""
    around = []
    for t in thresholds:
        if feature.kind == "continuous":
            around += [t, math.nextafter(t, math.inf)]
        else:
            around += [math.floor(t), math.floor(t) + 1.0]
    up, down = feature.change in ("any", "increase"), feature.change in ("any", "decrease")
    allowed = {own}
    for v in around:
        if (v > own and up and v <= feature.upper) or (v < own and down and v >= feature.lower):
            allowed.add(float(v))
    return sorted(allowed)


def candidates(axis, person, ensemble, training):
    """Rows of encoded values that one feature may take, and the cost of each."""
    feature, columns = axis.feature, list(axis.columns)
    if not feature.is_categorical:
        j = columns[0]
        own = float(person[j])
        values = np.array(numbers_of(feature, own, ensemble.threshold[ensemble.feature == j]))
        level = percentile(training[:, j], np.append(values, own))
        return values[:, None], feature.weight * np.abs(level[:-1] - level[-1])
    now, n = int(np.argmax(person[columns])), len(columns)
    allowed = {
        "any": range(n),
        "increase": range(now, n),
        "decrease": range(now + 1),
        "fixed": [now],
    }[feature.change]
    flip = feature.weight * training[:, columns].mean(axis=0)  # from the share at 0 up to 1
    costs = [0.0 if k == now else max(flip[k], flip[now]) for k in allowed]
    return np.eye(n)[list(allowed)], np.array(costs)


def leaves_of(ensemble, root):
    """Conditions (column, threshold, goes left) and label of every leaf of a tree."""
    stack, leaves = [(int(root), [])], []
    while stack:
        node, path = stack.pop()
        j, t = int(ensemble.feature[node]), float(ensemble.threshold[node])
        if j < 0:
            leaves.append((path, int(ensemble.label[node])))
        else:
            stack.append((int(ensemble.left[node]), [*path, (j, t, True)]))
            stack.append((int(ensemble.right[node]), [*path, (j, t, False)]))
    return leaves


class Rows:
    """Linear constraints, one at a time: low <= sum of factors times variables <= high."""

    def __init__(self):
        self.row, self.column, self.factor, self.low, self.high = [], [], [], [], []

    def add(self, terms, low, high):
        for column, factor in terms:
            self.row.append(len(self.low))
            self.column.append(column)
            self.factor.append(factor)
        self.low.append(low)
        self.high.append(high)

    def constraint(self, n):
        shape = (len(self.low), n)
        matrix = coo_array((self.factor, (self.row, self.column)), shape=shape).tocsr()
        return LinearConstraint(matrix, self.low, self.high)


def cheapest_action(ensemble, axes, person, training):
    """Least percentile cost of an action that gets enough votes, and its row; inf if none."""
    options = [candidates(axis, person, ensemble, training) for axis in axes]
    first = np.cumsum([1] + [len(costs) for _, costs in options])  # variable 0 is the cost
    rows, n = Rows(), int(first[-1])
    feature_of = {j: (a, k) for a, axis in enumerate(axes) for k, j in enumerate(axis.columns)}
    for a, (_, costs) in enumerate(options):
        chosen = range(first[a], first[a + 1])
        rows.add([(v, 1.0) for v in chosen], 1, 1)
        rows.add([(0, 1.0), *zip(chosen, -costs, strict=True)], 0, np.inf)
    desired = []
    for root in ensemble.root:
        own = []
        for path, label in leaves_of(ensemble, root):
            inside = {}
            for j, t, left in path:
                a, k = feature_of[j]
                here = (options[a][0][:, k] <= t) == left
                inside[a] = inside.get(a, True) & here
            for a, which in inside.items():
                values = [(first[a] + i, 1.0) for i in np.flatnonzero(which)]
                rows.add([*values, (n, -1.0)], 0, np.inf)
            own.append((n, 1.0))
            desired += [(n, 1.0)] if label else []
            n += 1
        rows.add(own, 1, 1)
    rows.add(desired, ensemble.cutoff, np.inf)
    goal, upper = np.zeros(n), np.ones(n)
    goal[0], upper[0] = 1.0, np.inf
    whole = np.ones(n)
    whole[0] = 0
    result = milp(
        goal,
        integrality=whole,
        bounds=Bounds(np.zeros(n), upper),
        constraints=rows.constraint(n),
        options={"mip_rel_gap": 0.0},
    )
    if result.status == 2:
        return np.inf, None
    assert result.status == 0, result.message
    row, cost = np.array(person, dtype=float), 0.0
    for a, (values, costs) in enumerate(options):
        i = int(np.argmax(result.x[first[a] : first[a + 1]]))
        row[list(axes[a].columns)] = values[i]
        cost = max(cost, float(costs[i]))
    return cost, row

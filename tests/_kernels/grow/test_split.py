import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from ract._kernels.grow import split
from ract._kernels.grow.histogram import Histograms
from ract._kernels.grow.objective import ERROR, GINI, set_limits
from ract._kernels.grow.split import TO_LARGER, BestSplit, MissingRows, Node
from tests._kernels.plain import plain
from tests.builders import each_seed
from tests.naive import gini_mass


def rules_of(**options):
    given = {
        "recourse_weight": 0.5, "criterion": GINI, "min_leaf": 1, "counted": False,
        "floor": 0.0, "cut": 0.5, "by_authors": False,
    }  # fmt: skip
    return SimpleNamespace(**(given | options))


class Case:
    """People and exposed people on one ordinal axis."""

    def __init__(self, rng, n_cells, *, exposed):
        self.n_cells, n = n_cells, int(rng.integers(4, 12))
        self.cells, self.labels = rng.integers(0, n_cells, n), rng.integers(0, 2, n)
        self.labels[:2] = 0, 1
        self.ends = np.sort(rng.integers(0, n_cells, (2, exposed)), axis=0)
        pos = float(self.labels.sum())
        self.node = Node(pos, n - pos, float(n), float(exposed))

    def sweep(self, rules):
        counts, touched = np.zeros((self.n_cells, 6)), np.zeros((self.n_cells + 63) >> 6, np.uint64)
        np.add.at(counts, (self.cells, self.labels), 1.0)
        np.add.at(counts, (self.ends[0], 3), 1.0)
        np.add.at(counts, (self.ends[1], 4), 1.0)
        for c in np.unique([*self.cells, *self.ends.ravel()]).tolist():
            touched[c >> 6] |= np.uint64(1 << (c & 63))
        best = BestSplit(np.full(3, np.inf), np.full(5, -1), np.zeros(6))
        plain(set_limits)(best.limits, 0, -1)
        plain(split.sweep_axis)(
            0, self.n_cells, self.cells.min(), self.cells.max(), self.ends.shape[1], self.node,
            MissingRows(TO_LARGER, 0.0, 0.0, 0.0, 0.0, 1, 0, True), rules,
            Histograms(counts, touched), best,
        )  # fmt: skip
        assert not counts.any() and not touched.any()
        return best

    def objective(self, cell, rules):
        """The least objective of a threshold, over labels as the kernel chooses them."""
        left = self.cells <= cell
        pos, neg = ([np.sum(self.labels[s] == k) for s in (left, ~left)] for k in (1, 0))
        attains = np.sum(self.ends[0] <= cell), np.sum(self.ends[1] > cell)
        best = []
        for labels in itertools.product((1, 0), repeat=2):
            errors = sum(n if label else p for label, p, n in zip(labels, pos, neg, strict=True))
            lost = self.node.exposed - max(
                [0.0, *(a for a, label in zip(attains, labels, strict=True) if label)]
            )
            lost = 0.0 if labels == (1, 1) else lost
            best.append((errors + rules.recourse_weight * lost, lost))
        errors, lost = min(best, key=lambda pair: pair[0])
        if rules.criterion == ERROR:
            return errors
        mixed = sum(gini_mass(p, n) for p, n in zip(pos, neg, strict=True))
        return mixed + rules.recourse_weight * lost if self.node.exposed else mixed

    def parting(self):
        """Thresholds with people on both sides."""
        return range(self.cells.min(), self.cells.max())


@each_seed(range(40))
@pytest.mark.parametrize("criterion", [GINI, ERROR])
def test_a_sweep_finds_the_best_threshold(seed, criterion):
    rng = np.random.default_rng(seed)
    case = Case(rng, int(rng.integers(2, 90)), exposed=int(rng.integers(0, 2) * 5))
    if case.cells.min() == case.cells.max():
        case.cells[0] = (case.cells[0] + 1) % case.n_cells
    rules = rules_of(criterion=criterion)
    best = case.sweep(rules)
    known = min(case.objective(cell, rules) for cell in case.parting())
    assert best.value[0] == pytest.approx(known)
    assert case.objective(best.split[1], rules) == pytest.approx(known)


def test_sides_need_people():
    node = Node(3.0, 5.0, 8.0, 0.0)
    allowed = plain(split.is_allowed)
    assert allowed(2.0, node, rules_of(min_leaf=2))
    assert not allowed(7.0, node, rules_of(min_leaf=2))


def test_people_of_a_side_are_counted_by_weight_or_number():
    counts = np.zeros((2, 6))
    counts[1, 2] = 4.0
    number = plain(split.number_with)
    assert number(3.0, 1.0, 1.5, 1, counts, rules_of(counted=True, min_leaf=2)) == 7.0
    assert number(3.0, 1.0, 1.5, 1, counts, rules_of(min_leaf=2)) == 2.5
    assert number(3.0, 1.0, 1.5, 1, counts, rules_of()) == 1.0


@each_seed(range(20))
def test_another_admitted_category_is_entered(seed):
    rng = np.random.default_rng(seed)
    can_enter, admitted = rng.random((3, 3)) < 0.5, rng.random((2, 5)) < 0.5
    flat = np.append(np.zeros(4, bool), can_enter.ravel())
    for own, cell in itertools.product(range(3), repeat=2):
        found = plain(split.attains_another)(flat, 4, 3, admitted, 1, 2, own, cell)
        assert found == any(can_enter[own, k] and admitted[1, 2 + k] for k in {0, 1, 2} - {cell})

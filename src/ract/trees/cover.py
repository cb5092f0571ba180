"""Relabelling one tree so that enough people attain a desired leaf: a weighted partial set cover.

A leaf covers the people who attain it. Undesired leaves are flipped to desired, at the price of
more errors, until the people who are left without a desired leaf weigh no more than allowed.
Who attains which leaf is worked out when it is asked for; the sets themselves are never stored.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ract._kernels.grow import attain as kernel
from ract._utils.errors import InvalidSpec
from ract.trees.grower import CellTree, People, flat_tables, slots_of
from ract.trees.nodes import node_depths, node_parents

# Most pairs of a leaf and a set of people that the exact cover takes on.
MOST_ENTRIES = 200_000

CHUNK = 8192  # people whose leaves are worked out at once


@dataclass(frozen=True, eq=False)
class Cover:
    """A relabelling of a tree.

    Parameters
    ----------
    labels : uint8 (nodes,)
        1 for a desired leaf; what it says of inner nodes means nothing.
    flipped : int64
        Leaves that became desired, in the order of choice.
    covered, total : float
        Weight of the people who attain a desired leaf, and of everyone.
    cost : float
        Weight of the errors that the flips add.
    """

    labels: np.ndarray
    flipped: np.ndarray
    covered: float
    total: float
    cost: float

    @property
    def risk(self) -> float:
        """Share of the weight that attains no desired leaf."""
        return (self.total - self.covered) / self.total


def majority_labels(tree: CellTree) -> np.ndarray:
    """Label of each node by the majority of its people; an even split is desired."""
    return (tree.masses[:, 1] >= tree.masses[:, 0]).astype(np.uint8)


def flip_costs(tree: CellTree) -> np.ndarray:
    """Errors that each node adds when it turns desired (c_i in the paper)."""
    return tree.masses[:, 0] - tree.masses[:, 1]


def own_leaves(tree: CellTree, people: People) -> np.ndarray:
    """The leaf that each person is in, all of them one level down at a time."""
    categorical = np.array([table is not None for table in people.can_enter])
    node = np.zeros(people.cells.shape[1], np.int64)
    inside = np.flatnonzero(tree.axis[node] >= 0)
    while len(inside):
        at = node[inside]
        axis, here = tree.axis[at], people.cells[tree.axis[at], inside].astype(np.int64)
        sent_left = tree.missing_left[at] & (here == people.missing_cells[axis])
        above = (here > tree.cell[at]) & ~sent_left
        right = np.where(categorical[axis], here == tree.cell[at], above)
        node[inside] = np.where(right, tree.right[at], tree.left[at])
        inside = inside[tree.axis[node[inside]] >= 0]
    return node


def greedy_cover(
    attainment: Attainment, weights: np.ndarray, labels: np.ndarray, max_risk: float
) -> Cover:
    """Flip leaves by the mass they cover anew per cost, then undo flips that are not needed.

    Algorithm 3 of the paper, with the gain of a leaf counted only up to what is still needed,
    as its approximation factor assumes. Ties go to the lowest leaf.

    Parameters
    ----------
    attainment : Attainment
    weights : float64 (people,)
    labels : uint8 (nodes,)
        Where to start; only undesired leaves change.
    max_risk : float
        Largest share of the weight that may stay uncovered, from 0 to 1.
    """
    units, rounding = whole_units(weights)
    allowed = allowed_mass(units.sum(), max_risk) + rounding
    uncovered = _Uncovered(attainment, units, labels)
    at_first = uncovered.people
    flipped = _greedy_order(uncovered, attainment.tree, labels, allowed)
    flipped = _needed_only(attainment, units, labels, flipped, at_first, allowed)
    return _covered(attainment, weights, labels, flipped, at_first)


def exact_cover(
    attainment: Attainment,
    weights: np.ndarray,
    labels: np.ndarray,
    max_risk: float,
    time_limit: float = 60.0,
) -> Cover:
    """The cheapest relabelling, by integer programming; flips are in the order of the leaves.

    People who attain the same undesired leaves are one row of the program. Raises InvalidSpec
    when the rows hold more than ``MOST_ENTRIES`` leaves in all, or when the optimum is not
    proved within ``time_limit`` seconds. Otherwise as ``greedy_cover``.
    """
    units, rounding = whole_units(weights)
    allowed = allowed_mass(units.sum(), max_risk) + rounding
    at_first = _without_desired(attainment, labels, np.flatnonzero(units > 0))
    flipped: list[int] = []
    if units[at_first].sum() > allowed:
        masses = _merged(attainment, at_first, units)
        flipped = _cheapest(masses, np.maximum(flip_costs(attainment.tree), 0), allowed, time_limit)
        # Leaves that cost nothing may be in the optimum without need.
        flipped = _needed_only(attainment, units, labels, flipped, at_first, allowed)
    return _covered(attainment, weights, labels, flipped, at_first)


def relabelled(
    tree: CellTree,
    people: People,
    weights: np.ndarray,
    max_risk: float,
    cover: Callable[..., Cover] = greedy_cover,
) -> CellTree:
    """The tree with its majority labels flipped until the risk is at most max_risk."""
    covered = cover(Attainment(tree, people), weights, majority_labels(tree), max_risk)
    return replace(tree, label=covered.labels)


def flip_order(
    attainment: Attainment, weights: np.ndarray, labels: np.ndarray, stages: Sequence[float] = ()
) -> np.ndarray:
    """Every undesired leaf, in the order in which to flip them.

    The greedy order until everyone is covered, then the others, the cheapest first. With
    ``stages``, risks from high to low, a gain counts only up to the next of them: large leaves
    do not come before cheap ones that would do.
    """
    units, _ = whole_units(weights)
    tree, uncovered = attainment.tree, _Uncovered(attainment, units, labels)
    order: list[int] = []
    for risk in (*stages, 0.0):
        order += _greedy_order(uncovered, tree, labels, allowed_mass(units.sum(), risk))
    undesired = tree.leaves[labels[tree.leaves] == 0]
    unneeded = np.setdiff1d(undesired, order)
    unneeded = unneeded[np.argsort(flip_costs(tree)[unneeded], kind="stable")]
    return np.concatenate([order, unneeded]).astype(np.int64)


def whole_units(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights as whole numbers, whose sums are exact in any order, and their rounding error.

    Whole weights are taken as they are. Others are rounded to multiples of 2**-50 of their sum;
    a sum of them is then off by at most half a unit per person.
    """
    total = weights.sum()
    if total < 2**53 and (weights == np.floor(weights)).all():
        return weights.astype(np.float64), 0.0
    return np.rint(weights / total * 2**50), 0.5 * len(weights)


def allowed_mass(total: float, max_risk: float) -> float:
    """The largest whole mass whose share of the total is at most max_risk, as floats divide."""
    mass = math.floor(max_risk * total) + 1
    while mass / total > max_risk:
        mass -= 1
    return float(mass)


class _Uncovered:
    """People who attain no desired leaf, and the mass of them that attains each leaf.

    Masses are whole, so that gains stay exact while people leave; that costs one walk through
    the tree per person in all.
    """

    def __init__(self, attainment: Attainment, units: np.ndarray, labels: np.ndarray) -> None:
        self._attainment = attainment
        self._units = units
        self.people = _without_desired(attainment, labels, np.flatnonzero(units > 0))
        self.mass = float(units[self.people].sum())
        self.gains = np.zeros(len(labels))
        self._add(self.people, 1.0)

    def flip(self, leaf: int) -> None:
        """Cover those who attain a leaf."""
        self.mass -= float(self.gains[leaf])
        attains = self._attainment.who_attains(leaf, self.people)
        self._add(self.people[attains], -1.0)
        self.people = self.people[~attains]

    def _add(self, people: np.ndarray, sign: float) -> None:
        for part, start, leaves in self._attainment.leaves(people):
            np.add.at(self.gains, leaves, np.repeat(sign * self._units[part], np.diff(start)))


def _without_desired(attainment: Attainment, labels: np.ndarray, who: np.ndarray) -> np.ndarray:
    return who[attainment.desired_reached(labels, who) == 0]


def _greedy_order(
    uncovered: _Uncovered, tree: CellTree, labels: np.ndarray, allowed: float
) -> list[int]:
    """Leaves in the order of flipping, until no more than the allowed mass is uncovered."""
    costs = flip_costs(tree)

    def key(leaf: int) -> float:
        gain = min(float(uncovered.gains[leaf]), uncovered.mass - allowed)
        return -gain / float(costs[leaf]) if costs[leaf] > 0 else -math.inf

    heap = [(key(leaf), leaf) for leaf in tree.leaves[labels[tree.leaves] == 0].tolist()]
    heapq.heapify(heap)
    flipped: list[int] = []
    while uncovered.mass > allowed:
        stored, leaf = heap[0]
        present = key(leaf)
        if present > stored:  # keys only grow, so an entry that still holds is the best one
            heapq.heapreplace(heap, (present, leaf))
            continue
        heapq.heappop(heap)
        if uncovered.gains[leaf] > 0:
            uncovered.flip(leaf)
            flipped.append(leaf)
    return flipped


def _needed_only(
    attainment: Attainment,
    units: np.ndarray,
    labels: np.ndarray,
    flipped: list[int],
    people: np.ndarray,
    allowed: float,
) -> list[int]:
    """The flips without those that the others make up for, tried from the most costly on.

    Once is enough: a flip that was needed before another one was undone is needed after it.
    ``people`` are those who attain no desired leaf without any flip.
    """
    costs, kept = flip_costs(attainment.tree), set(flipped)
    desired = attainment.desired_reached(_flip(labels, flipped), people)
    uncovered = float(units[people[desired == 0]].sum())
    for leaf in sorted(flipped, key=lambda leaf: (-costs[leaf], leaf)):
        attains = attainment.who_attains(leaf, people)
        alone = float(units[people[attains & (desired == 1)]].sum())
        if uncovered + alone <= allowed:
            kept.remove(leaf)
            uncovered += alone
            desired -= attains
    return [leaf for leaf in flipped if leaf in kept]


def _flip(labels: np.ndarray, flipped: list[int]) -> np.ndarray:
    labels = labels.copy()
    labels[flipped] = 1
    return labels


def _covered(
    attainment: Attainment,
    weights: np.ndarray,
    labels: np.ndarray,
    flipped: list[int],
    at_first: np.ndarray,
) -> Cover:
    after = _flip(labels, flipped)
    uncovered = weights[_without_desired(attainment, after, at_first)].sum()
    total, cost = weights.sum(), flip_costs(attainment.tree)[flipped].sum()
    return Cover(
        after, np.array(flipped, np.int64), float(total - uncovered), float(total), float(cost)
    )


def _merged(attainment: Attainment, people: np.ndarray, units: np.ndarray) -> dict[bytes, float]:
    """Mass of the people who attain the same leaves, by those leaves (the bytes of int32)."""
    masses: dict[bytes, float] = {}
    n_entries = 0
    for part, start, leaves in attainment.leaves(people):
        for k, person in enumerate(part):
            attained = leaves[start[k] : start[k + 1]].tobytes()
            if attained not in masses:
                masses[attained] = 0.0
                n_entries += int(start[k + 1] - start[k])
            masses[attained] += float(units[person])
        if n_entries > MOST_ENTRIES:
            raise InvalidSpec(
                f"The exact cover takes at most {MOST_ENTRIES} pairs of a leaf and a set of "
                f"people, this tree has more; use the greedy cover or a smaller tree."
            )
    return masses


def _cheapest(
    masses: dict[bytes, float], costs: np.ndarray, allowed: float, time_limit: float
) -> list[int]:
    """Choose leaves (0/1) and who stays uncovered, at the least cost of the leaves chosen."""
    sets = [np.frombuffer(key, np.int32) for key in masses]
    mass = np.array(list(masses.values()))
    leaves, column = np.unique(np.concatenate(sets), return_inverse=True)
    ends = np.cumsum([0, *map(len, sets)])
    shape = (len(sets), len(leaves))
    member = sparse.csr_array((np.ones(ends[-1]), column.ravel(), ends), shape=shape)
    covered_or_not = sparse.hstack([member, sparse.eye_array(len(sets))], format="csr")
    # The solver works to fixed tolerances: an average set weighs 1, an average leaf costs 1.
    scale = mass.mean()
    weight_uncovered = np.concatenate([np.zeros(len(leaves)), mass / scale])[None]
    result = milp(
        np.concatenate([costs[leaves] / (costs[leaves].mean() or 1.0), np.zeros(len(sets))]),
        integrality=np.repeat([1, 0], [len(leaves), len(sets)]),
        bounds=Bounds(0, 1),
        constraints=[
            LinearConstraint(covered_or_not, lb=1),
            # Masses are whole, so half a unit more allows nothing more.
            LinearConstraint(weight_uncovered, ub=(allowed + 0.5) / scale),
        ],
        options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )
    chosen = leaves[result.x[: len(leaves)] > 0.5] if result.status == 0 else leaves[:0]
    missed = member @ np.isin(leaves, chosen) == 0
    if mass[missed].sum() > allowed:
        raise InvalidSpec(
            f"The exact cover was not proved optimal within {time_limit:g} seconds; "
            f"use the greedy cover or allow more time."
        )
    return [int(leaf) for leaf in chosen]


class Attainment:
    """Leaves that people attain in one tree, computed on demand in linear memory.

    Parameters
    ----------
    tree : CellTree
    people : People
        With their reach.
    """

    def __init__(self, tree: CellTree, people: People) -> None:
        can_enter, tables, sets, self._n_categories = flat_tables(people.can_enter)
        missing, slots = people.missing_cells, slots_of(people.missing_cells)
        self._n_slots = int(slots.max(initial=-1)) + 1
        places = (people.cells, people.lowest, people.highest, people.n_cells)
        self._reaches = kernel.Reaches(*places, tables, sets, can_enter, missing, slots)
        self._tree = kernel.Tree(tree.axis, tree.cell, tree.left, tree.right, tree.missing_left)
        self.tree = tree
        self.n_people = people.cells.shape[1]
        self._parent = node_parents(tree.left, tree.right)
        self._depth = int(node_depths(tree.left, tree.right).max())

    def leaves(
        self, who: np.ndarray, tree: kernel.Tree | None = None
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Chunks of people with the leaves that they attain, in the whole tree by default.

        Yields
        ------
        people : int64 (m,)
        start : int64 (m + 1,)
        leaves : int32
            Person ``people[k]`` attains ``leaves[start[k]:start[k + 1]]``, never none.
        """
        tree = tree or self._tree
        for first in range(0, len(who), CHUNK):
            part = np.ascontiguousarray(who[first : first + CHUNK], dtype=np.int64)
            room = (self._depth, self._n_categories, self._n_slots)
            start, leaves = kernel.leaves_attained(tree, self._reaches, part, *room)
            yield part, start, leaves

    def who_attains(self, leaf: int, who: np.ndarray) -> np.ndarray:
        """Which of some people attain a leaf (boolean).

        They are asked in the tree that is left when everything beside the path to it is a leaf.
        """
        axis, node = np.full_like(self._tree.axis, -1), self._parent[leaf]
        while node >= 0:
            axis[node], node = self._tree.axis[node], self._parent[node]
        is_leaf = np.arange(len(axis)) == leaf
        return self._reached(is_leaf, who, self._tree._replace(axis=axis)) == 1

    def desired_reached(self, label: np.ndarray, who: np.ndarray | None = None) -> np.ndarray:
        """How many desired leaves each person attains (V in the paper)."""
        who = np.arange(self.n_people) if who is None else who
        return self._reached(label, who, self._tree)

    def _reached(self, label: np.ndarray, who: np.ndarray, tree: kernel.Tree) -> np.ndarray:
        """How many leaves of a tree with a label of 1 each person attains."""
        counts = [
            np.add.reduceat(label[leaves].astype(np.int64), start[:-1])
            for _, start, leaves in self.leaves(who, tree)
        ]
        return np.concatenate([np.zeros(0, np.int64), *counts])

"""Trees that cannot agree: at least how many votes are lost, whatever the point.

Two trees *conflict* if no alive box of one meets an alive box of the other; one of them is lost.
Disjoint pairs of such trees add up. A tree t that is left then costs one more, if each of its alive
boxes misses every alive box of another tree w that is left, or of both trees u, v of a pair:

    t   |--r--|       |-q-|      t keeps r: u and v are lost, and not only one of them
    u            |--|            t keeps q: w is lost
    v                       |-|  else t itself is
    w    |----|

Those trees are then used up.

A box *misses* the trees of which it meets no alive box. Whoever is in it loses all of them, so that
a box that misses too many is in no solution and is dropped: at once if they alone are too many,
else if those are that no conflict has used up, beside what conflicts cost anyway.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ract._kernels._jit import inlined, inner, making
from ract._kernels.search.bits import find_meeting, find_trees
from ract._kernels.words import lowest_bit, popcount

# What a tree is: lost or used up, without a partner, or else its partner's number (of NumPy, since
# Numba compiles a function again for every number of Python).
USED, FREE = np.int64(-2), np.int64(-1)
# Only trees with so few alive boxes are tried against several others.
MOST_ALIVE = 6
# Rows of sets of trees: alive, without a partner, one of each pair, and room.
ALIVE, SINGLE, PAIRED, ROOM = range(4)


class Conflicts(NamedTuple):
    """Room to work in; sets of trees are their own bits.

    missed int64 (boxes, words): alive trees that an alive box does not meet. against int64 (trees,
    words): alive trees that an alive tree conflicts with. sets int64 (4, words). mate, n_against,
    n_alive, order int64 (trees,): what a tree is; its numbers of conflicts and of alive boxes;
    alive trees, those with fewest conflicts first. n_missed int64 (boxes,): how many trees a box
    misses. units int64 (boxes,), first int64 (trees + 1,): room.
    """

    missed: np.ndarray
    against: np.ndarray
    sets: np.ndarray
    mate: np.ndarray
    n_against: np.ndarray
    n_alive: np.ndarray
    order: np.ndarray
    n_missed: np.ndarray
    units: np.ndarray
    first: np.ndarray


@making
def new_conflicts(n_trees, n_boxes, n_words):
    """Room for a search."""
    trees, each = np.zeros((5, n_trees + 1), np.int64), np.zeros((2, n_boxes), np.int64)
    return Conflicts(
        np.zeros((n_boxes, n_words), np.int64), np.zeros((n_trees, n_words), np.int64),
        np.zeros((4, n_words), np.int64), trees[0, :n_trees], trees[1], trees[2], trees[3], each[0],
        each[1], trees[4],
    )  # fmt: skip


@inlined
def holds(bits, sets, row, t):
    """Whether a row of sets holds tree t."""
    return sets[row, bits.words[t]] & bits.own[t] != 0


@inner
def find_conflicts(boxes, bits, alive, slack, state, room):
    """Set missed, against and numbers of conflicts and boxes for what is alive.

    Boxes that miss more trees than slack are dropped. Returns how many boxes and trees were.
    """
    met, n_boxes, n_trees = room.sets[ROOM], 0, 0
    find_trees(bits, alive, state.alive, np.int64(0), room.sets[ALIVE])
    for t in range(room.mate.shape[0]):
        room.n_alive[t] = 0
        for s in range(met.shape[0]):
            room.against[t, s] = room.sets[ALIVE, s]
        for r in range(bits.first_box[t], bits.first_box[t + 1]):
            if alive[bits.slot[r]] & bits.bit[r] == 0:
                continue
            if state.known[r] == 0:
                find_meeting(boxes, bits, r, state.meets)
                state.known[r] = 1
            find_trees(bits, alive, state.meets, r, met)
            n = 0
            for s in range(met.shape[0]):
                room.missed[r, s] = room.sets[ALIVE, s] & ~met[s]
                n += popcount(room.missed[r, s])
            room.n_missed[r] = n
            if n > slack:
                alive[bits.slot[r]] &= ~bits.bit[r]
                n_boxes += 1
                continue
            room.n_alive[t] += 1
            for s in range(met.shape[0]):
                room.against[t, s] &= room.missed[r, s]
        n = 0
        if room.n_alive[t] > 0:
            for s in range(met.shape[0]):
                n += popcount(room.against[t, s])
        elif holds(bits, room.sets, np.int64(ALIVE), t):
            room.sets[ALIVE, bits.words[t]] &= ~bits.own[t]
            n_trees += 1
        room.n_against[t] = n
    return n_boxes, n_trees


@inner
def rank_trees(room):
    """List the alive trees by number of conflicts, all without a partner; returns how many."""
    n_trees, first = room.mate.shape[0], room.first
    n = 0
    for t in range(n_trees + 1):
        first[t] = 0
    for t in range(n_trees):
        room.mate[t] = USED
        if room.n_alive[t] > 0:
            room.mate[t] = FREE
            first[room.n_against[t] + 1] += 1
            n += 1
    for k in range(n_trees):
        first[k + 1] += first[k]
    for s in range(room.sets.shape[1]):
        room.sets[SINGLE, s] = room.sets[ALIVE, s]
        room.sets[PAIRED, s] = 0
    for t in range(n_trees):
        if room.mate[t] == FREE:
            k = first[room.n_against[t]]
            first[room.n_against[t]] += 1
            room.order[k] = t
    return n


@inner
def use(bits, room, t, mate):
    """Say what a tree is that is without a partner no more."""
    room.mate[t] = mate
    room.sets[SINGLE, bits.words[t]] &= ~bits.own[t]
    room.sets[PAIRED, bits.words[t]] &= ~bits.own[t]


@inner
def partner(boxes, bits, room, sets, row):
    """A tree without a partner in a row of sets; -1 if there is none."""
    for s in range(sets.shape[1]):
        word = sets[row, s] & room.sets[SINGLE, s]
        if word != 0:
            return boxes.tree[bits.start[s] + lowest_bit(word)]
    return -1


@inner
def pair_up(boxes, bits, room, n, slack):
    """Pair trees greedily; returns how many pairs there are. Stops above slack."""
    lost = 0
    for k in range(n):
        t = room.order[k]
        if room.mate[t] == FREE:
            u = partner(boxes, bits, room, room.against, t)
            if u >= 0:
                use(bits, room, t, u)
                use(bits, room, u, t)
                room.sets[PAIRED, bits.words[t]] |= bits.own[t]
                lost += 1
                if lost > slack:
                    break
    return lost


@inner
def misses(bits, room, r, u):
    """Whether box r misses tree u and its partner, if it has one."""
    v = room.mate[u]
    return holds(bits, room.missed, r, u) and (v < 0 or holds(bits, room.missed, r, v))


@inner
def missed_unit(boxes, bits, room, r):
    """A pair (one of its trees) or a tree without partner that box r misses; -1 if none."""
    for s in range(room.sets.shape[1]):
        word = room.missed[r, s] & room.sets[PAIRED, s]
        while word != 0:
            u = boxes.tree[bits.start[s] + lowest_bit(word)]
            if holds(bits, room.missed, r, room.mate[u]):
                return u
            word &= word - 1
    return partner(boxes, bits, room, room.missed, r)


@inner
def loses_one_more(boxes, bits, alive, room, t):
    """Whether tree t costs one more; if so, it and what it was set against are used up."""
    n_units = 0
    for r in range(bits.first_box[t], bits.first_box[t + 1]):
        if alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        blocked = False
        for k in range(n_units):
            blocked = blocked or misses(bits, room, r, room.units[k])
        if not blocked:
            u = missed_unit(boxes, bits, room, r)
            if u < 0:
                return False
            room.units[n_units] = u
            n_units += 1
    use(bits, room, t, USED)
    for k in range(n_units):
        u = room.units[k]
        if room.mate[u] >= 0:
            use(bits, room, room.mate[u], USED)
        use(bits, room, u, USED)
    return True


@inner
def drop_conflicting_boxes(bits, alive, slack, room):
    """Drop boxes that miss more trees without a partner than slack; returns how many."""
    dropped = 0
    for r in range(bits.first_box[room.mate.shape[0]]):
        if room.n_missed[r] <= slack or alive[bits.slot[r]] & bits.bit[r] == 0:
            continue
        n = 0
        for s in range(alive.shape[0]):
            n += popcount(room.missed[r, s] & room.sets[SINGLE, s])
        if n > slack:
            alive[bits.slot[r]] &= ~bits.bit[r]
            dropped += 1
    return dropped


@inner
def lost_to_conflicts(boxes, bits, alive, slack, state, room):
    """At least how many alive trees are lost because they cannot agree; stops above slack.

    Returns also how many boxes were dropped, which can be in no solution.
    """
    dropped, lost = find_conflicts(boxes, bits, alive, slack, state, room)
    n = rank_trees(room)
    lost += pair_up(boxes, bits, room, n, slack - lost)
    for k in range(n - 1, -1, -1):
        if lost > slack:
            break
        t = room.order[k]
        if room.mate[t] == FREE and room.n_alive[t] <= MOST_ALIVE:
            lost += loses_one_more(boxes, bits, alive, room, t)
    if lost <= slack:
        dropped += drop_conflicting_boxes(bits, alive, slack - lost, room)
    return lost, dropped

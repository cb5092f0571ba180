"""Whose recourse is not yet decided at a node of a growing tree.

A person is *exposed* at a node when they attain no desired leaf other than, perhaps, this node;
only they can gain or lose recourse by its split. Of the nodes outside the one at hand, finished
leaves never change, and the ones still on the stack carry a label that counts until they are split.
So two things per person suffice:

    covered[n]   they attain a finished desired leaf: never exposed again, dropped from all lists
    pending[n]   how many desired nodes on the stack (the present one included) they attain

and a node only carries the uncovered people who attain it. Their lists live in one arena in the
order of the stack, the present node's last:

    arena   | right of depth 1 | right of depth 2 | present node |  free ...

Loops over people do not branch on what a person is like. Whoever goes left or right is written
to both lists and counted in one, since a branch that nobody can predict takes longer than that.
Where they write, positions are unsigned: a signed one is first tested for counting from the end.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner
from ract._kernels.grow.gaps import attains_sides
from ract._kernels.grow.split import attains_another


@inner
def gather_exposed(arena, first, last, covered, pending, label, weights, exposed, exposed_weights):
    """Drop covered people from arena[first:last] and copy those with no other desired node.

    Returns the new end of the list, and the number and mass of the exposed.
    """
    end, n_exposed, mass = np.uint64(first), np.uint64(0), 0.0
    for k in range(np.uint64(first), np.uint64(last)):
        i = arena[k]
        stays = np.uint64(not covered[i])
        arena[end] = i
        end += stays
        exposed[n_exposed] = i
        n_exposed += stays & np.uint64(pending[i] == label)
    for k in range(n_exposed):
        exposed_weights[k] = weights[exposed[k]]
        mass += exposed_weights[k]
    return np.int64(end), np.int64(n_exposed), mass


@inner
def split_attaining(data, split, label, arena, first, last, row, node, spans, inside, scratch):
    """Who of those that attain a node attains each side; updates their numbers of pending nodes.

    Those of the right side take their parent's place in the arena, those of the left go into
    scratch.spare. Returns the numbers on the right and on the left.
    """
    axis, cell, label_l, label_r = split[0], split[1], split[2], split[3]
    c, table, first_set = data.layout[axis, 0], data.layout[axis, 1], data.layout[axis, 2]
    missing, slot = data.layout[axis, 4], data.layout[axis, 5]
    lefts, pending = scratch.spare, scratch.pending
    end, n_left = np.uint64(first), np.uint64(0)
    for k in range(np.uint64(first), np.uint64(last)):
        i = arena[k]
        if table >= 0:
            own = np.int64(data.cells[axis, i])
            to_right = data.can_enter[table + own * c + cell]
            to_left = attains_another(
                data.can_enter, table, c, scratch.admitted, row, first_set, own, cell
            )
        else:
            lowest, highest = np.int64(data.lowest[axis, i]), np.int64(data.highest[axis, i])
            to_right = highest > cell
            to_left = lowest <= cell
            if spans is not None:
                if missing >= 0 and np.int64(data.cells[axis, i]) == missing:
                    to_left, to_right = attains_sides(
                        lowest, highest, cell, split[4] == 1, spans, row, slot
                    )
        if inside is not None:
            to_left, to_right = crosses(inside, i, node, to_left, to_right)
        arena[end] = i
        lefts[n_left] = i
        end += np.uint64(to_right)
        n_left += np.uint64(to_left)
        pending[i] += to_right * label_r + to_left * label_l - label
    return np.int64(end) - first, np.int64(n_left)


@inner
def mark_inside(inside, node, order, first, last):
    """Note who is in a node, order[first:last], for the rule of the paper's authors."""
    if inside is not None:
        for k in range(first, last):
            inside[order[k]] = node


@inner
def crosses(inside, i, node, to_left, to_right):
    """Whether someone attains the left and the right of a split by the rule of the paper's authors.

    People of the node attain what they attain. Others attain both sides if they can cross the
    threshold and neither if they cannot, although they would not have to move to be on the side of
    their own value.
    """
    if inside[i] != node:
        return to_left and to_right, to_left and to_right
    return to_left, to_right

"""The search: dives to the cheap side, each from the node that can be cheapest, until none can.

A point counts only when the whole forest, added up as the model does, accepts it; bounds leave a
tolerance for the order of addition. Another point must be cheaper by more than ``EQUAL`` of the
cost to replace one, so that sums which differ in their last digits are not told apart.
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import inner, making, making_kernel
from ract._kernels.search.additive.climb import climb_again, climb_all, new_best, offer_point
from ract._kernels.search.additive.cut import (
    cut_axis,
    cut_by_price,
    cut_off_one,
    dear_above,
    new_node_stack,
    open_axis,
    raise_lowest,
)
from ract._kernels.search.additive.node import new_room, propagate_prices
from ract._kernels.search.additive.prices import make_prices
from ract._kernels.search.additive.score import Score
from ract._kernels.search.bits import make_bits


@making
def make_score(bits, value, needs, shared):
    """What boxes are worth to the models."""
    n_trees, n_models = needs.first[-1], needs.least.shape[0]
    empty = np.zeros(n_trees)
    for g in range(n_models):
        if not needs.by_votes[g]:
            empty[needs.first[g] : needs.first[g + 1]] = -np.inf
    return Score(
        needs.first, needs.least, empty, value, shared,
        np.zeros(n_trees, np.int64), np.zeros(n_models),
    )  # fmt: skip


@inner
def choose(bits, prices, room, by_price, at):
    """Set at to the open cells that cost least, or lose least; returns how many change."""
    moved = 0
    for i in range(bits.active.shape[0]):
        base, low = bits.offset[i], np.inf
        for q in range(room.n_left[i]):
            c, this = room.cells[base + q], room.losses[base + q]
            if by_price:
                this = prices.price[base + c] + prices.size[base + c]
            if this < low or (this == low and c == prices.current[i]):
                low, at[i] = this, c
        moved += at[i] != prices.current[i]
    return moved


@making_kernel
def cheapest_sum(
    boxes, value, needs, changes, person, cost, enough, climbs, easy, max_nodes, stop, point
):
    """The cheapest accepted point that costs at most what it may.

    boxes: of the trees that are left. value float64 (boxes,). changes: how many axes may change.
    cost float64 (2,), point int64 (axes,): of the incumbent (infinite without one) and what another
    may cost; set to those of the best. enough: a cost below which nobody looks for another. climbs:
    whether to climb from the current cells first. easy: nodes before climbing again from a best
    point. stop (1,) uint8: set from outside to end the search. Returns whether no other point costs
    less, what no point can cost less than, and the number of nodes.
    """
    n_boxes, n_trees = boxes.tree.shape[0], needs.first[-1]
    shared = needs.least.shape[0] == 1 and needs.by_votes[0]
    bits = make_bits(boxes, n_trees, shared, stop)
    if stop[0]:
        return False, 0.0, 0
    prices = make_prices(boxes, bits, person.price, person.size)
    score, room = make_score(bits, value, needs, shared), new_room(bits, n_boxes)
    best = new_best(bits, cost, point, stop)
    n_active, everything = bits.active.shape[0], room.everything
    if climbs:
        climb_all(boxes, bits, prices, score, person, changes, everything, best)
    if max_nodes == 0:
        return False, 0.0, 0
    stack, few = new_node_stack(bits, everything[0]), changes < n_active
    nodes, top, tried, dives = 0, np.int64(1), np.inf, True
    while top > 0:
        nodes += 1
        if nodes > max_nodes or stop[0] or best.cost[0] <= enough:
            break
        if nodes >= easy and best.cost[0] < tried:
            climb_again(boxes, bits, prices, score, person, changes, everything, best)
            tried = best.cost[0]
        if not dives:
            raise_lowest(stack, top)
        top -= 1
        dives = False
        if stack.floor[top] > best.cost[1]:
            continue
        alive, open_ = stack.alive[top], stack.open[top]
        floor = propagate_prices(
            boxes, bits, prices, score, changes, best.cost[1], alive, open_, room
        )
        if floor == np.inf:
            continue
        solved = False
        for by_price in (True, False):
            if not solved and choose(bits, prices, room, by_price, best.at) <= changes:
                accepted = offer_point(boxes, bits, prices, score, person, everything, best)
                solved = accepted and by_price
        if solved or floor > best.cost[1]:
            continue
        i = cut_axis(bits, prices, score, alive, room, best.cost[1] - floor, few)
        if i >= 0:
            limit = dear_above(bits, prices, room, i, few)
            cut_by_price(
                bits, prices, alive.copy(), open_.copy(), room, i, limit, floor, stack, top
            )
            top += 2
            dives = True
            continue
        i = open_axis(room)
        if i >= 0:
            cut_off_one(bits, alive.copy(), open_.copy(), room, i, floor, stack, top)
            top += 2
            dives = True
    proved = top == 0 or best.cost[0] <= enough
    bound = best.cost[0]
    for k in range(top):
        bound = min(bound, stack.floor[k])
    return proved, bound, nodes

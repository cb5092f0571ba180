"""Is there a point that lies in desired boxes of enough trees? A search with bit sets.

A tree is alive while one of its desired boxes is. A cell with which fewer than the needed trees
stay alive is dropped (``propagate``); when every axis has one cell left, a solution is found.
Branching takes the axis with the least slack. Trees that cannot agree sharpen the bound
(``conflicts``).
"""

from __future__ import annotations

import numpy as np

from ract._kernels._jit import making_kernel
from ract._kernels.search.bits import make_bits
from ract._kernels.search.conflicts import lost_to_conflicts, new_conflicts
from ract._kernels.search.depth_first import branch, go_on, new_state, read_point
from ract._kernels.search.propagate import propagate_bound
from ract._utils.status import Status

FOUND, NONE, UNKNOWN = Status.FOUND.value, Status.NONE.value, Status.UNKNOWN.value
# How sharply branching prefers axes with little slack, and how scarce slack must be for conflicts
# to be worth looking for.
SHARPNESS = 0.25
SCARCE = 0.45


@making_kernel
def decide_votes(boxes, n_trees, needed, changes, max_nodes, stop, point):
    """Whether a point lies in desired boxes of at least needed of n_trees trees.

    changes: how many axes may change. stop (1,) uint8: set from outside to end the search.
    point (axes,) int64: set to the original cells of a solution. Returns FOUND, NONE or
    UNKNOWN (stopped, or more than max_nodes nodes), and the number of nodes.
    """
    bits, n_boxes = make_bits(boxes, n_trees, True, stop), boxes.tree.shape[0]
    if stop[0]:  # making bits takes long where there are many boxes
        return UNKNOWN, 1
    state, room = new_state(bits, n_boxes), new_conflicts(n_trees, n_boxes, bits.mask.shape[1])
    nodes, depth = 0, np.int64(0)
    while depth >= 0:
        nodes += 1
        if nodes > max_nodes or stop[0]:
            return UNKNOWN, nodes
        alive, chosen = state.alive[depth], state.chosen[depth]
        state.n_options[depth] = 0
        state.tried[depth] = 0
        before, dropped, slack = np.inf, 1, np.int64(-1)
        while dropped > 0:
            count = propagate_bound(
                boxes, bits, None, needed, changes, alive, chosen, None, state, stop
            )
            if stop[0]:
                return UNKNOWN, nodes
            slack = np.int64(count - needed) if count >= 0 else np.int64(-1)
            if slack < 0 or count == before or slack >= SCARCE * count:
                break
            before = count
            lost, dropped = lost_to_conflicts(boxes, bits, alive, slack, state, room)
            if lost > slack:
                slack = np.int64(-1)
                break
        if slack >= 0 and not branch(bits, state, depth, slack, SHARPNESS):
            read_point(boxes, bits, chosen, point)
            return FOUND, nodes
        depth = go_on(bits, state, depth)
    return NONE, nodes

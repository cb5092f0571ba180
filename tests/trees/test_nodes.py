"""Node numbers, on two small trees."""

import numpy as np

from ract.trees.nodes import node_depths, node_parents, shifted_nodes

#      0          5
#    1   2      6   7
#   3 4
LEFT = np.array([1, 3, -1, -1, -1, 6, -1, -1])
RIGHT = np.array([2, 4, -1, -1, -1, 7, -1, -1])


def test_parents_and_depths():
    assert node_parents(LEFT, RIGHT).tolist() == [-1, 0, 0, 1, 1, -1, 5, 5]
    assert node_depths(LEFT, RIGHT).tolist() == [0, 1, 1, 2, 2, 0, 1, 1]


def test_trees_end_to_end_are_numbered_on():
    alone = np.array([1, -1, -1])
    joined = shifted_nodes([LEFT[:5], alone], by=[0, 5])
    assert joined.dtype == np.int32 and joined.tolist() == LEFT.tolist()
    assert shifted_nodes([joined[5:]], by=[-5]).tolist() == alone.tolist()

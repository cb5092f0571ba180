"""Random boosted trees, for the tests of kernels."""

import numpy as np


def random_trees(rng, n_trees):
    """Nodes, values and roots of random trees on three axes of five cells."""
    nodes, root = [], []
    for _ in range(n_trees):
        root.append(len(nodes))
        waiting = [len(nodes)]
        nodes.append([-1, 0, 0, 0, 0, 0])
        while waiting:
            node = waiting.pop()
            if len(nodes) - root[-1] < 11 and rng.random() < 0.8:
                first, last = np.sort(rng.integers(0, 5, 2)).tolist()
                children = len(nodes), len(nodes) + 1
                nodes[node] = [int(rng.integers(3)), first, last, *children, 0]
                waiting += children
                nodes += [[-1, 0, 0, 0, 0, 0], [-1, 0, 0, 0, 0, 0]]
    return np.array(nodes, np.int32), rng.normal(size=len(nodes)), np.array(root, np.int32)

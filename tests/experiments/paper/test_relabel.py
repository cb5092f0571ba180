"""Relabelling by the authors' rules."""

import numpy as np
import pytest

from experiments.paper.relabel import attained, relabelled
from ract.trees.grower import GrowRules, grow_tree
from tests.experiments.builders import ordinal_people


@pytest.mark.parametrize("seed", range(20))
def test_relabelling_flips_the_leaf_that_covers_most_for_its_price(seed):
    rng = np.random.default_rng(seed)
    people = ordinal_people(rng)
    n = people.cells.shape[1]
    tree = grow_tree(
        people,
        np.ones(n),
        GrowRules(0.1, "error", max_depth=3, authors_reach=True, authors_splits=True),
    )
    leaves, reached = attained(tree, people)
    for risk, labels in zip((0.0, 0.3), relabelled(tree, people, (0.0, 0.3)), strict=True):
        naive, covered = tree.label.copy(), reached[tree.label[leaves] == 1].any(axis=0)
        while covered.mean() < 1 - risk:
            rates = [
                (covered | reached[k]).sum() - covered.sum() if naive[leaf] == 0 else 0
                for k, leaf in enumerate(leaves)
            ]
            rates = [
                r / tree.masses[leaf, 0] if r else 0 for r, leaf in zip(rates, leaves, strict=True)
            ]
            if max(rates) == 0:
                break
            naive[leaves[int(np.argmax(rates))]] = 1
            covered = covered | reached[int(np.argmax(rates))]
        assert (labels[leaves] == naive[leaves]).all()

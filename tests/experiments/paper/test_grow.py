"""Growing by the authors' rules, against a naive twin."""

import numpy as np
import pytest

from experiments.paper.relabel import attained
from ract.trees.grower import GrowRules, grow_tree
from tests.builders import each_seed
from tests.experiments.builders import ordinal_people


def naive_authors_tree(people, weights, alpha, max_depth, first_code):
    """Algorithm 1 as the authors wrote it: every candidate scored from boolean reach.

    In their first code outsiders attain a side only by crossing, later also by standing there.
    """
    cells = people.cells.astype(int)
    crossable = lambda a, c: (people.lowest[a] <= c) & (people.highest[a] > c)  # noqa: E731
    desired = people.desired == 1
    everyone = weights > 0
    total, wanted = weights.sum(), weights[desired].sum()
    root = total - wanted <= wanted + alpha * total
    state = {"reached": np.full(len(weights), int(root))}
    leaves = []

    def grow(inside, reach, label, depth):
        mass = lambda who: weights[who].sum()  # noqa: E731
        exposed = everyone & (state["reached"] - label * reach == 0)
        kinds = {bool(d) for d in desired[inside]}
        best = None
        if depth < max_depth and inside.sum() > 1 and len(kinds) == 2:
            for a, n in enumerate(people.n_cells):
                for c in range(n - 2 if n > 2 else n - 1):
                    left, cross = cells[a] <= c, crossable(a, c)
                    m, m_l, m_r = (
                        mass(exposed & reach & side)
                        for side in (everyone, left | cross, ~left | cross)
                    )
                    for labels, without in (
                        ((1, 1), 0.0), ((1, 0), m - m_l), ((0, 1), m - m_r), ((0, 0), m),
                    ):  # fmt: skip
                        wrong = sum(
                            mass(inside & side & (desired != bool(y)))
                            for side, y in ((left, labels[0]), (~left, labels[1]))
                        )
                        value = wrong + alpha * without
                        if best is None or value < best[0]:
                            best = (value, a, c, labels)
        if best is not None:
            _, a, c, labels = best
            left, cross = cells[a] <= c, crossable(a, c)
            if (inside & left).any() and (inside & ~left).any():
                sides = [(inside & left, labels[0]), (inside & ~left, labels[1])]
                standing = [inside & left, inside & ~left] if first_code else [left, ~left]
                reaches = [reach & (side | cross) for side in standing]
                state["reached"] = state["reached"] - label * reach
                for (_, y), r in zip(sides, reaches, strict=True):
                    state["reached"] = state["reached"] + y * r
                for (within, y), r in zip(sides, reaches, strict=True):
                    grow(within, r, y, depth + 1)
                return
        leaves.append((inside, label))

    grow(everyone, everyone.copy(), int(root), 0)
    return leaves


@pytest.mark.parametrize("first_code", [True, False])
@each_seed(range(60))
def test_trees_follow_the_authors_reach(seed, first_code):
    rng = np.random.default_rng(seed)
    people = ordinal_people(rng)
    weights = rng.integers(0, 3, people.cells.shape[1]).astype(float)
    weights[0] = 1.0
    alpha = float(rng.choice([0.0, 0.25, 0.5, 1.0]))
    rules = GrowRules(alpha, "error", max_depth=3, authors_reach=first_code, authors_splits=True)
    tree = grow_tree(people, weights, rules)
    expected = naive_authors_tree(people, weights, alpha, 3, first_code)
    leaves, reached = attained(tree, people)
    assert [int(tree.label[leaf]) for leaf in leaves] == [label for _, label in expected]
    members = [tree.masses[leaf, 2] for leaf in leaves]
    assert members == [inside.sum() for inside, _ in expected]
    for (inside, _), who in zip(expected, reached, strict=True):
        assert who[inside].all()

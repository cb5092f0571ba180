import numpy as np
import pytest

from ract._kernels.search.additive import score as kernels
from ract._kernels.search.additive.search import make_score
from ract._kernels.search.bits import make_bits
from ract._kernels.search.cell_forest import Needs
from tests._kernels.plain import plain
from tests._kernels.search.builders import listed, random_boxes


def best_sum(boxes, value, inside, n_trees):
    """The best box of each tree, added up."""
    return sum(
        max((value[r] for r in inside if boxes.tree[r] == t), default=-np.inf)
        for t in range(n_trees)
    )


@pytest.mark.parametrize("votes", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_what_is_lost_is_the_best_sum_less_that_of_a_cell(seed, votes):
    rng, n_trees = np.random.default_rng(seed), 6
    boxes = random_boxes(rng, n_trees)
    value = np.concatenate([-np.sort(-rng.random(n)) for n in np.bincount(boxes.tree)])
    bits = plain(make_bits)(boxes, n_trees, votes, np.zeros(1, np.uint8))
    everything = np.full((1, bits.mask.shape[1]), -1)
    all_boxes = set(range(len(value)))

    def won(inside):
        if votes:
            return len({boxes.tree[r] for r in inside})
        return best_sum(boxes, value, inside, n_trees)

    needs = Needs(np.array([0, n_trees]), np.array([votes]), np.array([0.6 * won(all_boxes)]))
    score = plain(make_score)(bits, value, needs, votes)
    assert plain(kernels.can_win)(bits, score, everything[0], everything)
    assert score.most[0] == pytest.approx(won(all_boxes))
    slack = score.most[0] - needs.least[0]
    for row, sets in enumerate(bits.mask):
        inside = won(listed(bits, sets))
        lost = score.most[0] - inside
        found = plain(kernels.part_lost)(bits, score, everything[0], bits.mask, row)
        assert found == pytest.approx(lost / slack if lost <= slack else np.inf)
        lacks = plain(kernels.shortfall)(bits, score, everything[0], bits.mask, row)
        assert lacks == pytest.approx(max(0.0, needs.least[0] - inside))

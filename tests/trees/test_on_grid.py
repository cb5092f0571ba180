"""Trees in cells and trees in values decide alike, and come back as they were."""

import numpy as np
import pytest

from ract import ActionSpace, Feature
from ract.data.encoder import Encoder
from ract.data.grid import Grid
from ract.trees.ensemble import TreeEnsemble
from ract.trees.on_grid import from_cell_trees, to_cell_trees

SPACE = ActionSpace(
    [Feature("age", "integer", lower=0, upper=9), Feature("job", "categorical", categories="abc")]
)
AXES = Encoder.of_space(SPACE, ["age", "job"]).axes  # age, job=a, job=b, job=c


def two_trees():
    """Age <= 4 and then job b, and job c alone."""
    return TreeEnsemble(
        feature=np.array([0, 2, -1, -1, -1, 3, -1, -1], np.int32),
        threshold=np.array([4.0, 0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0]),
        left=np.array([1, 3, -1, -1, -1, 6, -1, -1], np.int32),
        right=np.array([2, 4, -1, -1, -1, 7, -1, -1], np.int32),
        label=np.array([0, 0, 1, 0, 1, 0, 1, 0], np.uint8),
        value=np.array([0.5, 0.2, 0.9, 0.1, 0.8, 0.5, 0.7, 0.3]),
        root=np.array([0, 5], np.int32),
        combine="votes",
        cutoff=2,
        missing_left=np.zeros(8, np.uint8),
    )


def test_trees_come_back():
    trees = two_trees()
    grid = Grid.from_splits(AXES, trees.feature[trees.feature >= 0], np.array([4.0, 0.5, 0.5]))
    first, second = to_cell_trees(trees, grid)
    assert first.axis.tolist() == [0, 1, -1, -1, -1] and first.cell[:2].tolist() == [0, 1]
    assert second.axis.tolist() == [1, -1, -1] and second.cell[0] == 2
    assert second.left.tolist() == [1, -1, -1] and second.label.tolist() == [0, 1, 0]
    again = from_cell_trees([first, second], grid, votes_needed=2)
    for name in ("feature", "threshold", "left", "right", "label", "value", "root"):
        assert np.array_equal(getattr(again, name), getattr(trees, name)), name
        assert getattr(again, name).dtype == getattr(trees, name).dtype, name
    assert again.combine == "votes" and again.cutoff == 2


@pytest.mark.parametrize("order", [[0], [1], [1, 0], [0, 0, 1]])
def test_some_trees_are_walked_as_among_all(order):
    trees, rows = two_trees(), np.array([[a, *job] for a in (3.0, 7.0) for job in np.eye(3)])
    taken = trees.take_trees(order)
    assert np.array_equal(trees.value[trees.apply(rows)][:, order], taken.value[taken.apply(rows)])
    assert taken.n_trees == len(order) and taken.root[0] == 0

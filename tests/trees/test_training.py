"""What every learner does before the first split."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract.data.frames import read_table
from ract.trees import training
from ract.trees.training import (
    TrainingSetting,
    Weights,
    different_rows,
    prepare,
    row_hashes,
    space_for_part,
)

FRAME = pd.DataFrame({"a": [1.0, 2.0, 3.0, 2.0], "b": ["x", "y", "x", "y"]})
DESIRED = np.array([0, 1, 1, 0], np.uint8)
SPACE = ActionSpace([Feature("a", "continuous"), Feature("b", "categorical")], limits=None)


def prepared(n_jobs=None, *, with_reach=True):
    setting = TrainingSetting(SPACE, "range", 0.5, 16)
    weights = Weights(None, np.ones(4))
    return prepare(FRAME, DESIRED, weights, setting, with_reach=with_reach, n_jobs=n_jobs)


def test_cells_and_reach():
    made = prepared()
    assert made.people.cells.tolist() == [[0, 1, 2, 1], [0, 1, 0, 1]]
    # Half of the range: from 1 to 2, from 2 everywhere, from 3 to 2; any category costs all of it.
    assert made.people.lowest[0].tolist() == [0, 0, 1, 0]
    assert made.people.highest[0].tolist() == [1, 2, 2, 2]
    assert made.people.can_enter[0] is None and made.people.can_enter[1].tolist() == [
        [True, False],
        [False, True],
    ]
    assert len(made.rows) == 3  # two people are the same
    without = prepared(with_reach=False)
    assert without.people.lowest is without.people.cells
    some = made.take(np.array([2, 0]))
    assert some.people.cells.tolist() == [[2, 0], [0, 0]] and some.rows is None
    assert some.people.desired.tolist() == [1, 0] and some.weights.people.tolist() == [1.0, 1.0]


def test_threads_make_no_difference(monkeypatch):
    alone = prepared()
    monkeypatch.setattr(training, "MANY_PEOPLE", 1)
    threaded = prepared(n_jobs=2)
    assert np.array_equal(alone.rows, threaded.rows)
    assert np.array_equal(alone.people.highest, threaded.people.highest)


def test_equal_rows_have_equal_hashes():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 3, (200, 3)).astype(float)
    rows[rows == 2] = np.nan
    hashes = row_hashes(rows.T)
    keys = [tuple(np.where(np.isnan(row), -1, row)) for row in rows]
    assert len(set(zip(keys, hashes.tolist(), strict=True))) == len(set(keys))
    assert different_rows(rows.T).tolist() == sorted(set(hashes.tolist()))


@pytest.mark.parametrize("actions", [None, SPACE])
def test_bounds_come_from_a_part_and_categories_from_everyone(actions):
    whole, part = read_table(FRAME), read_table(FRAME[:1])
    space = space_for_part(actions, whole, part)
    assert space["a"].bounds == (1.0, 1.0) and space["b"].categories == ("x", "y")

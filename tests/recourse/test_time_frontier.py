"""What plans cost by the months that they take, worked out by hand."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.recourse import time_frontier

TABLE = pd.DataFrame({"x": np.arange(10)})


@pytest.fixture(scope="module")
def model():
    """Accepts from 5 on; a unit takes a month."""
    space = ActionSpace(
        [Feature("x", "integer", "increase", 0, 9, pace=1, per="month")], limits=None
    )
    tree = RecourseTreeClassifier(space, desired=1, max_depth=1, recourse_weight=0.0)
    return tree.fit(TABLE, (TABLE["x"] >= 5).astype(int))


def test_the_only_way_takes_as_many_months_as_units(model):
    frontier = time_frontier(model, TABLE, by=4, budget=np.inf)
    assert frontier["person"].tolist() == [1, 2, 3, 4]  # 0 would need five months
    assert frontier["month"].tolist() == [4, 3, 2, 1]
    assert set(frontier["status"]) == {"optimal"}
    plans = model.recourse(TABLE, budget=np.inf)
    assert frontier["cost"].tolist() == plans.cost[1:5].tolist()


def test_points_are_counted(model):
    with pytest.raises(InvalidSpec, match="n_points"):
        time_frontier(model, TABLE, n_points=-1)

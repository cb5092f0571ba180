"""Something for each person, by position, and the table of one row per change."""

import numpy as np
import pandas as pd
import pytest

from ract.recourse.by_person import COLUMNS, ByPerson, frame_of, long_frame
from ract.recourse.plan import Change, Plan


class Names(ByPerson[str]):
    """The label of everyone in capitals."""

    labels = pd.Index(["ann", "bob", "eve"])

    def _of(self, i):
        return self.labels[i].upper()


def test_people_are_taken_by_position():
    names = Names()
    assert (names[0], names[-1], names[np.int64(1)]) == ("ANN", "EVE", "BOB")
    assert names[1:] == ["BOB", "EVE"] == list(names)[1:] and len(names) == 3
    with pytest.raises(TypeError, match=r"by position, such as \[0\], got 'bob'"):
        names["bob"]
    with pytest.raises(IndexError, match=r"There are 3 people, from \[0\] on; got \[3\]"):
        names[3]


def test_every_change_is_a_row_and_every_plan_has_one():
    change = Change("income", 3, 5, 0.2)
    other = Plan("ann", "yes", "found", 0.3, np.nan, 1.0, (change, Change("debt", 2, 1, 0.3)))
    plan = Plan("ann", "yes", "optimal", 0.2, 0.2, 1.0, (change,), alternatives=(other,))
    none = Plan("bob", "yes", "none", np.inf, np.inf, 1.0)
    frame = long_frame([plan, none])
    assert frame["person"].tolist() == ["ann", "ann", "ann", "bob"]
    assert frame["plan"].tolist() == [0, 1, 1, 0]
    assert frame["feature"].tolist()[:3] == ["income", "income", "debt"]
    assert frame["feature"].isna().tolist() == [False, False, False, True]
    assert frame["to"].tolist()[:3] == [5, 5, 1] and frame["status"].tolist()[-1] == "none"
    assert frame["reason"].tolist()[-1] == none.describe()


def test_an_empty_frame_has_its_columns_and_types():
    frame = frame_of([], COLUMNS)
    assert list(frame) == list(COLUMNS) and not len(frame)
    assert frame["cost"].dtype == float and frame["only supplied"].dtype == bool

"""Groups of people."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.groups import group_masks, members_of, sorted_groups

PEOPLE = pd.DataFrame({"age": [20, 30, 40], "town": ["b", "a", "b"]})


@pytest.mark.parametrize("frame", [PEOPLE, pl.from_pandas(PEOPLE)], ids=["pandas", "polars"])
@pytest.mark.parametrize("groups", ["town", PEOPLE["town"], ["b", "a", "b"]])
def test_a_column_or_labels_say_who_is_where(frame, groups):
    found = group_masks(frame, groups)
    assert {group: mask.tolist() for group, mask in found.items()} == {
        "a": [False, True, False],
        "b": [True, False, True],
    }
    assert list(members_of(frame, None)) == [None] and members_of(frame, None)[None].all()


@pytest.mark.parametrize(
    ("groups", "error", "says"),
    [
        ("city", InvalidSpec, "'city', which is not a column; the columns are 'age', 'town'"),
        (["a", "b"], InvalidData, r"X has 3 rows but groups has shape \(2,\)"),
        (["a", None, "b"], InvalidData, "groups has 1 missing values"),
        (pd.Series(pd.Categorical(["a"] * 3, ["a", "z"])), InvalidData, "Nobody is in .* 'z'"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, error, says):
    with pytest.raises(error, match=says):
        group_masks(PEOPLE, groups)


def test_labels_have_an_order_even_of_several_kinds():
    assert sorted_groups(["b", 2, None, "a", 1]) == [1, 2, "a", "b"]
    with pytest.raises(InvalidData, match="51 different values, more than 50"):
        sorted_groups(range(51))
    assert np.array_equal(sorted_groups(range(50)), np.arange(50))

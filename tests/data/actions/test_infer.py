"""What is read off a table where nobody declared it."""

import pandas as pd
import polars as pl
import pytest

from ract import ActionSpace, AssumedActions, Feature
from ract._utils.errors import InvalidSpec


def test_category_columns_keep_their_own_order_and_drop_unused_values():
    job = pd.Categorical(["b", "a"], categories=["z", "b", "a"], ordered=True)
    frame = pd.DataFrame({"job": job})
    assert ActionSpace.infer(frame, increase=["job"], limits=None)["job"].categories == ("b", "a")
    enum = pl.DataFrame({"job": pl.Series(["b", "a"], dtype=pl.Enum(["z", "b", "a"]))})
    assert ActionSpace.infer(enum, increase=["job"], limits=None)["job"].categories == ("b", "a")


def test_what_is_not_declared_is_assumed_with_a_warning():
    """Plans changed ages, ended in two categories at once and ranked text by the alphabet."""
    frame = pd.DataFrame({"age": [20, 40], "a": [1, 0], "b": [False, True], "job": ["x", "w"]})
    match = (
        "so 'age' is fixed, by the name; every other feature may change, 'a', 'b', 'job'; columns "
        "of 0 and 1 are separate even if they encode one feature, 'a', 'b'. Say otherwise in an "
        "ActionSpace."
    )
    with pytest.warns(AssumedActions, match=match):
        assert not ActionSpace.infer(frame, limits=None)["age"].actionable
    with pytest.warns(AssumedActions, match="so columns of 0 and 1 are separate even if they enc"):
        ActionSpace.infer(frame, fixed=["age"], limits=None)
    with pytest.warns(AssumedActions, match="so every feature may change, 'age', 'a', 'b', 'job';"):
        assert ActionSpace.infer(frame, fixed=(), limits=None)["age"].actionable
    ActionSpace.infer(frame, fixed=["age"], groups={}, limits=None)
    ActionSpace.infer(frame, fixed=["a", "b"], decrease=["age"], limits=None)


@pytest.mark.filterwarnings("ignore::ract.AssumedActions")
def test_a_direction_of_text_asks_for_an_order():
    frame = pd.DataFrame({"job": ["x", "w"]})
    says = "'job' may only increase, but its values 'w', 'x' are text without an order; list them"
    with pytest.raises(InvalidSpec, match=says):
        ActionSpace.infer(frame, increase=["job"], limits=None)
    with pytest.raises(InvalidSpec, match=says):
        ActionSpace([Feature("job", change="increase")], limits=None).complete(frame)
    with pytest.raises(InvalidSpec, match="are text without an order"):  # in the alphabet's order
        ActionSpace.infer(frame.astype("category"), increase=["job"], limits=None)
    given = ActionSpace.infer(frame, increase=["job"], orders={"job": ["x", "w"]}, limits=None)
    assert given["job"].categories == ("x", "w")

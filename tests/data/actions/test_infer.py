"""What is read off a table where nobody declared it."""

import numpy as np
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


def one_hot(n=60):
    """Four groups: of a shared name, with longer names, of neighbours, of scattered columns."""
    rng = np.random.default_rng(0)
    home, job = rng.choice(["own", "rent"], n), rng.choice(["a", "b", "c"], n)
    side, race = rng.integers(0, 3, n), rng.integers(0, 3, n)
    columns = {"white": race == 0, "income": rng.random(n), "home:own": home == "own"}
    columns |= {"job_class_a": job == "a", "job_class_b": job == "b", "home:rent": home == "rent"}
    columns |= {"north": side == 0, "south": side == 1, "west": side == 2, "black": race == 1}
    columns |= {"job_class_c": job == "c", "phone": rng.integers(0, 2, n), "asian": race == 2}
    return pd.DataFrame({name: np.asarray(values) * 1 for name, values in columns.items()})


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_one_hot_columns_are_recognised(convert):
    with pytest.warns(AssumedActions, match="'north', 'south', 'west' are one feature, 'north/sou"):
        space = ActionSpace.infer(convert(one_hot()), limits=None)
    assert {f.name: f.columns for f in space if f.columns} == {
        "home": ("home:own", "home:rent"),
        "job_class": ("job_class_a", "job_class_b", "job_class_c"),
        "north/south/west": ("north", "south", "west"),
        "white/black/asian": ("white", "black", "asian"),
    }
    assert space["home"].categories == ("own", "rent")
    assert [f.name for f in space if not f.actionable] == ["white/black/asian"]


def test_what_is_almost_one_hot_is_not_taken_for_it():
    frame = one_hot()
    for name, row in (("home:own", 3), ("north", 4), ("job_class_a", 5), ("white", 6)):
        frame.loc[row, name] = 1 - frame.loc[row, name]
    with pytest.warns(AssumedActions, match="columns of 0 and 1 are separate"):
        assert not any(f.columns for f in ActionSpace.infer(frame, limits=None))
    with pytest.warns(AssumedActions, match="columns of 0 and 1 are separate"):
        assert not any(
            f.columns for f in ActionSpace.infer(one_hot(10), limits=None)
        )  # no evidence
    frame = one_hot()
    with pytest.warns(AssumedActions, match="'job_class_a', 'job_class_b', 'job_class_c' are one"):
        names = [
            f.name for f in ActionSpace.infer(frame, fixed=["home:own"], limits=None) if f.columns
        ]
    assert "home" not in names and "job_class" in names

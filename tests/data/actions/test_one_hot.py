"""Columns that encode one feature."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ract import ActionSpace, AssumedActions


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

import string

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ract import ActionSpace, AssumedActions, Feature
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions.names import fixed_by_name

FRAME = pd.DataFrame(
    {
        "age": [20, 30, 40],
        "income": [1.5, 2.0, 9.0],
        "owner": [0, 1, 1],
        "member": [True, False, True],
        "job": ["cook", "clerk", "cook"],
    }
)


@pytest.mark.parametrize("convert", [lambda f: f, pl.from_pandas], ids=["pandas", "polars"])
def test_infer_reads_kinds_bounds_and_categories(convert):
    declared = {"fixed": ["age"], "increase": ["income"], "groups": {}}
    space = ActionSpace.infer(convert(FRAME), **declared, desired="yes")
    kinds = {f.name: f.kind for f in space}
    assert kinds == {
        "age": "integer",
        "income": "continuous",
        "owner": "binary",
        "member": "binary",
        "job": "categorical",
    }
    assert (space["age"].lower, space["age"].upper) == (20.0, 40.0)
    assert space["job"].categories == ("clerk", "cook")
    changes = [f.change for f in space]
    assert changes == ["fixed", "increase", "any", "any", "any"]
    assert space.desired == "yes"


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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Age", "age"), ("age_in_years", "age"), ("mileage", None), ("Average", None),
        ("Sex", "sex or gender"), ("personalStatusSex", "sex or gender"), ("man", "sex or gender"),
        ("DateOfBirth", "birth"), ("geburtsdatum", "birth"), ("DOB", "birth"),
        ("foreign_worker", "nationality or origin"), ("Nationality", "nationality or origin"),
        ("race", "race or ethnicity"), ("Ethnicity", "race or ethnicity"), ("terrace", None),
        ("religion", "religion"), ("Marital", "marital status"), ("married", "marital status"),
        ("customer_id", "an identifier"), ("ID", "an identifier"), ("paid", None), ("Income", None),
    ],
)  # fmt: skip
def test_names_that_say_what_nobody_can_change(name, reason):
    assert fixed_by_name(name) == reason


def test_undeclared_columns_are_fixed_and_keep_the_order_of_the_table():
    space = ActionSpace([Feature("income", change="increase")], limits=None).complete(FRAME)
    assert [f.name for f in space] == list(FRAME.columns)
    assert [f.actionable for f in space] == [False, True, False, False, False]


def test_describe_expands_declared_groups():
    frame = pd.DataFrame({"a": [1, 0], "n": [3, 4], "b": [0, 1]})
    space = ActionSpace.infer(
        frame, groups={"g": ["a", "b"]}, fixed=["g"], decrease=["n"], limits=None
    )
    expected = pd.DataFrame(
        {
            "feature": ["a", "b", "n"],
            "type": ["Binary", "Binary", "Integer"],
            "min": [0.0, 0.0, 3.0],
            "max": [1.0, 1.0, 4.0],
            "immutable": ["Yes", "Yes", "No"],
            "constraint": ["Fix", "Fix", "Decreasing only"],
        }
    )
    pd.testing.assert_frame_equal(space.describe(), expected)


names = st.text(string.printable, min_size=1, max_size=8)
numbers = st.floats(allow_nan=False, allow_infinity=False)
labels = st.one_of(st.text(max_size=5), st.integers(-9, 9))


@st.composite
def features(draw):
    name = draw(names)
    change = draw(st.sampled_from(["any", "increase", "decrease", "fixed"]))
    weight = draw(st.floats(0, 1e9))
    kind = draw(st.sampled_from([None, "continuous", "binary", "categorical", "group"]))
    if kind == "group":
        columns = draw(st.lists(names, min_size=2, max_size=4, unique=True))
        return Feature(name, change=change, weight=weight, columns=columns)
    if kind == "categorical":
        values = draw(st.lists(labels, max_size=4, unique_by=str))
        return Feature(name, kind, change, weight=weight, categories=values)
    low, high = sorted((draw(numbers), draw(numbers)))
    lower, upper = draw(st.sampled_from([(None, None), (low, None), (None, high), (low, high)]))
    return Feature(name, kind, change, lower, upper, weight)


@given(st.lists(features(), min_size=1, max_size=4), st.one_of(st.none(), labels))
def test_toml_round_trip_is_exact(declared, desired):
    taken, kept = set(), []
    for feature in declared:
        columns = set(feature.columns or (feature.name,))
        if not columns & taken and feature.name not in {f.name for f in kept}:
            kept.append(feature)
            taken |= columns
    space = ActionSpace(kept, desired, limits=None)
    assert ActionSpace.from_toml_text(space.to_toml_text()) == space


def test_toml_file_round_trip(tmp_path):
    space = ActionSpace.infer(FRAME, fixed=["age"], groups={}, desired="yes", limits=None)
    path = tmp_path / "actions.toml"
    space.to_toml(path)
    assert ActionSpace.from_toml(path) == space
    assert [p.name for p in tmp_path.iterdir()] == ["actions.toml"]


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "actions.toml"
    path.write_text("old")
    monkeypatch.setattr("os.replace", lambda *a: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        ActionSpace([Feature("age")], limits=None).to_toml(path)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["actions.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "real"}, "kind 'real' is not one of"),
        ({"change": "up"}, "change 'up' is not one of"),
        ({"lower": 3, "upper": 2}, "lower bound 3 is above upper bound 2"),
        ({"lower": "low"}, "lower must be a number"),
        ({"upper": float("nan")}, "upper must be finite"),
        ({"upper": float("inf")}, "upper must be finite"),
        ({"weight": -1}, "weight must be 0 or more, got -1"),
        ({"kind": "integer", "lower": 0.5}, "integer, but its bound is 0.5"),
        ({"kind": "categorical", "lower": 0}, "takes no lower or upper bound"),
        ({"kind": "categorical", "categories": ["a", "a"]}, "lists a category twice"),
        ({"kind": "integer", "categories": ["a"]}, "categories are for kind 'categorical'"),
        ({"columns": ["a"]}, "at least two columns"),
        ({"columns": ["a", "b"], "categories": [1]}, "has 2 columns but 1 categories"),
    ],
)
def test_a_wrong_feature_is_refused_in_one_sentence(arguments, message):
    with pytest.raises(InvalidSpec, match=message) as caught:
        Feature("f", **arguments)
    assert "'f'" in str(caught.value)


def test_a_wrong_space_is_refused():
    with pytest.raises(InvalidSpec, match="'f' is declared twice"):
        ActionSpace([Feature("f"), Feature("f")], limits=None)
    with pytest.raises(InvalidSpec, match="Column 'a' belongs to both 'g' and 'a'"):
        ActionSpace([Feature("g", columns=["a", "b"]), Feature("a")], limits=None)
    with pytest.raises(InvalidSpec, match="Expected a Feature, got str"):
        ActionSpace(["f"], limits=None)
    with pytest.raises(KeyError, match="No feature 'x'"):
        ActionSpace([Feature("f")], limits=None)["x"]


def test_a_space_that_does_not_fit_the_table_is_refused():
    with pytest.raises(InvalidSpec, match="names 'salary', which the table does not have"):
        ActionSpace([Feature("salary")], limits=None).complete(FRAME)
    with pytest.raises(InvalidSpec, match="lower bound 50 lies outside the data.* 20 to 40"):
        ActionSpace([Feature("age", lower=50)], limits=None).complete(FRAME)
    with pytest.raises(InvalidSpec, match="upper bound 1 lies outside the data"):
        ActionSpace([Feature("income", upper=1)], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'income' is integer, but row 0 holds 1.5"):
        ActionSpace([Feature("income", kind="integer")], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'age' is binary, but row 0 holds 20"):
        ActionSpace([Feature("age", kind="binary")], limits=None).complete(FRAME)
    with pytest.raises(InvalidData, match="'job' holds 'cook', which is not a number"):
        ActionSpace([Feature("job", kind="integer")], limits=None).complete(FRAME)


def test_infer_refuses_wrong_names():
    with pytest.raises(InvalidSpec, match="No column called 'salary'"):
        ActionSpace.infer(FRAME, fixed=["salary"], limits=None)
    with pytest.raises(InvalidSpec, match="named both 'fixed' and 'increase'"):
        ActionSpace.infer(FRAME, fixed=["age"], increase=["age"], limits=None)
    with pytest.raises(InvalidSpec, match="takes a list of names, got the text 'age'"):
        ActionSpace.infer(FRAME, fixed="age", limits=None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = = 1", "Malformed TOML.*line 1"),
        ("[features.a]\nkind = 'integer'\nkind = 'binary'", "Malformed TOML.*line 3"),
        ("desired = 1", "declares no feature"),
        ("features = 3", "declares no feature"),
        ("wanted = 1\n[features.a]", "Unknown entry 'wanted'"),
        ("[features]\na = 3", "'a' must be a table, got 3"),
        ("[features.a]\nkin = 'integer'", "unknown entry 'kin'"),
        ("[features.a]\ncategories = 'x'", "categories must be a list"),
        ("[features.a]\ncategories = [[1]]", "must be text, numbers or booleans"),
        ("[features.a]\ncolumns = [1, 2]", "columns must be column names"),
        ("[features.a]\nweight = -2", "weight must be 0 or more"),
        ("[features.a]\nlower = true", "lower must be a number"),
    ],
)
def test_a_wrong_file_is_refused_with_its_name(tmp_path, text, message):
    path = tmp_path / "actions.toml"
    path.write_text(text)
    with pytest.raises(InvalidSpec, match=f"(?s)actions.toml.*{message}"):
        ActionSpace.from_toml(path)


def test_a_file_that_is_not_text_is_refused(tmp_path):
    path = tmp_path / "actions.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidSpec, match="not UTF-8"):
        ActionSpace.from_toml(path)


def test_numpy_values_become_plain_ones():
    feature = Feature("f", categories=list(np.array([1, 2])), kind="categorical")
    assert all(type(c) is int for c in feature.categories)

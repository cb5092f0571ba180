"""Action files as text."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from tests.builders import quick_of

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


@pytest.mark.parametrize("n_spaces", quick_of(1, [30, 1000]))
def test_toml_round_trip_is_exact(n_spaces):
    spaces = given(st.lists(features(), min_size=1, max_size=4), st.one_of(st.none(), labels))
    settings(max_examples=n_spaces, deadline=None)(spaces(check_round_trip))()


def check_round_trip(declared, desired):
    taken, kept = set(), []
    for feature in declared:
        columns = set(feature.columns or (feature.name,))
        if not columns & taken and feature.name not in {f.name for f in kept}:
            kept.append(feature)
            taken |= columns
    space = ActionSpace(kept, desired, limits=None)
    assert ActionSpace.from_toml_text(space.to_toml_text()) == space


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

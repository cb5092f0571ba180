"""Checks of JSON values, one by one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from ract._utils.errors import InvalidFile
from ract.io import values
from ract.trees.fingerprint import json_value


@dataclass
class Held:
    name: str
    size: float
    n: int = 3
    flag: bool = False
    end: float | None = None
    words: tuple[str, ...] = ()


def test_a_dataclass_is_read_by_the_types_of_its_fields():
    full = {"name": "a", "size": 1, "n": 2, "flag": True, "end": 0.5, "words": ["x"], "more": 1}
    assert values.read_as(Held, full) == Held("a", 1, 2, True, 0.5, ("x",))
    assert values.read_as(Held, {"name": "a", "size": 2.5, "n": None}) == Held("a", 2.5)
    size = {"float": "inf"}
    held = values.read_as(Held, {"name": "a", "size": size}, size=values.number)
    assert held.size == math.inf


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 3}, "'name' in it is 3"),
        ({"name": None}, "'name' in it is None"),
        ({"size": True}, "'size' in it is True"),
        ({"size": {"float": "nan"}}, "'size' in it is nan, not a number"),
        ({"size": {"float": "-inf"}}, "'size' in it is not finite"),
        ({"size": 10**400}, "a number in it is too large"),
        ({"n": 2.0}, "'n' in it is 2.0"),
        ({"flag": 1}, "'flag' in it is 1"),
        ({"words": "x"}, "'words' in it is 'x'"),
        ({"words": ["x", 1]}, "'words' in it is 1"),
    ],
)
def test_values_of_another_type_are_refused(change, message):
    with pytest.raises(InvalidFile, match=message):
        values.read_as(Held, {"name": "a", "size": 1.0} | change)
    with pytest.raises(InvalidFile, match="'held' in it is"):
        values.read_as(Held, [change])


def test_large_whole_numbers_become_floats():
    assert type(values.finite(2**53 - 1, "n")) is int
    assert type(values.finite(2**53, "n")) is float


@pytest.mark.parametrize(
    "value", [None, True, 3, 0.5, "x", -math.inf, [1, [2.5, "y"]], {1: 2.0, "a": [math.inf]}]
)
def test_what_was_made_json_comes_back(value):
    assert values.python_value(json_value(value, "value")) == value


@pytest.mark.parametrize("meta", [{"a": 1}, {"pairs": 3}, {"pairs": [[1]]}, {"float": "1"}])
def test_strange_objects_are_refused(meta):
    with pytest.raises(InvalidFile, match=r"a value in it is|not pairs"):
        values.python_value(meta)

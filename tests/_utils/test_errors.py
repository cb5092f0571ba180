"""What errors are made of."""

import pytest

from ract._utils.errors import InvalidSpec, error_text, listing, optional_library, refuse_unknown


def test_lists_are_cut():
    assert listing(range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert listing(["a"], 1) == "'a'"


def test_messages_become_one_line():
    assert error_text(ValueError("bad\n  thing.")) == "bad thing"


def test_unknown_entries_are_named():
    refuse_unknown("The file", ["a"], ["a", "b"])
    with pytest.raises(InvalidSpec, match="The file has unknown entry 'c'; known are 'a', 'b'."):
        refuse_unknown("The file", ["a", "c"], ["a", "b"])


def test_a_missing_library_is_named_with_its_extra():
    assert optional_library("json", "texts", "x").loads("3") == 3
    with pytest.raises(InvalidSpec, match=r"nowhere is needed for maps: .*ract\[maps\]"):
        optional_library("nowhere.at_all", "maps", "maps")

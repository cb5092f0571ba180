"""Modules of version 0.2 by their old names."""

import importlib
from pathlib import Path

import pytest

from ract._utils.moved import upgrade_table
from ract._utils.renamed import MOVED_NAMES


def test_the_changelog_has_the_table_of_old_names():
    changelog = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
    assert upgrade_table() in changelog.read_text(encoding="utf-8"), (
        "paste: python -c 'from ract._utils.moved import upgrade_table; print(upgrade_table())'"
    )


NAMES = Path(__file__).resolve().parents[1] / "data" / "v02" / "names.txt"


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("old", NAMES.read_text(encoding="utf-8").split())
def test_documented_names_of_0_2_are_found_or_in_the_table(old):
    if f"| name | `{old}` | gone: " not in upgrade_table():
        where, name = old.rsplit(".", 1)
        assert getattr(importlib.import_module(where), name)


@pytest.mark.parametrize(("old", "new"), MOVED_NAMES.items())
def test_names_that_moved_are_found_with_a_warning(old, new):
    where, name = old.rsplit(".", 1)
    with pytest.warns(FutureWarning, match=f"{old} is now {new}"):
        found = getattr(importlib.import_module(where), name)
    package = importlib.import_module(new.rsplit(".", 1)[0])
    assert found is getattr(package, name) and name in package.__all__

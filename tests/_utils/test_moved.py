"""Modules of version 0.2 by their old names."""

import importlib
from pathlib import Path

import pytest

from ract._utils.renamed import (
    MOVED,
    MOVED_NAMES,
    REMOVED_PARAMETERS,
    REMOVED_SINCE,
    RENAMED_PARAMETERS,
)

# Other parameters and options that are gone, and what does their work now.
REMOVED_OPTIONS = {
    "Feature(per_month=)": "Feature(drift=); action files of 0.2 are read",
    "find_recourse(relations=)": "ActionSpace(rules=) or space.with_rules(...)",
    "certify(random_state=, none_sample=)": "the same options of verify",
    "import_model(exact_costs=)": "cost=PercentileCost(exact=True)",
    "import_model(keep_reference=)": "save_model(..., keep_reference=people)",
    "Ledger.offer(requests=)": "Ledger.offer(request=)",
    "Ledger(at=)": "Ledger(clock=)",
    "ract fit --max-risk": "ract fit --min-recourse, one minus the old value",
    "ract fit --votes-needed": "ract fit --threshold, --approval-rate or --max-bad-rate",
    "ract recourse --letters": "ract notice --without-reasons",
    "ract reproduce": "python -m experiments.reproduce, in a checkout",
    "ract benchmark": "python -m experiments.benchmark, in a checkout",
}


def upgrade_table() -> str:
    """Every name of 0.2 that is another today, as the table of the changelog."""
    rows = [("module", old, _imported_from(old)) for old in MOVED if "._" not in old]
    rows += [("name", old, f"`{new}`") for old, new in MOVED_NAMES.items()]
    rows += [
        ("name", old, f"gone: {new}")
        for old, new in REMOVED_SINCE.items()
        if old.startswith("ract.") and old != "ract.data.MahalanobisCost"  # 0.3 alone had it
    ]
    rows += [("parameter", old, f"`{new}`") for old, new in RENAMED_PARAMETERS.items()]
    rows += [("parameter", old, f"gone: {new}") for old, new in REMOVED_PARAMETERS.items()]
    rows += [("option", old, new) for old, new in REMOVED_OPTIONS.items()]
    lines = [f"| {kind} | `{old}` | {new} |" for kind, old, new in rows]
    return "\n".join(["| | in 0.2 | in 0.3 |", "|---|---|---|", *lines])


def _imported_from(old: str) -> str:
    """The public package from which names of an old module are imported today."""
    if old == "ract.errors":
        return "`ract`"
    parts = MOVED[old].split(".")
    if parts[1] == "_utils":
        return "private"
    return f"`{'.'.join(parts[: 3 if parts[1] == 'apps' else 2])}`"


def test_the_changelog_has_the_table_of_old_names():
    changelog = Path(__file__).resolve().parents[2] / "CHANGELOG.md"
    assert upgrade_table() in changelog.read_text(encoding="utf-8")


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


def test_modules_that_are_nowhere_do_not_ask_for_the_table(monkeypatch):
    monkeypatch.setattr("ract._utils.moved._names", None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("nowhere_to_be_found")

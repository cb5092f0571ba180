"""The text of an action file: TOML with what holds for all, and one table per feature."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import tomli_w

from ract._utils.errors import InvalidSpec, listing, refuse_unknown
from ract._utils.printable import printable
from ract.data.actions.feature import Feature

if TYPE_CHECKING:
    from ract.data.actions.space import ActionSpace

OFF = "none"
# What may stand above all tables, and its value where it is left out.
ABOVE: dict[str, Any] = {"desired": None, "limits": "size", "steps": "limits", "rules": ()}
_RENAMED = {"per_month": "drift"}  # keys of 0.2
# What the lists of a feature hold, and what they are called in errors.
_LISTS: dict[str, tuple[tuple[type, ...], str]] = {
    "categories": ((str, int, float), "text, numbers or booleans"),
    "columns": ((str,), "column names"),
}
# Keys of a feature in the order of a file.
_WHAT = ("use", "kind", "change", "lower", "upper", "weight", "categories", "columns")
_WHEN = ("missing", "supply_cost", "pace", "delay", "drift", "per", "within")
_HOW_FAR = ("max_change", "max_relative", "median", "step", "unit", "label")
_DEFAULTS = {field.name: field.default for field in fields(Feature) if field.name != "name"}

HEADER = """\
# What a person may change. Edit freely:
#   kind    continuous | integer | binary | categorical
#   change  any | increase | decrease | fixed
#   lower, upper   values that an action may set
#   weight         effort of changing this feature relative to the others (1 if left out)
#   missing        stays | supply: may someone without a value hand one in?
#   supply_cost    effort of handing one in (that of a usual change if left out)
#   pace           how far it can move each month: 300, "5%", or [up, down]
#   drift          how much it grows each month by itself (0 if left out)
#   per            month | year: what pace and drift are counted by
#   delay          months before a change counts (0 if left out)
#   use            false keeps it out of the model altogether
#   max_change     how far a number may move from the person's own value
#   max_relative   the same as a share of that value, or of the median where that is larger
#   median         0 for the share of their own value alone; by default the column's
#   step           a number ends at its multiples when it changes; larger changes at larger steps
#   unit, label    what texts call it
# Above all features, rules = ["Debt <= 0.5 * Income", "if Job changes then Tenure changes",
#   "if Education = Graduate then Age >= 22", "never Job from clerk to manager"]
"""


ABOUT_TABLE = """\
# How tables are written and what their columns are read as. Every command that is given
# this file, or a model that was made with it, reads tables so; its options go before it.
"""


def dump_toml(
    entries: Mapping[str, Any],
    tables: Mapping[str, Mapping[str, Any]],
    section: Mapping[str, Any] | None = None,
    comments: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """The text of an action file.

    Parameters
    ----------
    entries : mapping
        What stands above all tables, such as the desired class.
    tables : mapping
        The table of each feature.
    section : mapping, optional
        What ``[table]`` holds.
    comments : mapping of str to sequence of str, optional
        Lines above a key of ``[table]`` (``"table.drop"``) or in the table of a feature
        (``"features.Age"``).

    Examples
    --------
    >>> print(dump_toml({}, {"Age": {"change": "fixed"}}, None, {"features.Age": ["why"]}))
    # What a person may change...
    [features.Age]
    # why
    change = "fixed"
    <BLANKLINE>
    """
    said = comments or {}
    parts = [HEADER + tomli_w.dumps(entries)]
    if section or any(key.startswith("table.") for key in said):
        parts.append(ABOUT_TABLE + _section(section or {}, said))
    for name, table in tables.items():
        text = tomli_w.dumps({"features": {name: {k: _whole(v) for k, v in table.items()}}})
        head, _, rest = text.removeprefix("[features]\n").partition("\n")
        lines = said.get(f"features.{name}", ())
        parts.append(f"{head}\n{_comment(lines)}{rest}")
    return "\n".join(parts)


def _section(section: Mapping[str, Any], said: Mapping[str, Sequence[str]]) -> str:
    plain = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
    keys = [key.removeprefix("table.") for key in said if key.startswith("table.")]
    lines = ["[table]\n"]
    for key in dict.fromkeys((*plain, *keys, *section)):  # tables come last
        between = "\n" if isinstance(section.get(key), Mapping) else ""
        lines.append(between + _comment(said.get(f"table.{key}", ())))
        if key in section:
            entry = {key: section[key]}
            text = tomli_w.dumps(entry if key in plain else {"table": entry})
            lines.append(text.removeprefix("[table]\n"))
    return "".join(lines)


def _comment(lines: Sequence[str]) -> str:
    """Lines that a reader of TOML passes over, without the characters that it would refuse."""
    wrapper = textwrap.TextWrapper(96, initial_indent="# ", subsequent_indent="#   ")
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return "".join(f"{wrapper.fill(printable(' '.join(line.split())))}\n" for line in lines)


def parsed_space(document: Mapping[str, Any]) -> tuple[list[Feature], dict[str, Any]]:
    """The features that the parsed text of an action file declares, and what stands above them."""
    known = (*ABOVE, "features", "table")
    if unknown := sorted(set(document) - set(known)):
        raise InvalidSpec(f"Unknown entry {listing(unknown)}; {listing(known)} are known.")
    tables = document.get("features", {})
    if not isinstance(tables, dict) or not tables:
        raise InvalidSpec("The file declares no feature: a [features.NAME] table is needed.")
    entries = {key: document.get(key, default) for key, default in ABOVE.items()}
    switches = {key: None for key in ("limits", "steps") if entries[key] == OFF}
    return [_parsed_feature(name, table) for name, table in tables.items()], entries | switches


def _parsed_feature(name: str, table: dict[str, Any]) -> Feature:
    if not isinstance(table, dict):
        raise InvalidSpec(f"Feature {name!r} must be a table, got {table!r}.")
    refuse_unknown(f"Feature {name!r}", table, (*_DEFAULTS, *_RENAMED))
    for key, (kinds, what) in _LISTS.items():
        values = table.get(key, [])
        if not isinstance(values, list):
            raise InvalidSpec(f"Feature {name!r}: {key} must be a list, got {values!r}.")
        if not all(isinstance(value, kinds) for value in values):
            raise InvalidSpec(f"Feature {name!r}: {key} must be {what}.")
    return Feature(name, **{_RENAMED.get(key, key): value for key, value in table.items()})


def toml_entries(space: ActionSpace) -> dict[str, Any]:
    """What an action file says above its features: all that differs from the defaults."""
    entries: dict[str, Any] = {} if space.desired is None else {"desired": space.desired}
    if space.limits is None:
        entries["limits"] = OFF
    if (space.steps is None) != (space.limits is None):
        entries["steps"] = space.steps or OFF
    if space.rules:
        entries["rules"] = [str(rule) for rule in space.rules]
    return entries


def toml_tables(space: ActionSpace) -> dict[str, dict[str, Any]]:
    """The table of each feature in an action file."""
    return {feature.name: _table_of(feature) for feature in space}


def _table_of(feature: Feature) -> dict[str, Any]:
    """What an action file says of a feature: all that differs from the defaults."""
    values = {key: getattr(feature, key) for key in (*_WHAT, *_WHEN, *_HOW_FAR)}
    if feature.categories == feature.columns:
        del values["categories"]
    shown = {key: list(v) if key in _LISTS else v for key, v in values.items()}
    return {k: v for k, v in shown.items() if k == "change" or values[k] != _DEFAULTS[k]}


def _whole(value: Any) -> Any:
    """A whole float as an integer, which is what a person would type."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

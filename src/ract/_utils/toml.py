"""The text of an action file: TOML with one table per feature."""

from __future__ import annotations

import textwrap
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from ract._utils.errors import InvalidSpec, listing, refuse_unknown
from ract._utils.printable import printable

Read = TypeVar("Read")

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


def read_toml(source: str | Path, read: Callable[[str], Read]) -> Read:
    """What is read from an action file; what is wrong with it comes with the file's name."""
    path = Path(source)
    try:
        return read(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{path} is not UTF-8 text: {error}.") from None
    except InvalidSpec as error:
        raise InvalidSpec(f"{path}: {error}") from None


def table_section(text: str) -> Any:
    """What ``[table]`` of an action file holds; nothing without one."""
    return parsed_toml(text).get("table", {})


def _section(section: Mapping[str, Any], said: Mapping[str, Sequence[str]]) -> str:
    plain = {key: value for key, value in section.items() if not isinstance(value, Mapping)}
    keys = [key.removeprefix("table.") for key in said if key.startswith("table.")]
    lines = ["[table]\n"]
    for key in dict.fromkeys((*plain, *keys, *section)):  # tables come last
        between = "\n" if isinstance(section.get(key), Mapping) else ""
        lines.append(between + _comment(said.get(f"table.{key}", ())))
        if key in section:
            held = tomli_w.dumps(
                {key: section[key]} if key in plain else {"table": {key: section[key]}}
            )
            lines.append(held.removeprefix("[table]\n"))
    return "".join(lines)


def _comment(lines: Sequence[str]) -> str:
    """Lines that a reader of TOML passes over, without the characters that it would refuse."""
    wrapper = textwrap.TextWrapper(
        96, initial_indent="# ", subsequent_indent="#   ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "".join(f"{wrapper.fill(printable(' '.join(line.split())))}\n" for line in lines)


def feature_tables(
    document: Mapping[str, Any], known: Sequence[str], above: Sequence[str]
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """What stands above all tables, and the table of each feature, checked for shape.

    Parameters
    ----------
    document : mapping
        Of an action file.
    known : sequence of str
        Keys that a feature may have.
    above : sequence of str
        Keys that may stand above all tables.
    """
    entries = (*above, "features", "table")
    unknown = set(document) - set(entries)
    if unknown:
        raise InvalidSpec(
            f"Unknown entry {listing(sorted(unknown))}; {listing(entries)} are known."
        )
    tables = document.get("features", {})
    if not isinstance(tables, dict) or not tables:
        raise InvalidSpec("The file declares no feature: a [features.NAME] table is needed.")
    for name, table in tables.items():
        _check_table(name, table, known)
    return {key: document[key] for key in above if key in document}, tables


def parsed_toml(text: str) -> dict[str, Any]:
    """The document that a text of TOML is."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the document"
        message = str(error).replace("at end of document", end)
        raise InvalidSpec(f"Malformed TOML: {message}.") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, brackets without end
        raise InvalidSpec(
            "Malformed TOML: a number or a list in it is beyond all bounds."
        ) from None


def _check_table(name: str, table: Any, known: Sequence[str]) -> None:
    if not isinstance(table, dict):
        raise InvalidSpec(f"Feature {name!r} must be a table, got {table!r}.")
    refuse_unknown(f"Feature {name!r}", table, known)
    for key in ("categories", "columns"):
        if key in table and not isinstance(table[key], list):
            raise InvalidSpec(f"Feature {name!r}: {key} must be a list, got {table[key]!r}.")
    if any(not isinstance(value, (str, int, float)) for value in table.get("categories", [])):
        raise InvalidSpec(f"Feature {name!r}: categories must be text, numbers or booleans.")
    if any(not isinstance(value, str) for value in table.get("columns", [])):
        raise InvalidSpec(f"Feature {name!r}: columns must be column names.")


def _whole(value: Any) -> Any:
    """A whole float as an integer, which is what a person would type."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

"""The text of an action file: TOML with one table per feature."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import tomli_w

from ract.errors import InvalidSpec, listing

HEADER = """\
# What a person may change. Edit freely:
#   kind    continuous | integer | binary | categorical
#   change  any | increase | decrease | fixed
#   lower, upper   values that an action may set
#   weight         effort of changing this feature relative to the others (1 if left out)
"""


def dump_toml(desired: Any, tables: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of an action file, from the table of each feature."""
    document: dict[str, Any] = {} if desired is None else {"desired": desired}
    document["features"] = {
        name: {key: _whole(value) for key, value in table.items()} for name, table in tables.items()
    }
    return HEADER + tomli_w.dumps(document)


def parse_toml(text: str, known: Sequence[str]) -> tuple[Any, dict[str, dict[str, Any]]]:
    """The desired class and the table of each feature, checked for shape.

    Parameters
    ----------
    text : str
    known : sequence of str
        Keys that a feature may have.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        end = f"at line {len(text.splitlines())}, the end of the document"
        message = str(error).replace("at end of document", end)
        raise InvalidSpec(f"Malformed TOML: {message}.") from None
    except (ValueError, RecursionError):  # numbers of thousands of digits, brackets without end
        raise InvalidSpec(
            "Malformed TOML: a number or a list in it is beyond all bounds."
        ) from None
    unknown = set(document) - {"desired", "features"}
    if unknown:
        raise InvalidSpec(
            f"Unknown entry {listing(sorted(unknown))}; 'desired' and 'features' are known."
        )
    tables = document.get("features", {})
    if not isinstance(tables, dict) or not tables:
        raise InvalidSpec("The file declares no feature: a [features.NAME] table is needed.")
    for name, table in tables.items():
        _check_table(name, table, known)
    return document.get("desired"), tables


def _check_table(name: str, table: Any, known: Sequence[str]) -> None:
    if not isinstance(table, dict):
        raise InvalidSpec(f"Feature {name!r} must be a table, got {table!r}.")
    unknown = [key for key in table if key not in known]
    if unknown:
        raise InvalidSpec(
            f"Feature {name!r} has unknown entry {listing(unknown)}; "
            f"known are {listing(known, 10)}."
        )
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

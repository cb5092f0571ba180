"""TOML files, and what is wrong with one in a sentence."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ract._utils.errors import InvalidSpec

Read = TypeVar("Read")


def read_toml(source: str | Path, read: Callable[[str], Read]) -> Read:
    """What is read from a TOML file; what is wrong with it comes with the file's name."""
    path = Path(source)
    try:
        return read(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise InvalidSpec(f"{path} is not UTF-8 text: {error}.") from None
    except InvalidSpec as error:
        raise InvalidSpec(f"{path}: {error}") from None


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

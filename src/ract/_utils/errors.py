"""The errors that users see: one sentence each, with the name, the value and what is allowed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable
from importlib import import_module
from types import ModuleType


class InvalidSpec(ValueError):
    """An action space, cost or parameter that is invalid or contradicts another one."""


class InvalidData(ValueError):
    """A table that does not fit what was declared or what was seen in training."""


class InvalidFile(ValueError):
    """A file that cannot be opened, or a model file that is damaged or of a newer version."""


def how_to_install(extra: str) -> str:
    """The command that installs what an extra needs, beside the ract that runs, wherever it is.

    >>> how_to_install("plot").endswith('-m pip install "ract[plot]"')
    True
    """
    python = f'"{sys.executable}"' if " " in sys.executable else sys.executable or "python"
    return f'{python} -m pip install "ract[{extra}]"'


def refuse_unknown(where: str, names: Iterable[str], known: Collection[str]) -> None:
    """Refuse entries of a file that mean nothing, such as misspelt ones."""
    if unknown := [name for name in names if name not in known]:
        raise InvalidSpec(
            f"{where} has unknown entry {listing(unknown)}; known are {listing(known, 20)}."
        )


def listing(names: object, limit: int = 5) -> str:
    """Names as people read them: quoted, comma separated, cut after ``limit``.

    >>> listing(["a", "b"])
    "'a', 'b'"
    """
    shown = [repr(name) for name in names]  # type: ignore[attr-defined]
    more = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {more} more" if more > 0 else "")


def error_text(error: Exception) -> str:
    """An error's message on one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".")


def optional_library(module: str, purpose: str, extra: str) -> ModuleType:
    """A module of a library that need not be installed, or a sentence about how to get it."""
    try:
        return import_module(module)
    except ImportError:
        library = module.split(".")[0]
        raise InvalidSpec(f"{library} is needed for {purpose}: {how_to_install(extra)}.") from None

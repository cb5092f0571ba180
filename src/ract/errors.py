"""The errors that users see: one sentence each, with the name, the value and what is allowed."""

from __future__ import annotations

from collections.abc import Collection, Iterable


class InvalidSpec(ValueError):
    """An action space, cost or parameter that cannot be meant as written."""


class InvalidData(ValueError):
    """A table that does not fit what was declared or what was seen in training."""


class InvalidFile(ValueError):
    """A model file that is damaged, that is no model file, or that a newer version wrote."""


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

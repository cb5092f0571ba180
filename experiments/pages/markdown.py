"""Markdown, in small pieces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table.

    >>> print(table(["a", "b"], [[1, 2]]))
    | a | b |
    |---|---|
    | 1 | 2 |
    """
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def spread(values: np.ndarray, digits: int = 3) -> str:
    """Mean and standard deviation over folds; of a single fold, the number alone.

    >>> spread(np.array([1.0, 2.0]))
    '1.500 ± 0.707'
    """
    values = np.asarray(values, dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return "n/a"
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"


def page(*parts: str) -> str:
    """Paragraphs and tables one below the other; empty ones are left out."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


class Notes:
    """Remarks below a table, each given once.

    >>> notes = Notes()
    >>> [notes.number(remark) for remark in ("late", "lost", "late")]
    ['(1)', '(2)', '(1)']
    >>> print(notes.text())
    (1) late
    <BLANKLINE>
    (2) lost
    """

    def __init__(self) -> None:
        self._remarks: list[str] = []

    def number(self, remark: str) -> str:
        """What to put into the table for a remark."""
        if remark not in self._remarks:
            self._remarks.append(remark)
        return f"({self._remarks.index(remark) + 1})"

    def text(self) -> str:
        """The remarks."""
        return "\n\n".join(f"({k}) {remark}" for k, remark in enumerate(self._remarks, 1))

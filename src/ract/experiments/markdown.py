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

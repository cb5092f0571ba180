"""Where in a long file something is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pandas as pd

from ract.cli.tables import name_of
from ract.errors import InvalidData


@contextmanager
def in_context(chunk: pd.DataFrame, source: str) -> Iterator[None]:
    """Say which rows of the file a complaint about row numbers is about."""
    try:
        yield
    except InvalidData as error:
        first, last = int(chunk.index[0]), int(chunk.index[-1])
        if first == 0:
            raise
        raise InvalidData(
            f"Among rows {first} to {last} of {name_of(source)}, counted from 0 there: {error}"
        ) from None

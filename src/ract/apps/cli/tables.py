"""Tables that commands are given: how they are written, and whether any row of them can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from ract._utils.errors import InvalidSpec
from ract.apps.cli.failures import BadInput
from ract.apps.cli.options import Csv
from ract.data.csv import TableFormat
from ract.data.csv.files import name_of


def given_by(csv: Csv) -> dict[str, Any]:
    """What the options say of how a table is written."""
    return {name: value for name, value in asdict(csv).items() if value is not None}


def format_of(csv: Csv, kept: TableFormat | None = None) -> TableFormat:
    """How a table is written: as options say, else as the action file or the model does."""
    try:
        return replace(kept or TableFormat(), **given_by(csv))
    except InvalidSpec as error:
        raise BadInput(f"--{str(error)[0].lower()}{str(error)[1:]}") from None


def refuse_unread(source: str, n_people: int, messages: Sequence[str]) -> None:
    """Refuse a table of which no row can be read, with what is wrong with the first."""
    if len(messages) == n_people:
        raise BadInput(f"No row of {name_of(source)} can be read. The first: {messages[0]}")

"""Options that several commands share; their words are those of the Python parameters."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

DataFile = Annotated[
    str, typer.Argument(metavar="DATA", help="CSV or Parquet file; - for standard input.")
]
PeopleFile = Annotated[
    str,
    typer.Argument(metavar="PEOPLE", help="CSV or Parquet file of people; - for standard input."),
]
ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.")]
Target = Annotated[
    str, typer.Option(help="Column that holds what was decided.", show_default=False)
]
Desired = Annotated[
    str | None, typer.Option(help="The class that people want; that of the action file by default.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option(help="Column to leave out, such as a name or a number. May be given again."),
]
Id = Annotated[
    str | None,
    typer.Option(help="Column that names the people; by default they are numbered from 0."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the summary as JSON on standard output.")]
Jobs = Annotated[int, typer.Option("--n-jobs", help="Threads; -1 for one on each core.")]
Delimiter = Annotated[
    str | None, typer.Option(help="What separates the columns of a CSV file; found out by default.")
]
Decimal = Annotated[str, typer.Option(help="Decimal mark of a CSV file.")]
Thousands = Annotated[str | None, typer.Option(help="Thousands mark of a CSV file.")]
Encoding = Annotated[str, typer.Option(help="Text encoding of a CSV file.")]


@dataclass(frozen=True)
class Csv:
    """How a CSV file is written."""

    delimiter: str | None = None
    decimal: str = "."
    thousands: str | None = None
    encoding: str = "utf-8"

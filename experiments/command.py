"""What the two commands of the experiments share: their options, and how they are run."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

from ract.apps.cli.messages import notes, sentences

ResultsFolder = Annotated[
    Path,
    typer.Option("-o", "--output", help="Folder of results; an earlier run there is continued."),
]
NProcesses = Annotated[int, typer.Option("--n-jobs", min=1, help="Processes.")]
NFolds = Annotated[int | None, typer.Option(help="Run only so many folds; all by default.")]
DataNames = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        help="fico, compas, credit or bail, or a table of --sendable; all by default. May be given "
        "again.",
    ),
]
Figures = Annotated[bool, typer.Option(help="Draw the figures.")]


def application(command: Callable[..., None]) -> typer.Typer:
    """A program of one command, whose failures are one sentence and an exit code."""

    @wraps(command)
    def run(*arguments: object, **options: object) -> None:
        with sentences(), notes():
            command(*arguments, **options)

    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(run)
    return app

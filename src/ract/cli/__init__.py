"""The command line: each command is one small module, imported when it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ract._version import __version__

app = typer.Typer(
    help="Decision trees and forests in which refused people have a way back.",
    no_args_is_help=True,
    add_completion=False,
)

DataNames = Annotated[
    list[str] | None,
    typer.Option("--data", help="fico, compas, credit or bail; may be repeated. All by default."),
]
ResultsFolder = Annotated[
    Path, typer.Option(help="Folder of results; one of an earlier run is taken up.")
]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"ract {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Options of the program as a whole."""


@app.command()
def demo(
    people: int = typer.Option(3, min=1, max=50, help="How many people to show."),
    budget: float = typer.Option(0.3, min=0.0, help="Largest acceptable cost of an action."),
    seed: int = typer.Option(0, help="Seed of the built-in data."),
) -> None:
    """Train a plain and a recourse-aware forest on built-in data and show people what to do."""
    from ract.cli.demo import run

    run(people, budget, seed)


@app.command()
def reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            help="forests, trees, complexity, budget-forests, budget-trees, exact, "
            "causal-forests, causal-trees; all of them by default."
        ),
    ] = None,
    data: DataNames = None,
    folds: Annotated[
        int | None, typer.Option(help="Only the first folds of each experiment.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: ResultsFolder = Path("ract-results"),
    recorded: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the authors' recorded results (or RACT_RECORDED), to compare with."
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write everything as one Markdown page.")
    ] = None,
    figures: Annotated[bool, typer.Option(help="Draw the figures.")] = True,
) -> None:
    """Run the paper's experiments on its data and compare with what its authors recorded."""
    from ract.cli.reproduce import run

    run(experiments or [], data or [], folds, jobs, out, recorded, report, figures)


@app.command()
def benchmark(
    data: DataNames = None,
    model: Annotated[
        list[str] | None, typer.Option(help="Only this model; may be repeated.")
    ] = None,
    folds: Annotated[int | None, typer.Option(help="Only the first folds.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    out: ResultsFolder = Path("ract-results"),
    figures: Annotated[bool, typer.Option(help="Draw the pictures.")] = True,
) -> None:
    """Compare our forest with what a user would deploy instead, without repeated rows."""
    from ract.cli.benchmark import run

    run(data or [], model or [], folds, jobs, out, figures)


def main() -> None:
    """Run the command line."""
    app()

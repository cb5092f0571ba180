"""The command line: each command is one small module.

A new command is a function in a module of its own, named in the list below. Its options come from
``options`` where others have them too; tables are read by ``tables``, results are written by
``outputs`` and told by ``telling``; errors are raised as they are, and ``failures`` makes sentences
of them. Modules of commands import nothing heavy at their top, so that ``ract --help`` answers at
once.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ract._version import __version__
from ract.cli.audit import audit
from ract.cli.certify import certify
from ract.cli.data import data
from ract.cli.export import export
from ract.cli.failures import Commands
from ract.cli.fit import fit
from ract.cli.import_model import import_model
from ract.cli.init import init
from ract.cli.predict import predict
from ract.cli.recourse import recourse
from ract.cli.tradeoff import tradeoff
from ract.cli.warmup import warmup

DEMO_PAGE = Path("ract-demo.html")

app = typer.Typer(
    cls=Commands,
    help="Decision trees and forests in which refused people have a way back.",
    epilog="The plain path: ract init, ract fit, ract recourse, ract audit; ract COMMAND --help "
    "has examples. Exit codes: 0 fine, 1 a bug in ract, 2 something in the input or the options "
    "is wrong, 3 the result could not be written, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
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
    report: Annotated[Path, typer.Option(help="Where to write the audit page.")] = DEMO_PAGE,
) -> None:
    """Train a plain and a recourse-aware forest on built-in data and show people what to do."""
    from ract.cli.demo import run

    run(people, budget, seed, report)


for command, name in (
    (init, "init"),
    (fit, "fit"),
    (predict, "predict"),
    (recourse, "recourse"),
    (tradeoff, "tradeoff"),
    (audit, "audit"),
    (certify, "certify"),
    (import_model, "import"),
    (export, "export"),
    (data, "data"),
    (warmup, "warmup"),
):
    app.command(name)(command)


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

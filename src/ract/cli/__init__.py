"""The command line: each command is one small module.

A new command is a function in a module of its own, named in the list below. Its options come from
``options`` where others have them too; tables are read by ``tables``, results are written by
``outputs`` and told by ``telling``; errors are raised as they are, and ``failures`` makes sentences
of them. Modules of commands import nothing heavy at their top, so that ``ract --help`` answers at
once.
"""

from __future__ import annotations

import typer

from ract._version import __version__
from ract.cli.data import data
from ract.cli.export import export
from ract.cli.failures import Commands
from ract.cli.fit import fit
from ract.cli.import_model import import_model
from ract.cli.init import init
from ract.cli.predict import predict
from ract.cli.recourse import recourse
from ract.cli.warmup import warmup

app = typer.Typer(
    cls=Commands,
    help="Decision trees and forests in which refused people have a way back.",
    epilog="The plain path: ract init, ract fit, ract recourse; ract COMMAND --help has examples. "
    "Exit codes: 0 fine, 1 a bug in ract, 2 something in the input or the options is wrong, "
    "3 the result could not be written, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


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


for command, name in (
    (init, "init"),
    (fit, "fit"),
    (predict, "predict"),
    (recourse, "recourse"),
    (import_model, "import"),
    (export, "export"),
    (data, "data"),
    (warmup, "warmup"),
):
    app.command(name)(command)


def main() -> None:
    """Run the command line."""
    app()

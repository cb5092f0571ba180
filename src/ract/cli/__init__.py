"""The command line: each command is one small module, imported when it runs."""

from __future__ import annotations

import typer

from ract._version import __version__

app = typer.Typer(
    help="Decision trees and forests in which refused people have a way back.",
    no_args_is_help=True,
    add_completion=False,
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


def main() -> None:
    """Run the command line."""
    app()

"""The command line: each command is one small module.

A new command is a function in a module of its own, named in the list below. Options that others
have too come from ``options``. ``inputs``, ``tables`` and ``columns`` read, ``outputs`` and
``letters`` write, ``messages`` says what was done. Errors are raised as they are, and ``failures``
turns them into one sentence. Modules of commands import nothing heavy at their top, so that
``ract --help`` answers at once.
"""

from __future__ import annotations

import signal

import typer

from ract._version import __version__
from ract.cli.audit import audit
from ract.cli.benchmark import benchmark
from ract.cli.certify import certify
from ract.cli.data import data
from ract.cli.demo import demo
from ract.cli.export import export
from ract.cli.failures import Commands
from ract.cli.fit import fit
from ract.cli.import_model import import_model
from ract.cli.init import init
from ract.cli.options import with_option_groups
from ract.cli.predict import predict
from ract.cli.recourse import recourse
from ract.cli.reproduce import reproduce
from ract.cli.tradeoff import tradeoff
from ract.cli.warmup import warmup

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


for command, name in (
    (demo, "demo"),
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
    (reproduce, "reproduce"),
    (benchmark, "benchmark"),
):
    app.command(name)(with_option_groups(command))


def main() -> None:
    """Run the command line; who ends it politely interrupts it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    app()

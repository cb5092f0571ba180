"""The command line: each command is one small module.

A new command is a function in a module of its own, named in the list below. Its parameters are its
options, with their help and limits in ``help.toml``; those that several commands have together are
classes in ``options``. ``inputs`` and ``tables`` read, ``outputs`` and ``notice_folder`` write,
``messages`` says what was done; ``searching`` has what ``recourse`` and ``notice`` share. Errors
are raised as they are, and ``messages`` turns them into one sentence. Modules of commands import
nothing heavy at their top, so that ``ract --help`` answers at once.
"""

from __future__ import annotations

import signal
import sys

import typer

from ract._utils.version import __version__
from ract.apps.cli import ledger  # noqa: F401 - adds its commands to those of promises
from ract.apps.cli.audit import audit_model
from ract.apps.cli.certify import certify_model
from ract.apps.cli.data import data
from ract.apps.cli.demo import demo
from ract.apps.cli.export import export
from ract.apps.cli.fit import fit_model
from ract.apps.cli.import_model import import_file
from ract.apps.cli.init import propose_actions
from ract.apps.cli.leak import leak
from ract.apps.cli.messages import INTERRUPTED, INTERRUPTION, Commands
from ract.apps.cli.notice import app as notices
from ract.apps.cli.options import command
from ract.apps.cli.predict import predict
from ract.apps.cli.promises import app as promises
from ract.apps.cli.reasons import explain_refusals
from ract.apps.cli.recourse import find_plans
from ract.apps.cli.serve import app as serve
from ract.apps.cli.tradeoff import tradeoff
from ract.apps.cli.warmup import warmup

app = typer.Typer(
    cls=Commands,
    help="Tree models that tell rejected applicants what to change, and prove it.",
    epilog="The usual order: ract init, ract fit, ract recourse, ract audit; ract COMMAND --help "
    "has examples. Exit codes: 0 success, 1 a bug in ract, 2 something in the input or the options "
    "is wrong, 3 the result could not be written, 4 a certificate was checked in parts only, or a "
    "model breaks promises, 130 interrupted.",
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


command(app, "demo")(demo)
command(app, "init")(propose_actions)
command(app, "fit")(fit_model)
command(app, "predict")(predict)
command(app, "recourse")(find_plans)
command(app, "reasons")(explain_refusals)
command(app, "tradeoff")(tradeoff)
command(app, "audit")(audit_model)
command(app, "certify")(certify_model)
command(app, "leak")(leak)
command(app, "import")(import_file)
command(app, "export")(export)
command(app, "data")(data)
command(app, "warmup")(warmup)
app.add_typer(promises, name="promises")
app.add_typer(serve, name="serve")
app.add_typer(notices, name="notice")


def main() -> None:
    """Run the command line; who ends it politely interrupts it."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except KeyboardInterrupt:  # it came before or after the command itself
        typer.echo(INTERRUPTION, err=True)
        sys.exit(INTERRUPTED)

"""What commands say: results on standard output, everything for people on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import typer

from ract._progress import progress_bar
from ract.cli.failures import BadInput


def say(text: str) -> None:
    """Print a sentence for people."""
    typer.echo(text, err=True)


def print_summary(summary: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    """Print a summary as JSON on standard output, or the sentence for people."""
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
    else:
        say(sentence)


def refuse_both(output: str | None, as_json: bool) -> None:
    """Standard output takes the result or the summary, not both."""
    if as_json and output == "-":
        raise BadInput("--json prints on standard output, so the result needs a file: -o FILE.")


def progress(words: str, *, show: bool = True) -> AbstractContextManager[Callable[[float], None]]:
    """A bar on standard error, if that is a terminal; its function takes the share done."""
    return progress_bar(words, show=show and sys.stderr.isatty(), transient=True)


def share(part: float) -> str:
    """A share in percent."""
    return f"{part:.1%}"

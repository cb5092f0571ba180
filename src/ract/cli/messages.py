"""What commands say: results on standard output, everything for people on standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import typer

from ract._progress import progress_bar
from ract.cli.failures import BadInput


def say(text: str) -> None:
    """A sentence for people."""
    typer.echo(text, err=True)


def tell(summary: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    """A summary for machines on standard output, or in a sentence for people."""
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
    else:
        say(sentence)


def refuse_both(target: str | None, as_json: bool) -> None:
    """Standard output takes the result or the summary, not both."""
    if as_json and target == "-":
        raise BadInput("--json prints on standard output, so the result needs a file: -o FILE.")


def progress(words: str, *, show: bool = True) -> AbstractContextManager[Callable[[float], None]]:
    """A bar on standard error, if that is a terminal; its function takes the share done."""
    return progress_bar(words, show=show and sys.stderr.isatty(), transient=True)


def open_model(path: Path) -> Any:
    """A model file, or a sentence about why it cannot be read."""
    from ract.cli.tables import readable
    from ract.persist import read_model_file

    with readable(path):
        return read_model_file(path)


def open_actions(path: Path | None) -> Any:
    """The space of an action file; None without one."""
    from ract.actions import ActionSpace
    from ract.cli.tables import readable

    if path is None:
        return None
    with readable(path):
        return ActionSpace.from_toml(path)


def share(part: float) -> str:
    """A share in percent."""
    return f"{part:.1%}"

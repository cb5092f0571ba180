"""What commands say: results on standard output, everything for people on standard error."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import typer

from ract._utils.errors import listing
from ract._utils.progress import progress_bar
from ract.apps.cli.failures import BadInput


def say(text: str) -> None:
    """Print a sentence for people."""
    typer.echo(text, err=True)


def print_summary(summary: Mapping[str, Any], sentence: str, *, as_json: bool) -> None:
    """Print a summary as JSON on standard output, or the sentence for people."""
    if as_json:
        typer.echo(json.dumps(summary, allow_nan=False))
    else:
        say(sentence)


def say_if_unrestricted(space: Any) -> None:
    """Say what plans assume when nobody has said what people may change.

    Parameters
    ----------
    space : ActionSpace
        One that was inferred restricts nothing.
    """
    if all(feature.change == "any" for feature in space):
        from ract.data.actions import AssumedActions

        warnings.simplefilter("ignore", AssumedActions)  # searches would say it again
        names = [feature.name for feature in space]
        say(
            f"Note: plans may change every column, in any direction and without the others: "
            f"{listing(names, 12)}. Nothing was said about what people cannot change; ract init "
            "writes an action file for that."
        )


def refuse_both(output: str | None, as_json: bool) -> None:
    """Standard output takes the result or the summary, not both."""
    if as_json and output == "-":
        raise BadInput("--json prints on standard output, so the result needs a file: -o FILE.")


def progress(words: str, *, show: bool = True) -> AbstractContextManager[Callable[[float], None]]:
    """A bar or lines on standard error; the function takes the share done."""
    return progress_bar(words, show=show, transient=True)


def percent(part: float) -> str:
    """A share in percent."""
    return f"{part:.1%}"

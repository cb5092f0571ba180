"""What commands say: results on standard output, everything for people on standard error.

A failure is one sentence, with an exit code for scripts.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec, listing

FINE, BUG, BAD_INPUT, NOT_WRITTEN, NOT_CHECKED, BROKEN, INTERRUPTED = 0, 1, 2, 3, 4, 4, 130
INTERRUPTION = "Interrupted; no file was left half written."


class BadInput(ValueError):
    """A file or an option that cannot be meant as given."""


class Commands(TyperGroup):
    """All commands, with their failures turned into sentences and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with sentences(), notes():
            return super().invoke(ctx)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn exceptions into one sentence and an exit code."""
    try:
        yield
    except KeyboardInterrupt:
        _end(INTERRUPTION, INTERRUPTED)
    except BrokenPipeError:  # whoever read standard output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FINE) from None
    except MemoryError:
        _end("There is not enough memory for this; nothing was written.", NOT_WRITTEN)
    except OSError as error:
        from ract.data.datasets import DataUnavailable

        if isinstance(error, DataUnavailable):
            _end(str(error), BAD_INPUT)
        where = f"{error.filename}: " if error.filename else ""
        _end(f"{where}{error.strerror or error}; nothing was written.", NOT_WRITTEN)
    except Exception as error:
        if isinstance(error, (BadInput, InvalidData, InvalidFile, InvalidSpec)):
            _end(str(error), BAD_INPUT)
        if type(error).__module__.split(".")[0] in ("click", "typer"):
            raise
        if os.environ.get("RACT_TRACEBACK") == "1":
            raise
        _end(
            f"Unexpected {type(error).__name__}: {' '.join(str(error).split())} This is a bug in "
            "ract; with RACT_TRACEBACK=1 in the environment it says where.",
            BUG,
        )


def _end(sentence: str, code: int) -> None:
    typer.echo(f"Error: {sentence}" if code != INTERRUPTED else sentence, err=True)
    raise typer.Exit(code) from None


@contextmanager
def notes() -> Iterator[None]:
    """Print warnings as notes, each once, and those of other libraries not at all."""
    printed: set[str] = set()

    def show(message: Any, category: Any, *_: Any) -> None:
        text = str(message)
        if issubclass(category, UserWarning) and text not in printed:
            printed.add(text)
            typer.echo(f"Note: {text}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show  # type: ignore[assignment]
        yield


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


def percent(part: float) -> str:
    """A share in percent."""
    return f"{part:.1%}"

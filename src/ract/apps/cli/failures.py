"""Failures as one sentence on standard error, with an exit code for scripts."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec

FINE, BUG, BAD_INPUT, NOT_WRITTEN, NOT_CHECKED, INTERRUPTED = 0, 1, 2, 3, 4, 130
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

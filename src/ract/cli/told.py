"""What went wrong, in a sentence, instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ract.datasets import DataUnavailable
from ract.errors import InvalidData, InvalidSpec


@contextmanager
def told() -> Iterator[None]:
    """End the program with a message when an input is not usable."""
    try:
        yield
    except (InvalidSpec, InvalidData, DataUnavailable) as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted; the folds that are done are kept.", err=True)
        raise typer.Exit(130) from None

"""Files that commands are given: models, action files, and why one cannot be opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ract.cli.failures import BadInput


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn a file that cannot be opened into one sentence."""
    if path.is_dir():  # Windows would call it a lack of permission
        raise BadInput(f"{path} is a folder, not a file.")
    try:
        yield
    except FileNotFoundError:
        raise BadInput(f"There is no file {path}.") from None
    except PermissionError:
        raise BadInput(f"{path} may not be read.") from None


def open_model(path: Path) -> Any:
    """A model file with its summary and certificates."""
    from ract.persist import read_model_file

    with readable(path):
        return read_model_file(path)


def open_decider(path: Path) -> Any:
    """The decisions of a model file, which take less to read than the model."""
    from ract.persist.decider import read_decider

    with readable(path):
        return read_decider(path)


def open_actions(path: Path | None) -> tuple[Any, Any]:
    """The action space of an action file and how its tables are written; None without one."""
    from ract.actions import ActionSpace
    from ract.tables import TableFormat

    if path is None:
        return None, None
    with readable(path):
        return ActionSpace.from_toml(path), TableFormat.from_toml(path)


def one_line(error: Exception) -> str:
    """An error's message on one line without a full stop."""
    return " ".join(str(error).split()).rstrip(".")

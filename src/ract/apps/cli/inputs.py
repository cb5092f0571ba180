"""Files that commands are given: models, action files, and why one cannot be opened."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ract._utils.files import readable

if TYPE_CHECKING:
    from ract.data.actions import ActionSpace
    from ract.data.csv import TableFormat


def open_model(path: Path) -> Any:
    """A model file with its summary and certificates."""
    from ract.io import read_model_file

    with readable(path):
        return read_model_file(path)


def open_decider(path: Path) -> Any:
    """The decisions of a model file, which take less to read than the model."""
    from ract.io.decider import read_decider

    with readable(path):
        return read_decider(path)


def open_actions(path: Path | None) -> tuple[ActionSpace | None, TableFormat | None]:
    """The action space of an action file and how its tables are written; None without one."""
    from ract.data.actions.file import read_action_file

    if path is None:
        return None, None
    with readable(path):
        return read_action_file(path)


def kept_cost(name: str, *, exact: bool) -> Any:
    """A cost by its name, to the last value if that is asked for and it makes a difference."""
    from dataclasses import replace

    from ract.data.costs import LogPercentileCost, PercentileCost, make_cost

    cost = make_cost(name)
    if exact and isinstance(cost, PercentileCost | LogPercentileCost):
        return replace(cost, exact=True)
    return name

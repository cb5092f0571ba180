"""What commands open: models, action files and ledgers, and how tables are written."""

from __future__ import annotations

import getpass
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ract._utils.errors import InvalidSpec, optional_library
from ract._utils.files import readable
from ract.apps.cli.messages import BadInput, say, say_if_unrestricted
from ract.apps.cli.options import Csv

if TYPE_CHECKING:
    from ract.apps.ledger import Ledger
    from ract.data.actions import ActionSpace
    from ract.data.costs import Cost
    from ract.data.csv import TableFormat
    from ract.io.decider import Decider
    from ract.io.load import ModelFile


def open_model(path: Path) -> ModelFile:
    """A model file with its summary and certificates."""
    from ract.io import read_model_file

    with readable(path):
        return read_model_file(path)


def open_for_plans(path: Path, csv: Csv) -> tuple[ModelFile, TableFormat]:
    """A model file and how its tables are written; what its plans assume is said."""
    file = open_model(path)
    say_if_unrestricted(file.model.encoder_.space)
    return file, format_of(csv, file.table)


def open_decider(path: Path) -> Decider:
    """The decisions of a model file, which take less to read than the model."""
    from ract.io.decider import read_decider

    with readable(path):
        return read_decider(path)


def open_actions(path: Path | None) -> tuple[ActionSpace | None, TableFormat | None]:
    """The action space of an action file and how its tables are written; None without one."""
    from ract._utils.toml import parsed_toml, read_toml
    from ract.data.actions import ActionSpace
    from ract.data.csv import TableFormat

    if path is None:
        return None, None

    def read(text: str) -> tuple[ActionSpace, TableFormat]:
        document = parsed_toml(text)
        space = ActionSpace.from_document(document)
        return space, TableFormat.of_record(document.get("table", {}))

    with readable(path):
        return read_toml(path, read)


def format_options(csv: Csv) -> dict[str, Any]:
    """What the options say of how a table is written."""
    return {name: value for name, value in asdict(csv).items() if value is not None}


def format_of(csv: Csv, default: TableFormat | None = None) -> TableFormat:
    """How a table is written: as options say, else as the action file or the model does."""
    from ract.data.csv import TableFormat

    try:
        return replace(default or TableFormat(), **format_options(csv))
    except InvalidSpec as error:
        raise BadInput(f"--{str(error)[0].lower()}{str(error)[1:]}") from None


def cost_named(name: str, *, exact: bool) -> str | Cost:
    """A cost by its name, to the last value if that is asked for and it makes a difference."""
    from ract.data.costs import LogPercentileCost, PercentileCost, make_cost

    cost = make_cost(name)
    if exact and isinstance(cost, PercentileCost | LogPercentileCost):
        return replace(cost, exact=True)
    return name


def open_ledger(
    where: str,
    mode: Literal["read", "write", "create"] = "write",
    *,
    upgrade: bool = True,
    **given: Any,
) -> Ledger:
    """The ledger in a file or a database, or a sentence about what to install."""
    require_libraries()
    from ract.apps.ledger import Ledger
    from ract.apps.ledger.store import OldLedger

    try:
        return Ledger(where, mode=mode, by=actor(), **given)
    except OldLedger:
        if not upgrade:
            raise
    with Ledger(where, mode="write", by=actor(), **given) as old:
        say(f"{where} is of ract 0.2; its events are signed now, by keys in {old.store.ring.path}.")
    return Ledger(where, mode=mode, by=actor(), **given)


def actor() -> str:
    """Who acts from the shell, as the ledger keeps it."""
    try:
        return f"{getpass.getuser()} (shell)"
    except (OSError, KeyError, ImportError):  # a container without names
        return "shell"


def require_libraries() -> None:
    """Say what to install, where a library that the ledger needs is not there."""
    for module in ("sqlalchemy", "cryptography"):
        optional_library(module, "promises", "promises")

"""The ledger that commands open, and who acts from the shell."""

from __future__ import annotations

import getpass
from typing import TYPE_CHECKING, Any, Literal

from ract._utils.errors import optional_library
from ract.apps.cli.messages import say

if TYPE_CHECKING:
    from ract.apps.ledger import Ledger

BROKEN = 4  # exit code: a model does not keep what was promised


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

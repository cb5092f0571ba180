"""What bodies of rules ask a notice to say, and whether a lender's file says it."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ract._utils.errors import InvalidSpec, listing
from ract._utils.toml import parsed_toml, read_toml
from ract.notices.settings import NoticeSettings


@dataclass(frozen=True)
class Pack:
    """The fields of a lender's file that one body of rules needs.

    Parameters
    ----------
    name, title : str
    applies : date
        The day from which the rules apply.
    needs : dict of str to str
        By field of ``[notice]``: its purpose.

    Examples
    --------
    >>> from ract.notices import Details, NoticeSettings
    >>> own = Details("Alpha Bank", "1 Main Street", contact="555 0100")
    >>> list(packs()["us-reg-b"].missing(NoticeSettings(details=own)))
    ['agency']
    """

    name: str
    title: str
    applies: datetime.date
    needs: dict[str, str]

    def missing(self, settings: NoticeSettings) -> dict[str, str]:
        """The fields that a file leaves empty, and what each is needed for."""
        details = settings.details
        return {name: why for name, why in self.needs.items() if not getattr(details, name).strip()}

    def check(self, settings: NoticeSettings) -> None:
        """Raise an error if a required field is empty.

        Raises
        ------
        InvalidSpec
            With the name of each such field, and what it is needed for.
        """
        if lacking := self.missing(settings):
            said = "; ".join(f"{name} ({why})" for name, why in lacking.items())
            raise InvalidSpec(f"[notice] lacks what {self.name} needs: {said}.")


@cache
def packs() -> dict[str, Pack]:
    """Every pack, by its name."""
    tables = read_toml(Path(__file__).with_name("packs.toml"), parsed_toml)
    return {name: Pack(name, **table) for name, table in tables.items()}


def pack(name: str) -> Pack:
    """A pack by its name.

    >>> pack("eu-ccd2").applies.isoformat()
    '2026-11-20'
    """
    if name not in packs():
        raise InvalidSpec(f"There is no pack {name!r}; there are {listing(packs(), 20)}.")
    return packs()[name]

"""What is asked of a search beyond the question itself, checked in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ract.errors import InvalidSpec, listing
from ract.recourse.common.limits import Limits, check_count

METHODS = ("exact", "leaves", "live", "solver")


def check_names(option: str, given: Any) -> tuple[Any, ...]:
    """What an option lists; a single text would be read as a list of its letters."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidSpec(f"{option} takes a list; write [{given!r}] and not {given!r}.")
    return tuple(given)


@dataclass(frozen=True)
class Options:
    """How to search and what to say of each person; parameters as in ``ract.find_recourse``."""

    method: str = "exact"
    limits: Limits = field(default_factory=Limits)
    margin: float = 0.0
    ranges: bool = False
    n_alternatives: int = 0
    explain: bool = True
    relations: tuple[Any, ...] = ()
    plausibility: Any = None
    effects: Any = None
    uncertainty: float | None = None
    strongest: bool = False
    at_least: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InvalidSpec(f"method must be one of {listing(METHODS)}, got {self.method!r}.")
        margin = self.margin
        if not (isinstance(margin, (int, float, np.number)) and 0 <= margin < 1):
            raise InvalidSpec(f"margin must be a share of 0 or more and below 1, got {margin!r}.")
        check_count("n_alternatives", self.n_alternatives)
        if self.strongest and (margin > 0 or self.at_least):
            raise InvalidSpec(
                "strength='most' cannot be asked for together with a margin or at_least."
            )
        if self.uncertainty is not None and self.effects is None:
            raise InvalidSpec("uncertainty is that of effects; give effects too.")

    @property
    def asked(self) -> dict[str, bool]:
        """Which of the options that not every search honours were asked for."""
        return {
            "effects": self.effects is not None,
            "plausibility": self.plausibility is not None,
            "relations": bool(self.relations),
            f"method={self.method!r}": self.method != "exact",
            "max_changes": self.limits.max_changes is not None,
            "max_nodes": self.limits.max_nodes is not None,
            "margin": self.margin > 0,
            "ranges": self.ranges,
            "n_alternatives": self.n_alternatives > 0,
            "strength='most'": self.strongest,
            "at_least": self.at_least,
        }

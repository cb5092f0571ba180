"""What is asked of a search beyond the question itself, checked in one place."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import refuse_removed
from ract.recourse.common.search import Limits, check_count
from ract.trees.ensemble import TreeEnsemble

TIME_LIMIT = 10.0  # seconds per person, by default
METHODS = ("exact", "leaves")
PREFERENCES = (None, "cheapest", "fewest")


@dataclass(frozen=True)
class Levels:
    """Several strengths, of which a plan has the highest that the person can have.

    A plan that holds for everyone who does more is not given up for a stronger one that does not.

    Parameters
    ----------
    shares : tuple of float
        Of the way from what the decision needs to certainty, ascending.
    beside : bool
        Keep the cheapest plan as a further one (``Plan.smaller``) where a stronger one is given.

    Examples
    --------
    >>> from ract.trees.ensemble import TreeEnsemble
    >>> forest = TreeEnsemble.joined([TreeEnsemble.stump(0, cut) for cut in range(4)], 3)
    >>> Levels((0.0, 0.4)).strengths(forest)
    [0.75, 0.85]
    """

    shares: tuple[float, ...] = ()
    beside: bool = False

    def strengths(self, ensemble: TreeEnsemble) -> list[float]:
        """The strengths of a model."""
        return [ensemble.strength_above(share) for share in self.shares]


@dataclass(frozen=True)
class Options:
    """How to search and what to say of each person; parameters as in ``ract.find_recourse``."""

    method: str = "exact"
    limits: Limits = field(default_factory=Limits)
    margin: float = 0.0
    ranges: bool = False
    n_alternatives: int = 0
    explain: bool = True
    at_least: bool = False
    prefer: str | None = None
    plausibility: Any = None
    effects: Any = None
    strongest: bool = False
    levels: Levels = field(default_factory=Levels)

    @classmethod
    def of(cls, **keywords: Any) -> Options:
        """Options from the keywords of ``ract.find_recourse``, limits among them."""
        limits = {name: keywords.pop(name) for name in Limits.names() if name in keywords}
        refuse_relations(keywords.pop("relations", ()))
        limited = Limits(**{"time_limit": TIME_LIMIT} | limits)
        return cls(limits=limited, **keywords)

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            refuse_removed(f"method={self.method!r}")
            raise InvalidSpec(f"method must be one of {listing(METHODS)}, got {self.method!r}.")
        if self.prefer not in PREFERENCES:
            raise InvalidSpec(f"prefer must be 'cheapest' or 'fewest', got {self.prefer!r}.")
        margin = self.margin
        if not (isinstance(margin, (int, float, np.number)) and 0 <= margin < 1):
            raise InvalidSpec(f"margin must be a share of 0 or more and below 1, got {margin!r}.")
        check_count("n_alternatives", self.n_alternatives)
        if self.strongest and (margin > 0 or self.at_least):
            raise InvalidSpec(
                "strength='most' cannot be asked for together with a margin or at_least."
            )

    @property
    def asked(self) -> dict[str, bool]:
        """Which of the options that not every search honours were asked for."""
        return {
            "effects": self.effects is not None,
            "plausibility": self.plausibility is not None,
            f"method={self.method!r}": self.method != "exact",
            "max_changes": self.limits.max_changes is not None,
            "max_nodes": self.limits.max_nodes is not None,
            "margin": self.margin > 0,
            "ranges": self.ranges,
            "n_alternatives": self.n_alternatives > 0,
            "strength='most'": self.strongest,
            "at_least": self.at_least,
            "prefer": self.prefer is not None,
        }


def refuse_relations(relations: Iterable[object]) -> None:
    """Refuse what was once an option."""
    if len(tuple(relations)):
        raise InvalidSpec(
            "relations is no longer an option: rules between features belong to the action "
            "space, as ActionSpace(features, rules=['Debt <= Income']) or "
            "actions=space.with_rules('Debt <= Income')."
        )

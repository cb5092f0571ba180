"""What is asked of a search beyond the question itself: options, and rules of single people."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import refuse_removed
from ract._utils.signature import refuse_unknown_keywords
from ract._utils.validation import BELOW_ONE, COUNT, NONE, check_value, one_of
from ract.data.actions import CHANGES, Change, Feature
from ract.data.encoder import Axis
from ract.recourse.common.search import Limits
from ract.trees.ensemble import TreeEnsemble

TIME_LIMIT = 10.0  # seconds per person, by default
METHODS, PREFERENCES = one_of("exact", "leaves"), one_of("cheapest", "fewest")

Override = str | Feature
Overrides = Mapping[Any, Mapping[str, Override]]
# What of a Feature may differ for one person.
_LIMITS = ("lower", "upper", "max_change", "max_relative", "step", "pace", "per", "delay")
_OVERRIDDEN = ("change", "weight", "missing", *_LIMITS)


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
        refuse_unknown_keywords("find_recourse", keywords, frozenset(f.name for f in fields(cls)))
        limited = Limits(**{"time_limit": TIME_LIMIT} | limits)
        return cls(limits=limited, **keywords)

    def __post_init__(self) -> None:
        if not METHODS.holds(self.method):
            refuse_removed(f"method={self.method!r}")
        check_value("method", self.method, METHODS)
        check_value("prefer", self.prefer, NONE, PREFERENCES)
        check_value("margin", self.margin, BELOW_ONE)
        check_value("n_alternatives", self.n_alternatives, COUNT)
        if self.strongest and (self.margin > 0 or self.at_least):
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


def rows_by_rules(
    rows: np.ndarray,
    labels: pd.Index,
    axes: Sequence[Axis],
    overrides: Overrides | None,
) -> Iterator[tuple[np.ndarray, tuple[Axis, ...]]]:
    """Rows with the same rules, and the rules.

    Parameters
    ----------
    rows : int array
        Positions of the people to search for.
    labels : Index
        Labels of all people.
    axes : sequence of Axis
        The rules of everyone else.
    overrides : mapping, optional
        By label: features that differ, as a direction or a Feature. What a Feature leaves at its
        default stays as it is, the direction too (the text "any" allows both); its categories are
        those that the person may enter. What is fixed for everyone cannot be freed for one.

    Examples
    --------
    >>> axes = (Axis(Feature("age"), (0,)), Axis(Feature("job"), (1,)))
    >>> groups = rows_by_rules(np.arange(3), pd.RangeIndex(3), axes, {1: {"job": "fixed"}})
    >>> [(rows.tolist(), own[1].feature.change) for rows, own in groups]
    [([0, 2], 'any'), ([1], 'fixed')]
    """
    if not overrides:
        if len(rows):
            yield rows, tuple(axes)
        return
    unknown = [label for label in overrides if label not in labels]
    if unknown:
        raise InvalidSpec(f"overrides name {listing(unknown)}, who is not among the people.")
    plain = (one.item() if isinstance(one, np.generic) else one for one in overrides)
    by_label = zip(plain, overrides.values(), strict=True)
    rules = {_key(rule): _overridden(axes, rule, label) for label, rule in by_label}
    rules[()] = tuple(axes)
    members: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row in rows:
        members[_key(overrides.get(labels[row], {}))].append(int(row))
    for key, positions in members.items():
        yield np.array(positions), rules[key]


def _key(override: Mapping[str, Override]) -> tuple[Any, ...]:
    return tuple(sorted((name, repr(rule)) for name, rule in override.items()))


def _overridden(
    axes: Sequence[Axis], override: Mapping[str, Override], label: object
) -> tuple[Axis, ...]:
    names = [axis.feature.name for axis in axes]
    unknown = [name for name in override if name not in names]
    if unknown:
        raise InvalidSpec(
            f"The override of {label!r} names {listing(unknown)}; features are "
            f"{listing(names, 30)}."
        )
    return tuple(
        _ruled(axis, override[axis.feature.name], label) if axis.feature.name in override else axis
        for axis in axes
    )


def _ruled(axis: Axis, rule: Override, label: object) -> Axis:
    """An axis under the rule of one person."""
    feature = axis.feature
    if not isinstance(rule, Feature):
        if rule not in CHANGES:
            raise InvalidSpec(
                f"The override of {label!r} says {rule!r} for {feature.name!r}; it takes a Feature "
                f"or one of {listing(CHANGES)}."
            )
        _refuse_freeing(feature, rule, label)
        return replace(axis, feature=feature.moving(cast(Change, rule)))
    fixed = ("name", "kind", "columns", "supply_cost")
    for name in fixed if axis.has_missing else (*fixed, "missing"):
        given, known = getattr(rule, name), getattr(feature, name)
        if given not in (None, "", ()) and given != known:
            raise InvalidSpec(
                f"The override of {label!r} gives {feature.name!r} the {name} {given!r}; it is "
                f"{known!r} and cannot differ for one person."
            )
    unset = Feature(feature.name)
    if rule.change != unset.change:
        _refuse_freeing(feature, rule.change, label)
    given = {
        name: getattr(rule, name)
        for name in _OVERRIDDEN
        if getattr(rule, name) != getattr(unset, name)
    }
    if rule.missing == "stays":
        axis = axis.without_supply()
        feature = axis.feature
    feature = feature.moving(given.pop("change", feature.change))
    return replace(axis, feature=replace(feature, **given), entered=_entered(axis, rule, label))


def _refuse_freeing(feature: Feature, change: str, label: object) -> None:
    """Refuse to free one person's feature that is fixed for everyone."""
    if change != "fixed" and not feature.actionable:
        raise InvalidSpec(
            f"The override of {label!r} says {change!r} for {feature.name!r}, which the action "
            "space fixes for everyone; an override cannot free it."
        )


def _entered(axis: Axis, rule: Feature, label: object) -> tuple[int, ...] | None:
    """Positions of the categories that a person may enter."""
    known = axis.feature.categories
    if not rule.categories or rule.categories == rule.columns:
        return axis.entered
    unknown = [category for category in rule.categories if category not in known]
    if unknown:
        raise InvalidSpec(
            f"The override of {label!r} lists {listing(unknown)} for {axis.feature.name!r}; its "
            f"categories are {listing(known, 20)}."
        )
    return tuple(known.index(category) for category in rule.categories)

"""What had to be assumed because nobody declared it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Sequence

from ract._utils.errors import listing
from ract.data.actions.feature import Feature


class AssumedActions(UserWarning):
    """What people may change was not declared; the message says what was assumed instead."""


def warn_of(assumed: Sequence[str]) -> None:
    """Warn of assumptions, if there are any."""
    if assumed:
        warnings.warn(
            f"What people may change was not declared in full, so {'; '.join(assumed)}. Say "
            "otherwise in an ActionSpace.",
            AssumedActions,
            stacklevel=3,
        )


def every_feature(space: Collection[Feature]) -> list[str]:
    """That everything may change that is not fixed."""
    free = [feature.name for feature in space if feature.actionable]
    other = "" if len(free) == len(space) else "other "
    return [f"every {other}feature may change, {listing(free)}"] if free else []


def fixed_names(names: Sequence[str]) -> list[str]:
    """That features are fixed since their names say so."""
    return [f"{listing(names)} is fixed, by the name"] if names else []


def one_feature(groups: Iterable[Feature]) -> list[str]:
    """That columns are one feature."""
    return [
        f"{listing(group.columns)} are one feature, {group.name!r}, since exactly one of them is 1 "
        "in every row"
        for group in groups
    ]


def separate_flags(space: Iterable[Feature]) -> list[str]:
    """That columns of 0 and 1 are features of their own."""
    binary = [feature.name for feature in space if feature.kind == "binary" and feature.actionable]
    if len(binary) < 2:
        return []
    return [f"columns of 0 and 1 are separate even if they encode one feature, {listing(binary)}"]

"""Weighted sums of features that programs keep."""

from __future__ import annotations

from collections.abc import Sequence

from ract._utils.errors import InvalidSpec
from ract.data.actions.rules import LinearRelation, Rule, check_rules, rule_of
from ract.data.encoder import Axis


def read_relations(
    relations: Sequence[Rule | str], axes: Sequence[Axis]
) -> tuple[list[LinearRelation], dict[str, int]]:
    """Relations, and the encoded column of every feature that is a number.

    Refused are relations of features that are none, or whose numbers may be missing.
    """
    numbers = {axis.feature.name: axis.columns[0] for axis in axes if not axis.is_categorical}
    read = []
    for relation in map(rule_of, relations):
        if not isinstance(relation, LinearRelation):
            raise InvalidSpec(f"Programs take rules that are sums of features, not '{relation}'.")
        read.append(relation)
    check_rules(read, [axis.feature for axis in axes])
    both = [
        LinearRelation({name: -c for name, c in relation.coefficients.items()}, -relation.upper)
        for relation in read
        if relation.equal
    ]
    return [*read, *both], numbers

"""What mending a reason does where rules join features: nothing is said that a rule could undo.

Rules only take actions away. So what is not enough without them is not enough; what would be is
said where every value of the range keeps the rules with all else as it is, and else is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ract.data.actions.rules import IfThen
from ract.recourse.question import Question
from ract.recourse.reasons.mending import Mending


def under_rules(
    question: Question, rows: Sequence[int], axes: Sequence[int], found: Sequence[Mending]
) -> list[Mending]:
    """The same mendings, without what a rule between features might not allow."""
    features = question.encoder.axes
    ends = question.matrix[np.repeat(rows, 2)]
    for k, (a, mending) in enumerate(zip(axes, found, strict=True)):
        columns = list(features[a].columns)
        for at, value in ((2 * k, mending.first), (2 * k + 1, mending.last)):
            if not np.isnan(value):
                one_hot = np.arange(len(columns)) == value
                ends[at, columns] = one_hot if features[a].is_categorical else value
    kept = question.keeps_rules(np.repeat(rows, 2), ends).reshape(-1, 2).min(axis=1)
    return [
        _known(mending, bool(kept[k]), _whole(question, features[a].feature.name))
        for k, (a, mending) in enumerate(zip(axes, found, strict=True))
    ]


def _known(mending: Mending, kept: bool, whole: bool) -> Mending:
    """What is known of a mending whose two ends keep the rules or not."""
    mending = replace(mending, with_others=None if mending.with_others else mending.with_others)
    if not mending.alone or (kept and whole):
        return mending
    return Mending(None, mending.with_others, accepted_share=mending.accepted_share)


def _whole(question: Question, name: str) -> bool:
    """Whether all rules hold between two values of a feature at which they do.

    So it is of sums and of bounds, but not of single values, nor of rules that name it twice.
    """
    return not any(
        isinstance(rule, IfThen)
        and (
            rule.condition.feature == name == rule.consequence.feature
            or any(
                each.feature == name and each.sign in ("=", "!=")
                for each in (rule.condition, rule.consequence)
            )
        )
        and not _is_categorical(question, name)
        for rule in question.joint_rules
    )


def _is_categorical(question: Question, name: str) -> bool:
    return any(axis.feature.name == name and axis.is_categorical for axis in question.encoder.axes)

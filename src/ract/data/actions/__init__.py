"""What a person may change: features, their kinds, directions, bounds and weights."""

from ract.data.actions.feature import CHANGES, Change, Feature
from ract.data.actions.infer import AssumedActions, check_kind
from ract.data.actions.rules import Condition, IfThen, LinearRelation, NoTransition
from ract.data.actions.space import ActionSpace, budget_for, unrestricted, warn_of_unrestricted

__all__ = [
    "CHANGES",
    "ActionSpace",
    "AssumedActions",
    "Change",
    "Condition",
    "Feature",
    "IfThen",
    "LinearRelation",
    "NoTransition",
    "budget_for",
    "check_kind",
    "unrestricted",
    "warn_of_unrestricted",
]

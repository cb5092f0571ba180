"""What a person may change: features, their kinds, directions, bounds and weights."""

from ract.actions.assumed import AssumedActions
from ract.actions.blanks import check_kind
from ract.actions.feature import CHANGES, Change, Feature
from ract.actions.space import ActionSpace, unrestricted, warn_of_unrestricted

__all__ = [
    "CHANGES",
    "ActionSpace",
    "AssumedActions",
    "Change",
    "Feature",
    "check_kind",
    "unrestricted",
    "warn_of_unrestricted",
]

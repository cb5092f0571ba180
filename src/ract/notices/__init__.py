"""Notices: why someone was refused, and what would have changed it, on one page."""

from ract.notices.notice import Notices
from ract.notices.plans import along_reasons, few_changes
from ract.notices.settings import Code, Details, FeatureText, NoticeSettings

__all__ = [
    "Code",
    "Details",
    "FeatureText",
    "NoticeSettings",
    "Notices",
    "along_reasons",
    "few_changes",
]

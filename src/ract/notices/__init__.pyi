from .notice import Notices as Notices
from .settings import Code as Code
from .settings import Details as Details
from .settings import FeatureText as FeatureText
from .settings import NoticeSettings as NoticeSettings
from .ways import with_sufficient as with_sufficient

__all__ = [
    "Code",
    "Details",
    "FeatureText",
    "NoticeSettings",
    "Notices",
    "with_sufficient",
]

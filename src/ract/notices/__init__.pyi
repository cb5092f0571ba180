from .notice import Notices as Notices
from .packs import Pack as Pack
from .packs import pack as pack
from .packs import packs as packs
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
    "Pack",
    "pack",
    "packs",
    "with_sufficient",
]

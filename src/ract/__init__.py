"""Tree models that tell rejected applicants what to change, and prove it.

What is public stands in ``__init__.pyi``; it is imported on first use.
"""

import lazy_loader

from ract._utils.moved import install as _let_old_names_be_found
from ract._utils.moved import with_old_names as _with_old_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = _with_old_names(__name__, _find)

_let_old_names_be_found()

"""Tree models that tell rejected applicants what to change, and prove it.

What is public stands in ``__init__.pyi``; it is imported on first use.
"""

import lazy_loader

from ract._utils.moved import install as _let_old_names_be_found

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

_let_old_names_be_found()

"""From a table to encoded columns, what people may change, and what it costs.

What is public stands in ``__init__.pyi``; it is imported on first use.
"""

import lazy_loader

from ract._utils.moved import with_old_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__getattr__ = with_old_names(__name__, _find)

"""What estimators ask of this sub-package, loaded on first use: fitting needs none of it.

The names stand in ``for_models.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)

"""Models of other libraries, read exactly: every tree classifier becomes a TreeEnsemble.

What others ask of it stands in ``__init__.pyi``; it is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

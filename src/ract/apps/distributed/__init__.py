"""More people than fit on one machine: a function from frame to frame, and engines that map it.

What is public stands in ``__init__.pyi``; it is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

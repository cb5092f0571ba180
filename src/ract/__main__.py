"""``python -m ract`` is ``ract``."""

from __future__ import annotations

from ract.cli import main

if __name__ == "__main__":
    main()

"""``python -m ract`` is ``ract``."""

from __future__ import annotations

from ract.apps.cli import main

if __name__ == "__main__":
    try:
        main()
    finally:
        # An interrupt that met text being run (as when a dataclass is made) marks the process to
        # end by the signal, handled or not, instead of with its exit code. Text that ends well
        # takes the mark back.
        exec("")

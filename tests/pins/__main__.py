"""Rewrite the expected texts of named pins: ``python -m tests.pins commands/options.json``.

Only for a change that was meant; the commit says which point allows it.
"""

import sys
import tempfile
from pathlib import Path

from tests.pins import PINS
from tests.pins.names import EXPECTED

for name in sys.argv[1:]:
    with tempfile.TemporaryDirectory() as folder:
        (EXPECTED / name).write_text(PINS[name](Path(folder)), encoding="utf-8")

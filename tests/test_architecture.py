"""The architecture page counts walks as the script does."""

import re
from pathlib import Path

import pytest

from benchmarks.structure import WALKS, walked

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_the_page_has_the_true_counts(walk):
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| `?{re.escape(walk)}`? \| (\d+) \| (\d+) \|", page, re.MULTILINE)
    assert row, f"no row of {walk}"
    assert walked(ROOT, WALKS[walk]) == (int(row[1]), int(row[2]))

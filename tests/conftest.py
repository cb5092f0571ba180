"""Shared fixtures: where the real data are, if anywhere."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_home():
    """Folder with the four data sets of the paper."""
    named = os.environ.get("RACT_DATA_HOME")
    folder = Path(named) if named else SHARED / "data"
    if not (folder / "fico.csv").exists():
        pytest.skip("the paper's data sets are not here; set RACT_DATA_HOME to their folder")
    return folder

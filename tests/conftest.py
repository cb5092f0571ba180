"""Shared fixtures: where the real data are, if anywhere, and a browser."""

from __future__ import annotations

import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Numba notices a change of a kernel's own file but not of the files that it calls into. Compiled
# code for tests is therefore kept by the state of all kernels, and by Numba's version, since two
# environments would overwrite each other's. Set before Numba is imported.
_sources = sorted((ROOT / "src" / "ract" / "_kernels").rglob("*.py"))
_state = hashlib.sha256(b"".join(path.read_bytes() for path in _sources)).hexdigest()[:16]
_kept = ROOT / ".numba_cache" / f"{_state}-{version('numba')}"
os.environ.setdefault("NUMBA_CACHE_DIR", str(_kept))

import numpy as np  # noqa: E402
import pytest  # noqa: E402

pytest.register_assert_rewrite("tests.builders")

SHARED = ROOT.parent / "shared"

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")  # kernels count on unsigned integers wrapping around


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


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A real browser without a window."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("needs chromium and chromedriver on the path")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (
        "headless=new", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        f"user-data-dir={tmp_path_factory.mktemp('browser')}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    yield started
    started.quit()

"""Shared fixtures: where the real data are, if anywhere, a browser, a PostgreSQL server."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import subprocess
import tempfile
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

from tests.compiled import compile_in_turn  # noqa: E402 - before Numba is imported

# Models of other libraries are small here, and each core has its own worker: threads would mostly
# wait for each other, at full speed. Read when those libraries are loaded, in subprocesses too.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import typer.testing  # noqa: E402

pytest.register_assert_rewrite("tests.builders")

SHARED = ROOT.parent / "shared"

if os.environ.get("NUMBA_DISABLE_JIT") == "1":
    np.seterr(over="ignore")  # kernels count on unsigned integers wrapping around


compile_in_turn()

# Its runner would make all commands anew for each one that it runs.
typer.testing._get_command = cache(typer.main.get_command)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What there is of tests stays until the end; nothing of it is garbage to look through."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


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


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The text of axe-core, a checker of accessibility, as npm has it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core comes with npm, which is not installed")
    folder = tmp_path_factory.mktemp("axe")
    words = [npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
    try:
        subprocess.run(words, check=True, capture_output=True, timeout=120)
    except (subprocess.SubprocessError, OSError):
        pytest.skip("npm could not get axe-core")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def faults_of_page(browser, axe):
    """What axe-core finds on the page that the browser shows, in light and dark colours."""

    def faults():
        found = []
        for scheme in ("dark", "light"):
            wish = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", wish)
            # What the page may not run itself, the driver puts in.
            browser.execute_script(axe)
            violations = browser.execute_async_script(
                "const done = arguments[0]; axe.run(document).then((r) => done(r.violations));"
            )
            found += [
                (scheme, one["id"], [node["html"] for node in one["nodes"]]) for one in violations
            ]
        return found

    return faults


class Postgres:
    """A PostgreSQL server of our own, on loopback; nothing of it is left after ``close``."""

    def __init__(self):
        found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
        if initdb is None:
            pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
        self.folder = Path(tempfile.mkdtemp(prefix="ract-postgres-"))
        # The server refuses to run as root, and so runs as the user that its package has made.
        self.user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        if self.user:
            shutil.chown(self.folder, "postgres")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.control, self.data = Path(initdb).with_name("pg_ctl"), self.folder / "data"
        self.run(initdb, "-D", self.data, "-A", "trust", "-U", "ract", "-N")

    @property
    def address(self):
        """Of an empty database."""
        return f"postgresql+psycopg://ract@127.0.0.1:{self.port}/postgres"

    def start(self):
        """Begin, after a crash too, and wait for it."""
        listen = f"-c listen_addresses=127.0.0.1 -p {self.port} -k {self.folder}"
        self.run(self.control, "-D", self.data, "-w", "-o", listen, "start")

    def kill(self):
        """Kill the server and everything that it has started, at once."""
        psutil = pytest.importorskip("psutil")
        server = psutil.Process(int((self.data / "postmaster.pid").read_text().split()[0]))
        server.suspend()  # so that it starts nothing more
        killed = [server, *server.children(recursive=True)]
        for process in killed:
            process.kill()
        psutil.wait_procs(killed, 30)

    def close(self):
        """End, if it runs."""
        if (self.data / "postmaster.pid").exists():
            self.run(self.control, "-D", self.data, "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words):
        """Run one of the server's own programs."""
        words = [*self.user, *map(str, words)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)


@pytest.fixture(scope="session")
def postgres():
    """The address of an empty database on a server of our own; skipped where there is none."""
    server = Postgres()
    try:
        server.start()
        yield server.address
    finally:
        server.close()


@pytest.fixture
def mortal_postgres():
    """A server of a test's own, which it may kill and start again."""
    server = Postgres()
    try:
        server.start()
        yield server
    finally:
        server.close()

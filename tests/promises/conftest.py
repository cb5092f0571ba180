"""A real PostgreSQL server for the ledger, started here and stopped at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest

from ract import RecourseForestClassifier
from ract.datasets import load_loans


@pytest.fixture(scope="session")
def postgres():
    """The address of an empty database on a server of our own; skipped where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    initdb = shutil.which("initdb") or (str(found[-1]) if found else None)
    if initdb is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="ract-postgres-"))
    # The server refuses to run as root, and so runs as the user that its package has made.
    user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if user:
        shutil.chown(folder, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    control = str(Path(initdb).with_name("pg_ctl"))
    run = {"check": True, "stdout": subprocess.DEVNULL, "cwd": folder}
    data = str(folder / "data")
    subprocess.run([*user, initdb, "-D", data, "-A", "trust", "-U", "ract", "-N"], **run)
    listen = f"-c listen_addresses=127.0.0.1 -p {port} -k {folder}"
    subprocess.run([*user, control, "-D", data, "-w", "-o", listen, "start"], **run)
    try:
        yield f"postgresql+psycopg://ract@127.0.0.1:{port}/postgres"
    finally:
        subprocess.run([*user, control, "-D", data, "-m", "immediate", "stop"], **run)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def loans():
    return load_loans(n_people=900)


@pytest.fixture(scope="session")
def model(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=15, recourse_weight=0.3, random_state=0
    )
    return forest.fit(loans.frame[:600], loans.target[:600])


@pytest.fixture(scope="session")
def plans(model, loans):
    """Plans of the first refused people, keyed A-0, A-1, ..."""
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(12)
    refused = refused.set_axis([f"A-{k}" for k in range(len(refused))])
    return model.recourse(refused, strength=0.7, at_least=True)

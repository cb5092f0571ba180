"""A service with a small model of the loans data: in this process, and as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ract import OutcomeJudge, RecourseForestClassifier, save_model
from ract.apps.ledger import Ledger
from ract.apps.web import App, Settings
from ract.apps.web.keys import ROLES
from ract.apps.web.live import PersonalRules
from ract.apps.web.service import publish_model
from ract.apps.web.state import ServiceState
from ract.data.datasets import load_loans
from tests.builders import timeless

with warnings.catch_warnings():
    # Newer versions would rather have httpx2, which older ones do not know.
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A model that gives reasons and has kept a judge, and one of other people."""
    folder = tmp_path_factory.mktemp("models")
    for name, seed in (("model", 0), ("candidate", 7)):
        loans = timeless(load_loans(700, random_state=seed))
        forest = RecourseForestClassifier(
            loans.actions, n_estimators=10, recourse_weight=0.3, random_state=seed,
        )  # fmt: skip
        judge = OutcomeJudge(loans.actions, desired="approved", n_splits=2)
        save_model(
            forest.fit(loans.frame, loans.target), folder / f"{name}.ract",
            judge=judge.fit(loans.frame, loans.target), keep_reference=loans.frame,
        )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def people():
    """Rows of made-up people."""
    return load_loans(60, random_state=1).frame.round(0).to_dict("records")


@dataclass
class Served:
    """A service in this process, and a key for each role."""

    client: TestClient
    app: App
    keys: dict[str, str]
    folder: Path

    def __call__(self, method: str, path: str, role: str | None = "case-worker", **given: Any):
        headers = dict(given.pop("headers", {}))
        if role is not None:
            headers["authorization"] = f"Bearer {self.keys.get(role, role)}"
        return self.client.request(method, path, headers=headers, **given)

    @property
    def service(self):
        return self.app.service


@pytest.fixture
def serve(files, tmp_path):
    """Starts a service with some settings."""
    opened = []

    def start(**given: Any) -> Served:
        settings = Settings(str(tmp_path / "promises.db"), str(tmp_path / "model.ract"), **given)
        content = (files / "model.ract").read_bytes()
        Path(settings.model).write_bytes(content)
        with Ledger(settings.ledger) as ledger:
            state = ServiceState(ledger.store)
            publish_model(ledger, state, content, by="Test")
            keys = {role: state.add_key(role, f"The {role}", by="Test") for role in ROLES}
        app = App(settings)
        client = TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)
        client.__enter__()
        opened.append(client)
        return Served(client, app, keys, tmp_path)

    yield start
    for client in opened:
        client.__exit__(None, None, None)


@pytest.fixture
def served(serve):
    """A service with the usual settings."""
    return serve()


@pytest.fixture
def refused(served, people):
    """The case of someone who is refused and has a plan, and their link."""
    for i, row in enumerate(people):
        (made,) = served.service.decide([f"A-{i}"], [row], True, "Test")
        if not made.accepted:
            case = served.service.cases.get(made.case)
            if served.service.ways(case, PersonalRules()).each:
                served.client.get(served.service.link(case)[0])
                return case
    raise AssertionError("nobody has a plan")


@dataclass
class Running:
    """A service as a process of its own."""

    address: str
    keys: dict[str, str]
    process: subprocess.Popen
    log: Path


@contextmanager
def running(model: Path, ledger: str, log: Path, *options: str):
    """``ract serve`` until the end, on a free port."""
    with Ledger(ledger) as book:
        state = ServiceState(book.store)
        keys = {role: state.add_key(role, f"The {role}", by="Test") for role in ROLES}
    words = [sys.executable, "-m", "ract", "serve", str(model), "--ledger", ledger, "--port", "0"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with log.open("w") as file:
        process = subprocess.Popen(
            [*words, *options], stdin=subprocess.DEVNULL, stdout=file, stderr=file,
            env=environment, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + 120
        while "Application startup complete" not in (text := log.read_text()):
            assert process.poll() is None and time.monotonic() < deadline, text
            time.sleep(0.1)
        yield Running(re.search(r"Serving on (\S+);", text)[1], keys, process, log)
    finally:
        process.terminate()
        process.wait(300)  # a worker that is just starting is waited for


@pytest.fixture(scope="session")
def run_service():
    """``running`` for tests in other modules."""
    return running

"""The service as a process: what it does when it is sent a signal."""

import os
import shutil
import signal
import sys
import time

import httpx
import pytest


def wait_for(log, text):
    """Wait until the log of a service says something."""
    deadline = time.monotonic() + 120
    while text not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGHUP")
@pytest.mark.parametrize(
    "options", [(), pytest.param(("--workers", "2"), marks=pytest.mark.slow)], ids=["one", "two"]
)
def test_a_hangup_reads_the_model_file_again_through_the_guard(
    options, files, people, tmp_path, run_service
):
    model, ledger = tmp_path / "model.ract", str(tmp_path / "promises.db")
    shutil.copy(files / "model.ract", model)
    with run_service(model, ledger, tmp_path / "log.txt", *options) as service:
        headers = {"authorization": f"Bearer {service.keys['admin']}"}
        with httpx.Client(
            base_url=service.address, headers=headers, timeout=60, trust_env=False
        ) as http:
            offered = [{"person": f"A-{k}", "values": row} for k, row in enumerate(people[:30])]
            assert http.post("/promises", json={"people": offered}).status_code == 201
            before = http.get("/audit").json()["model"]
            shutil.copy(files / "candidate.ract", model)
            os.kill(service.process.pid, signal.SIGHUP)
            wait_for(service.log, "The model of before goes on")
            assert http.get("/audit").json()["model"] == before
            for one in offered:
                http.delete(f"/people/{one['person']}")
            os.kill(service.process.pid, signal.SIGHUP)
            wait_for(service.log, "decides now; it keeps 0 of 0 open promises.")
            wait_for(service.log, "Model 2 decides now.")
            assert http.get("/audit").json()["model"] != before

"""The service as processes of their own: what is acknowledged is kept, whatever happens to them."""

import os
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
from sqlalchemy import create_engine, text

from ract.promises import Ledger


@pytest.fixture
def empty_postgres(postgres):
    """The address of a PostgreSQL database without tables."""
    engine = create_engine(postgres)
    with engine.begin() as db:
        db.execute(text("DROP SCHEMA public CASCADE"))
        db.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return postgres


def workers_of(parent):
    """Worker processes of a service that answer requests."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(parent)], capture_output=True, text=True
    )
    lines = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, words in lines if "spawn_main" in words]


def offer(client, people, k):
    """Offer to someone until it is acknowledged, as a careful program does."""
    body = {"people": [{"person": f"A-{k}", "values": people[k]}]}
    for _ in range(200):
        try:
            answer = client.post("/promises", json=body, headers={"idempotency-key": f"offer-{k}"})
        except httpx.TransportError:
            time.sleep(0.2)
            continue
        if answer.status_code == 201:
            return [promise["id"] for promise in answer.json()["promises"]]
        assert answer.status_code in (503, 504), answer.text
        time.sleep(0.2)
    raise AssertionError("no answer")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs kill -9")
def test_a_killed_worker_loses_nothing(files, people, tmp_path, run_service):
    ledger, made = str(tmp_path / "promises.db"), {}
    model = files / "model.ract"
    with run_service(model, ledger, tmp_path / "log", "--workers", "2") as service:
        headers = {"authorization": f"Bearer {service.keys['case-worker']}"}
        with httpx.Client(base_url=service.address, headers=headers, timeout=30) as client:
            done, killed = threading.Event(), []

            def kill():
                while not done.wait(1.0):
                    for pid in workers_of(service.process.pid)[:1]:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)
                    done.wait(8.0)

            killer = threading.Thread(target=kill)
            killer.start()
            try:
                for k in range(40):
                    made[k] = offer(client, people, k)
            finally:
                done.set()
                killer.join()
    assert killed
    with Ledger(ledger) as book:
        assert bool(book.verify())
        kept = sorted(promise.id for promise in book.open())
    assert kept == sorted(id for ids in made.values() for id in ids) and kept


@pytest.mark.slow
def test_two_services_share_one_postgresql(files, people, empty_postgres, tmp_path, run_service):
    model, where = files / "model.ract", empty_postgres
    with (
        run_service(model, where, tmp_path / "log1") as one,
        run_service(model, where, tmp_path / "log2") as two,
    ):
        made = {}

        def ask(service, name):
            headers = {"authorization": f"Bearer {one.keys['case-worker']}"}
            with httpx.Client(base_url=service.address, headers=headers, timeout=60) as client:
                made[name] = [offer(client, people, k) for k in range(25)]

        threads = [
            threading.Thread(target=ask, args=(service, f"{service.address}-{k}"))
            for service in (one, two)
            for k in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(made) == 4
    first, *others = made.values()
    assert all(other == first for other in others)  # each offer was made once
    with Ledger(where) as book:
        assert bool(book.verify())
        assert len(book.open()) == sum(map(len, first)) > 0

"""Faults: processes and databases that are killed, two services, a full disk, hostile text.

What was acknowledged is there, once, and the chain verifies.
"""

import os
import random
import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import httpx
import pandas as pd
import pytest
from sqlalchemy import text

from ract import load_model
from ract.promises import Ledger
from ract.serve import App, Settings
from ract.serve.service import publish
from ract.serve.state import State

psutil = pytest.importorskip("psutil")

# What someone may be answered while something is broken, beside success: try again.
TRY_AGAIN = {503, 504}
PATIENCE = 240  # seconds until an offer must have been acknowledged


@pytest.fixture(scope="module")
def promisable(files, people):
    """Those who are refused and have a plan."""
    model = load_model(files / "model.ract")
    found = model.recourse(pd.DataFrame(people), at_least=True, explain=False).found
    return [row for row, has in zip(people, found, strict=True) if has]


class Client(threading.Thread):
    """Offers promises one after the other, each until it is acknowledged, and redeems some.

    Every answer is kept: ``made`` has the promises by person, ``redeemed`` their numbers, and
    ``strange`` what should never be answered.
    """

    def __init__(self, name, services, people, where, stop):
        super().__init__(name=name)
        self.services, self.people, self.stop = services, people, stop
        self.ledger = Ledger(where)
        self.rng = random.Random(name)
        self.made, self.redeemed, self.strange, self.tries = {}, set(), [], Counter()

    def run(self):
        try:
            with httpx.Client(timeout=30, trust_env=False) as self.http:
                while not self.stop.is_set():
                    self.offer(f"{self.name}-{len(self.made)}")
        except Exception as error:
            self.strange.append(repr(error))
        finally:
            self.ledger.close()

    def offer(self, person):
        values = self.rng.choice(self.people)
        body = {"people": [{"person": person, "values": values}]}
        send = partial(self.post, "/promises", body, {"idempotency-key": person}, {201})
        promise = send().json()["promises"][0]["id"]
        self.made[person] = promise
        if self.rng.random() < 0.3 and send().json()["promises"][0]["id"] != promise:
            self.strange.append(f"{person} was promised twice")
        if self.rng.random() < 0.3:
            after = self.asked(self.ledger.get, promise).after
            answer = self.post(f"/promises/{promise}/redeem", {"values": after}, {}, {200, 409})
            # 409: it was redeemed by a request whose answer was lost.
            if answer.status_code == 200 and not answer.json()["accepted"]:
                self.strange.append(answer.text)
            self.redeemed.add(promise)

    def post(self, path, body, headers, good):
        """The answer to a request that is sent again until there is one."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            service = self.rng.choice(self.services)
            key = {"authorization": f"Bearer {service.keys['case-worker']}"} | headers
            try:
                answer = self.http.post(f"{service.address}{path}", json=body, headers=key)
            except httpx.TransportError as error:
                self.tries[type(error).__name__] += 1
            else:
                self.tries[answer.status_code] += 1
                if answer.status_code in good:
                    return answer
                if answer.status_code not in TRY_AGAIN:
                    self.strange.append(f"{answer.status_code} {answer.text}")
            time.sleep(0.05)
        raise AssertionError(f"no answer in {PATIENCE} s: {dict(self.tries)}")

    def asked(self, work, *given):
        """What the ledger says, once it can."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return work(*given)
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.05)


def workers_of(service):
    """Worker processes of a service that can be killed."""
    found = []
    for child in psutil.Process(service.process.pid).children():
        words = " ".join(child.cmdline())
        if "spawn_main" in words:  # not the resource tracker
            found.append(child)
    return found


def kill_worker(rng, services):
    """Kill a worker process, if one is there."""
    there = [worker for service in services for worker in workers_of(service)]
    if there:
        rng.choice(there).kill()


def kill_database(server, rng, services):
    """Kill the database, and perhaps a worker that then starts without one."""
    server.kill()
    if rng.random() < 0.3:
        kill_worker(rng, services)
    time.sleep(rng.uniform(0, 1))
    server.start()


def survive(services, where, people, rounds, kills, n_clients=4, seed=0):
    """Clients offer and redeem while something is killed so often; then the ledger is read."""
    rng, stop = random.Random(seed), threading.Event()
    clients = [Client(f"c{k}", services, people, where, stop) for k in range(n_clients)]
    for client in clients:
        client.start()
    try:
        for number in range(rounds):
            before, deadline = sum(len(c.made) for c in clients), time.monotonic() + PATIENCE
            while sum(len(c.made) for c in clients) < before + n_clients:
                assert any(c.is_alive() for c in clients) and time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.3))
            kills[number % len(kills)](rng, services)
    finally:
        stop.set()
        for client in clients:
            client.join()
    assert [one for client in clients for one in client.strange] == []
    made = {person: id for client in clients for person, id in client.made.items()}
    redeemed = set().union(*(client.redeemed for client in clients))
    with Ledger(where) as ledger:
        assert bool(ledger.verify()), str(ledger.verify())
        for person, id in made.items():
            promises = ledger.of(person)
            assert [promise.id for promise in promises] == [id]
            assert promises[0].status == ("redeemed" if id in redeemed else "open")
        assert ledger.counts()["open"] + ledger.counts()["redeemed"] == len(made)
    return sum((client.tries for client in clients), Counter())


def test_workers_that_are_killed_lose_nothing(files, promisable, tmp_path, run_service):
    where = f"sqlite:///{tmp_path / 'promises.db'}"
    with run_service(
        files / "model.ract", where, tmp_path / "log.txt", "--workers", "2"
    ) as service:
        tries = survive([service], where, promisable, 3, [kill_worker], n_clients=3)
    assert tries[201] >= 9


@pytest.mark.slow
def test_workers_that_are_killed_fifty_times_lose_nothing(files, promisable, tmp_path, run_service):
    where = f"sqlite:///{tmp_path / 'promises.db'}"
    with run_service(
        files / "model.ract", where, tmp_path / "log.txt", "--workers", "2"
    ) as service:
        tries = survive([service], where, promisable, 50, [kill_worker])
    print(dict(tries))
    assert any(isinstance(name, str) for name in tries)  # answers were lost


@pytest.mark.slow
def test_a_database_that_is_killed_fifty_times_loses_nothing(
    files, promisable, tmp_path, run_service, mortal_postgres
):
    """Two services with two workers each on one PostgreSQL; workers are killed in between."""
    where, kill = mortal_postgres.address, partial(kill_database, mortal_postgres)
    with ExitStack() as stack:
        services = [
            stack.enter_context(
                run_service(files / "model.ract", where, tmp_path / f"{k}.txt", "--workers", "2")
            )
            for k in range(2)
        ]
        tries = survive(services, where, promisable, 100, [kill, kill_worker])
    print(dict(tries))
    assert any(name not in (200, 201, 409) for name in tries)

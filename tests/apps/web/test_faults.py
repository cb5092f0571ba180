"""Faults: processes and databases that are killed, two services, a full disk, hostile text.

What was acknowledged is there, once, and the chain verifies. The slow tests kill 50 times, or
RACT_KILLS times.
"""

import os
import random
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from urllib.parse import quote

import httpx
import pandas as pd
import pytest

from ract import load_model
from ract.apps.ledger import Ledger
from ract.apps.web import App, Settings
from ract.apps.web.service import publish_model
from ract.apps.web.state import ServiceState
from tests.apps.web.conftest import TestClient

psutil = pytest.importorskip("psutil")

# What someone may be answered while something is broken, beside success: try again.
TRY_AGAIN = {503, 504}
KILLS = int(os.environ.get("RACT_KILLS", "50"))
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
            try:
                answer = self.rng.choice(self.services).post(path, json=body, headers=headers)
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
        with suppress(psutil.NoSuchProcess):  # it ended already
            if "spawn_main" in " ".join(child.cmdline()):  # not the resource tracker
                found.append(child)
    return found


def kill_worker(services, rng):
    """Kill a worker process, if one is there."""
    there = [worker for service in services for worker in workers_of(service)]
    if there:
        rng.choice(there).kill()


def kill_database(server, services, rng):
    """Kill the database, and now and then a worker, which then starts without one."""
    server.kill()
    if services and rng.random() < 0.1:
        kill_worker(services, rng)
    time.sleep(rng.uniform(0, 1))
    server.start()


@contextmanager
def asking(services):
    """Connections to services on one ledger, with one key: requests are known by whose they are."""
    key = services[0].keys["case-worker"]
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                httpx.Client(
                    base_url=service.address, timeout=30, trust_env=False,
                    headers={"authorization": f"Bearer {key}"},
                )
            )
            for service in services
        ]  # fmt: skip


def survive(services, where, people, rounds, kill, n_clients=4, seed=0):
    """Clients offer and redeem while something is killed so often; then the ledger is read."""
    rng, stop = random.Random(seed), threading.Event()
    clients = [Client(f"c{k}", services, people, where, stop) for k in range(n_clients)]
    for client in clients:
        client.start()
    try:
        for _ in range(rounds):
            before, deadline = sum(len(c.made) for c in clients), time.monotonic() + PATIENCE
            while sum(len(c.made) for c in clients) < before + n_clients:
                assert any(c.is_alive() for c in clients) and time.monotonic() < deadline
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 0.3))
            kill(rng)
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
    tries = sum((client.tries for client in clients), Counter())
    print(f"{rounds} kills, {len(made)} promises, {len(redeemed)} redeemed: {dict(tries)}")
    return tries


def often(few):
    """A few times, and so often in the slow tests."""
    return pytest.mark.parametrize("n_kills", [few, pytest.param(KILLS, marks=pytest.mark.slow)])


@often(1)
def test_workers_that_are_killed_lose_nothing(n_kills, files, promisable, tmp_path, run_service):
    where = f"sqlite:///{tmp_path / 'promises.db'}"
    with ExitStack() as stack:
        service = stack.enter_context(
            run_service(files / "model.ract", where, tmp_path / "log.txt", "--workers", "2")
        )
        clients = stack.enter_context(asking([service]))
        tries = survive(clients, where, promisable, n_kills, partial(kill_worker, [service]))
    assert tries[201] >= 4 * n_kills, tries


@often(2)
def test_a_database_that_is_killed_loses_nothing(n_kills, files, promisable, mortal_postgres):
    kill = partial(kill_database, mortal_postgres, [])
    with two_on(mortal_postgres.address, files) as clients:
        tries = survive(clients, mortal_postgres.address, promisable, n_kills, kill)
    assert tries[201] >= 4 * n_kills and tries[503] > 0, tries


@pytest.mark.slow
def test_workers_and_their_database_that_are_killed_lose_nothing(
    files, promisable, tmp_path, run_service, mortal_postgres
):
    """Two services with two worker processes each on one PostgreSQL."""
    where = mortal_postgres.address
    with ExitStack() as stack:
        services = [
            stack.enter_context(
                run_service(files / "model.ract", where, tmp_path / f"{k}.txt", "--workers", "2")
            )
            for k in range(2)
        ]
        clients = stack.enter_context(asking(services))
        kill = partial(kill_database, mortal_postgres, services)
        tries = survive(clients, where, promisable, KILLS, kill)
    assert tries[201] >= 4 * KILLS, tries


@contextmanager
def two_on(where, files):
    """Two services in this process on one database, each with connections of its own."""
    with Ledger(where) as ledger:
        state = ServiceState(ledger.store)
        publish_model(ledger, state, (files / "model.ract").read_bytes(), by="Test", force=True)
        key = {"authorization": f"Bearer {state.add_key('admin', 'Both', by='Test')}"}
    with ExitStack() as stack:
        clients = [TestClient(App(Settings(where)), headers=key) for _ in range(2)]
        yield [stack.enter_context(client) for client in clients]


@pytest.fixture
def two(files, postgres):
    """Two services on one PostgreSQL."""
    with two_on(postgres, files) as clients:
        yield clients


def at_once(work):
    """What each of some calls returns, begun at the same time."""
    start = threading.Barrier(len(work))

    def begin(one):
        start.wait()
        return one()

    with ThreadPoolExecutor(len(work)) as pool:
        return [future.result() for future in [pool.submit(begin, one) for one in work]]


def test_two_services_on_one_database_lose_no_update(two, promisable, postgres):
    with Ledger(postgres) as ledger:
        for i, values in enumerate(promisable[:4]):
            person = f"Both-{i}"
            body = {"people": [{"person": person, "values": values}]}
            decisions = at_once(
                [partial(c.post, "/decide", json=body | {"keep": True}) for c in two * 2]
            )
            assert len({answer.json()["decisions"][0]["case"] for answer in decisions}) == 1
            key = {"idempotency-key": person}
            offers = at_once([partial(c.post, "/promises", json=body, headers=key) for c in two])
            ids = [offer.json()["promises"][0]["id"] for offer in offers]
            assert len(set(ids)) == 1
            after = {"values": dict(ledger.get(ids[0]).after)}
            path = f"/promises/{ids[0]}/redeem"
            back = at_once([partial(c.post, path, json=after) for c in two * 2])
            assert sorted(answer.status_code for answer in back) == [200, 409, 409, 409]
            assert [c.post(path, json=after).status_code for c in two] == [409, 409]
            assert ledger.history(person)["event"].tolist() == ["offered", "redeemed"]
            notes = [note.text for note in ledger.cases.notes(ledger.cases.of(person).id)]
            assert notes == ["refused"] * 4 + [f"accepted, by promise {ids[0]}"]
        assert bool(ledger.verify())


@pytest.mark.skipif(sys.platform != "linux", reason="limits of other processes are Linux's")
def test_a_full_disk_loses_nothing(files, promisable, tmp_path, run_service):
    """The largest file that the service may write is limited to what is there, and a little."""
    path = tmp_path / "promises.db"
    with run_service(files / "model.ract", str(path), tmp_path / "log.txt") as service:
        process = psutil.Process(service.process.pid)
        headers = {"authorization": f"Bearer {service.keys['admin']}"}
        with httpx.Client(base_url=service.address, headers=headers, trust_env=False) as http:

            def offer(i):
                body = {"people": [{"person": f"D-{i}", "values": promisable[0]}]}
                return http.post("/promises", json=body, headers={"idempotency-key": f"{i}"})

            made = [offer(0).json()["promises"][0]]
            sizes = [file.stat().st_size for file in tmp_path.glob("promises.db*")]
            process.rlimit(psutil.RLIMIT_FSIZE, (max(sizes) + 100_000, -1))
            for i in range(1, 200):
                answer = offer(i)
                if answer.status_code != 201:
                    break
                made += answer.json()["promises"]
            assert answer.status_code == 503 and "What it has acknowledged" in answer.text
            promise = http.get(f"/promises/{made[-1]['id']}")  # reading goes on
            assert promise.status_code == 200 and promise.json() == made[-1]
            process.rlimit(psutil.RLIMIT_FSIZE, (-1, -1))
            made += offer(i).json()["promises"]
            assert http.get("/audit").json()["verified"]
    with Ledger(path) as ledger:
        assert {p.id for p in ledger.open()} == {p["id"] for p in made}
        assert len(made) == i + 1 and bool(ledger.verify())


HOSTILE = (
    "'; DROP TABLE ract_events; --",
    '"><script>alert(1)</script><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}{% raise %}%s",
    "\x00\r\nset-cookie: a=b",
    "../../etc/passwd",
    "x" * 5000,
)


def hostile_requests(hostile, values, case, promise, token):
    """Text in every place of every route: body, form, path, query and header."""
    one = {"person": "H", "values": values}
    for bad in hostile:
        quoted = quote(bad, safe="")
        for path, more in (("/decide", {"keep": True}), ("/decide", {}), ("/promises", {})):
            yield "POST", path, {"json": {"people": [one | {"person": bad}]} | more}
        for own in (
            {"locked": [bad]}, {"bounds": {bad: {"upper": 1}}}, {"values": values | {bad: 1}},
            *({"values": values | {name: bad}} for name in values), {bad: bad},
        ):  # fmt: skip
            yield "POST", "/plans", {"json": {"people": [one | own]}}
        for body in ({"people": bad}, {"people": [one], bad: bad}, bad):
            yield "POST", "/promises", {"json": body}
        yield "POST", f"/promises/{promise}/redeem", {"json": {"values": values | {bad: bad}}}
        yield "POST", "/reload", {"json": {"force": bad}}
        for path in (
            "/promises/{}", "/notices/{}", "/my/{}", "/desk/{}", "/desk/{}/notice", "/static/{}",
            "/{}",
        ):  # fmt: skip
            yield "GET", path.format(quoted), {}
        for path in ("/people/{}", "/cases/{}/link", "/desk/{}/note"):
            method = "DELETE" if "people" in path else "POST"
            yield method, path.format(quoted), {}
        for name in ("form", "language", "search", bad):
            yield "GET", f"/notices/{case}", {"params": {name: bad}}
            yield "GET", "/desk", {"params": {name: bad}}
        for name in ("idempotency-key", "cookie", "host", "origin", "accept-language", "cookie"):
            shown = f"ract_session={quoted}" if name == "cookie" else quoted
            yield "POST", "/promises", {"json": {"people": [one]}, "headers": {name: shown}}
        form = {name: str(value) for name, value in values.items()}
        for name in (*values, "person"):
            yield "POST", "/desk", {"data": form | {"person": "H", name: bad}}
        for what, field in (
            ("note", "text"), ("withdraw", "reason"), ("redeem", "promise"), ("offer", "way"),
            ("decide", "Income"), (quoted, "text"),
        ):  # fmt: skip
            yield "POST", f"/desk/{case}/{what}", {"data": {"promise": promise} | {field: bad}}
        yield "GET", f"/desk/{case}", {}
        yield "POST", "/login", {"data": {"key": bad}}
        for path, field in (("plans", "lock"), ("accept", "way"), ("report", "Income")):
            yield "POST", f"/my/{path}", {"data": form | {field: bad}, "role": token}


# The second database is asked what databases read in ways of their own: quotes, NUL, length.
@pytest.mark.parametrize(
    ("database", "hostile"),
    [
        ("sqlite", HOSTILE),
        ("postgres", HOSTILE[:1] + HOSTILE[3:4] + HOSTILE[5:]),
        pytest.param("postgres", HOSTILE, marks=pytest.mark.slow),
    ],
    ids=["sqlite", "postgres", "postgres-all"],
)
def test_hostile_text_in_every_place_is_only_text(database, hostile, request, promisable):
    if database == "sqlite":
        served = request.getfixturevalue("served")
        client, app = served.client, served.app
        client.headers["authorization"] = f"Bearer {served.keys['admin']}"
    else:
        client = request.getfixturevalue("two")[0]
        app = client.app
    values = promisable[0]
    body = {"people": [{"person": "H", "values": values}]}
    case = client.post("/decide", json=body | {"keep": True}).json()["decisions"][0]["case"]
    promise = client.post("/promises", json=body).json()["promises"][0]["id"]
    token = app.service.link(app.service.cases.get(case))[0].rpartition("/")[2]
    client.follow_redirects = False
    for method, path, given in hostile_requests(hostile, values, case, promise, token):
        if (role := given.pop("role", None)) is not None:
            given["headers"] = {"authorization": f"Bearer {role}"}
        answer = client.request(method, path, **given)
        what = (method, path[:80], str(given)[:300], answer.text[:300])
        assert answer.status_code < 500, what
        if "html" in answer.headers.get("content-type", ""):
            assert "<script>alert" not in answer.text and "<img src=x" not in answer.text, what
        assert "a=b" not in answer.headers.get("set-cookie", ""), what
    assert client.get(f"/promises/{promise}").json()["status"] in ("open", "withdrawn")
    audit = client.get("/audit")
    assert audit.status_code == 200 and audit.json()["verified"], audit.text

"""Who gets in and what they can cost: whoever is refused was not read, and changed nothing."""

import contextvars
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import quote

import pytest
from sqlalchemy import text

from ract.apps.ledger import Ledger, Request
from ract.apps.web.gate import Queue
from ract.apps.web.keys import Denied
from ract.apps.web.limiter import Limiter, per_minute
from ract.apps.web.live import Live
from ract.apps.web.pages import PAGES
from ract.apps.web.work import Cancelled, Work
from tests.apps.web.test_api import carried_out, decided, first_refused, offered


def test_nobody_learns_anything_without_a_key(served, people):
    """Bodies are not looked at, and what is not there is not told from what is."""
    paths = {*served.app.routes.openapi()["paths"], *PAGES, "/none", "/docs", "/openapi.json"}
    for path in sorted(paths - {"/health", "/login"}):
        for method in ("GET", "POST", "DELETE", "PUT", "OPTIONS"):
            answer = served(method, path, None, content=b'{"people": [{"values": {"Shoes": 1}}]}')
            assert answer.status_code in (401, 303, 405), (method, path)
            assert answer.headers.get("location") in (None, "/login")
            assert not any(name in answer.text for name in people[0]), (method, path)
    large = b"x" * 100_000
    answer = served("POST", "/decide", None, content=large)
    assert answer.status_code == 401 and answer.headers["connection"] == "close"
    assert served("POST", "/login", None, content=large).status_code == 413


def test_the_body_of_someone_unknown_is_never_read(served):
    """The application is handed a receive that fails the test."""
    import asyncio

    async def ask():
        sent = []

        async def receive():
            raise AssertionError("the body was read")

        async def send(message):
            sent.append(message)

        scope = {
            "type": "http", "method": "POST", "path": "/decide", "raw_path": b"/decide",
            "query_string": b"", "headers": [(b"content-length", b"999999")], "scheme": "http",
            "client": ("10.0.0.9", 1), "server": ("127.0.0.1", 80), "root_path": "",
        }  # fmt: skip
        await served.app(scope, receive, send)
        return sent[0]["status"]

    assert asyncio.run(ask()) == 401


def test_fields_and_faults_are_limited_before_anything_is_validated(served, people):
    many = {f"unknown{k}": 1 for k in range(40_000)}
    answer = served("POST", "/decide", json={"people": [{"values": people[0] | many}]})
    assert answer.status_code == 413 and "fields" in answer.json()["detail"]
    some = {f"unknown{k}": 1 for k in range(100)}
    answer = served("POST", "/decide", json={"people": [{"values": people[0] | some}]})
    assert answer.status_code == 422 and answer.json()["detail"].count(";") == 9
    wrong = [{"values": {"Income": "much"}}] * 500
    assert served("POST", "/decide", json={"people": wrong}).json()["detail"].count(";") == 9
    full = [{"person": f"P-{k}", "values": row} for k, row in enumerate(people * 16)]
    assert served("POST", "/decide", json={"people": full}).status_code == 200


def test_a_key_that_was_put_into_the_database_is_not_believed(served):
    from ract.apps.web.keys import digest, new_key

    own = new_key()
    with served.service.ledger.store.engine.begin() as db:
        db.execute(
            text(
                "INSERT INTO ract_serve_keys (id, hash, role, name, made, event) SELECT 'ff', "
                ":hash, 'admin', 'me', made, event FROM ract_serve_keys WHERE role = 'admin'"
            ),
            {"hash": digest(own)},
        )
    assert served("GET", "/audit", own).status_code == 500
    with served.service.ledger.store.engine.begin() as db:
        db.execute(text("UPDATE ract_serve_keys SET role = 'admin' WHERE role = 'auditor'"))
    assert served("POST", "/reload", "auditor", json={}).status_code == 500
    assert served("GET", "/openapi.json", "case-worker").status_code == 200


def test_a_model_that_was_put_into_the_database_does_not_decide(served, files):
    other = (files / "candidate.ract").read_bytes()
    with served.service.ledger.store.engine.begin() as db:
        db.execute(text("UPDATE ract_serve_models SET content = :new"), {"new": other})
    with pytest.raises(ValueError, match="not as it was written"):
        served.service.state.model()


def test_no_secret_is_in_the_database(served, people):
    i, _, decision = first_refused(served, people)
    link, _ = served.service.link(served.service.cases.get(decision["case"]))
    session = served.service.session(served.service.state.all_keys()[0]["id"])
    with served.service.ledger.store.engine.connect() as db:
        dump = "\n".join(db.connection.driver_connection.iterdump())
    hidden = [*served.keys.values(), link.rpartition("/")[2], session]
    hidden += [key.private for key in served.service.ledger.store.ring.keys]
    assert f"A-{i}" in dump and not any(secret in dump for secret in hidden)


def test_addresses_come_from_the_settings_not_from_requests(serve, people):
    served = serve(public_url="https://loans.example.org")
    _, _, decision = first_refused(served, people)
    headers = {"host": "evil.example", "x-forwarded-host": "evil.example"}
    answer = served("POST", f"/cases/{decision['case']}/link", headers=headers)
    link = answer.json()["link"]
    assert link.startswith("https://loans.example.org/my/")
    opened = served.client.get(f"/my/{link.rpartition('/')[2]}", headers=headers)
    assert "Secure" in opened.headers["set-cookie"] and opened.headers["location"] == "/my"
    assert "max-age" in opened.headers["strict-transport-security"]
    foreign = {"origin": "https://evil.example"} | headers
    key = {"key": served.keys["admin"]}
    assert served.client.post("/login", data=key, headers=foreign).status_code == 403
    own = {"origin": "https://loans.example.org"}
    assert served.client.post("/login", data=key, headers=own).status_code == 303
    statuses = [
        served("GET", "/audit", f"ract-{k}", headers={"x-forwarded-for": f"10.1.2.{k}"}).status_code
        for k in range(40)
    ]
    assert statuses[-1] == 429  # by the address of the connection, whatever is forwarded


def test_an_idempotency_key_with_another_body_is_refused(served, people):
    i, values, _ = first_refused(served, people)
    key = {"idempotency-key": "one"}
    promise = offered(served, f"A-{i}", values, **key)
    body = {"people": [{"person": f"A-{i}", "values": values}], "days": 7}
    assert served("POST", "/promises", json=body, headers=key).status_code == 409
    assert [p.id for p in served.service.ledger.of(f"A-{i}")] == [promise["id"]]


def test_limits_are_shared_between_processes_and_count_seconds(tmp_path):
    one, other = (Limiter(str(tmp_path / "counts")) for _ in range(2))
    most = per_minute("search", 1000)
    for limiter in (one, other, one):
        limiter.check(most, "a")
        limiter.add(most, "a", 400)
    for limiter in (one, other):
        with pytest.raises(Denied) as refused:
            limiter.check(most, "a")
        assert refused.value.status == 429 and 0 < refused.value.after <= 60
        limiter.check(most, "b")
        limiter.close()


def test_searches_of_one_caller_leave_those_of_others(serve, people):
    served = serve(search_seconds=1)
    _, _, decision = first_refused(served, people)
    link, _ = served.service.link(served.service.cases.get(decision["case"]))
    token = link.rpartition("/")[2]
    statuses = []
    while len(statuses) < 500 and 429 not in statuses:
        statuses.append(served("GET", f"/notices/{decision['case']}", token).status_code)
    refused = served("GET", f"/notices/{decision['case']}", token)
    assert refused.status_code == 429 and int(refused.headers["retry-after"]) > 0
    body = {"people": [{"values": people[0]}]}
    assert served("POST", "/plans", json=body).status_code in (200, 429)  # its own seconds
    assert served("POST", "/decide", json=body).status_code == 200


def test_a_queue_that_would_be_too_long_is_not_joined():
    queue, go = Queue(1, wait=0.5), threading.Event()
    queue.each = 0.2
    try:
        held = [queue.submit(lambda: go.wait(30), Work(), 1) for _ in range(3)]
        with pytest.raises(Denied) as busy:
            queue.submit(lambda: None, Work(), 1)
        assert busy.value.status == 503 and busy.value.after == 1
        go.set()
        assert [future.result(30) for future in held] == [True] * 3
        assert queue.submit(lambda: 7, Work(), 1).result(30) == 7
    finally:
        go.set()
        queue.close()


def test_what_was_refused_for_its_time_has_written_nothing(serve, people, monkeypatch):
    """Bulk offers that take too long: 504, and neither promises nor threads are left."""
    served = serve(time_limit=0.5)
    real, events = Live.plans, served.service.ledger.verify().n_events

    def slow(*given, **options):
        time.sleep(0.3)
        return real(*given, **options)

    monkeypatch.setattr(Live, "plans", slow)
    body = {"people": [{"person": f"B-{k}", "values": row} for k, row in enumerate(people)]}
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: served("POST", "/promises", json=body), range(4)))
    assert {answer.status_code for answer in answers} <= {503, 504}
    assert any(answer.status_code == 504 for answer in answers)
    deadline = time.monotonic() + 60
    while served.app.gate._queues["search"].running:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert served.service.ledger.verify().n_events == events
    assert served.service.ledger.counts()["open"] == 0


def kept_late(ledger, work):
    """Write a case, and be cancelled before it is kept."""
    with ledger.store.writing() as db:
        ledger.cases.keep(db, "B", {}, {"accepted": True}, "me")
        assert work.cancel()


def test_work_is_either_kept_or_cancelled(tmp_path):
    with Ledger(tmp_path / "x.db") as ledger:

        def work():  # in a context of its own, as that of a thread is
            kept, late = Work(), Work()
            kept.begin()
            with ledger.store.writing() as db:
                ledger.cases.keep(db, "A", {}, {"accepted": True}, "me")
            assert not kept.cancel()
            late.begin()
            with pytest.raises(Cancelled):
                kept_late(ledger, late)

        contextvars.copy_context().run(work)
        assert ledger.cases.of("A") is not None and ledger.cases.of("B") is None


def wait_for_job(served, id, states):
    deadline = time.monotonic() + 120
    while True:
        answer = served("GET", f"/jobs/{id}").json()
        if answer["state"] in states:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def test_long_work_is_a_job(served, people, monkeypatch):
    body = {"people": [{"person": f"J-{k}", "values": row} for k, row in enumerate(people)]}
    later = {"prefer": "respond-async"}
    answer = served("POST", "/promises", json=body, headers=later)
    assert answer.status_code == 202 and answer.headers["location"].startswith("/jobs/")
    done = wait_for_job(served, answer.json()["job"], {"done", "failed"})
    assert done["state"] == "done" and len(done["promises"]) > 5
    assert len(done["promises"]) == served.service.ledger.counts()["open"]
    assert served("DELETE", answer.headers["location"]).status_code == 409
    assert served("GET", answer.headers["location"], "auditor").status_code == 403
    twice = {"people": [body["people"][0]] * 2}
    id = served("POST", "/promises", json=twice, headers=later).json()["job"]
    failed = wait_for_job(served, id, {"failed"})
    assert "same key" in failed["detail"]
    real, go = Live.plans, threading.Event()

    def waits(*given, **options):
        go.wait(60)
        return real(*given, **options)

    monkeypatch.setattr(Live, "plans", waits)
    events = served.service.ledger.verify().n_events
    id = served("POST", "/promises", json=body, headers=later).json()["job"]
    assert served("DELETE", f"/jobs/{id}").status_code == 204
    go.set()
    assert wait_for_job(served, id, {"cancelled"})["promises"] == []
    served.app.gate._queues["job"].close()
    assert served.service.ledger.verify().n_events == events
    assert served.service.ledger.made(Request(f"job:{id}")) is None
    assert served("GET", f"/jobs/{'0' * 32}").status_code == 404


def test_a_forced_model_without_a_feature_honours_promises(served, people, files, tmp_path):
    """Redeeming is typed by the promise; the model of today has other features and categories."""
    from ract import ActionSpace, Feature, RecourseForestClassifier, save_model
    from ract.data.datasets import load_loans

    i, values, _ = first_refused(served, people)
    promise = offered(served, f"A-{i}", values)
    after = carried_out(served, promise)
    loans = load_loans(400, random_state=3)
    rest = [f for f in loans.actions if f.name not in ("Savings", "Purpose")]
    frame = loans.frame.drop(columns=["Savings", "Purpose"]).assign(Extra=1.0)
    frame["Extra"] += loans.frame["Income"]
    space = ActionSpace([*rest, Feature("Extra")], "approved", limits=None)
    other = RecourseForestClassifier(space, n_estimators=5, random_state=0)
    save_model(other.fit(frame, loans.target), served.folder / "model.ract")
    assert served("POST", "/reload", "admin", json={}).status_code == 409
    answer = served("POST", "/reload", "admin", json={"force": True}).json()
    assert answer["changed"] and answer["forced"] and answer["kept"] == 0
    assert served.service.refresh()
    path = f"/promises/{promise['id']}/redeem"
    for wrong in ({"values": {}}, {"values": after | {"Income": "much"}}):
        back = served("POST", path, json=wrong)
        assert back.status_code == 200 and not back.json()["accepted"], back.text
    assert served("POST", path, json={"values": [1]}).status_code == 422
    back = served("POST", path, json={"values": after, "evidence": {"Income": "payslip"}})
    assert back.status_code == 200 and back.json()["accepted"], back.text
    with served.service.ledger.store.reading() as db:
        said = db.execute(
            text("SELECT details, by FROM ract_events WHERE kind = 'model' ORDER BY number DESC")
        ).first()
    assert json.loads(said[0])["forced"] and said[1] == "The admin"


def test_a_batch_of_decisions_is_all_or_nothing(served, people):
    before = served.service.ledger.verify().n_events
    body = {"people": [{"person": f"D-{k}", "values": row} for k, row in enumerate(people[:5])]}
    body["people"][-1]["person"] = "a\x00b"
    assert served("POST", "/decide", json=body | {"keep": True}).status_code == 422
    assert served.service.ledger.verify().n_events == before
    assert served.service.cases.of("D-0") is None


def test_anyone_can_be_erased(served, people):
    for person in ("a/b", "a/../b", "/", "?x#y", " "):
        body = {"people": [{"person": person, "values": people[0]}], "keep": True}
        assert served("POST", "/decide", json=body).status_code == 200
        answer = served("DELETE", f"/people/{quote(person, safe='')}", "admin")
        assert answer.status_code == 200 and answer.json()["cases"] == 1, person
    assert decided(served, people[:1])


def test_erasing_says_when_a_journal_still_holds_it(served, people):
    decided(served, people[:1])
    with served.service.ledger.store.snapshot() as reader:
        reader.execute(text("SELECT count(*) FROM ract_events")).scalar()
        answer = served("DELETE", "/people/A-0", "admin").json()
        assert answer["cases"] == 1 and not answer["everywhere"]
    assert served.service.ledger.erase("nobody").everywhere


def test_half_a_request_is_not_waited_for(files, tmp_path, run_service, monkeypatch):
    """Connections that send slowly are closed, and others are answered meanwhile."""
    ledger = str(tmp_path / "promises.db")
    with run_service(files / "model.ract", ledger, tmp_path / "log.txt") as service:
        host, port = service.address.removeprefix("http://").split(":")
        slow = []
        for _ in range(150):
            one = socket.create_connection((host, int(port)), 30)
            one.sendall(b"POST /decide HTTP/1.1\r\nhost: x\r\n")
            slow.append(one)
        # A hundred are kept until their header is due, the others are closed at once.
        closed = [hung_up(one) for one in slow[100:]]
        assert all(closed) and hung_up(slow[0])
        for one in slow:
            one.close()


def hung_up(connection):
    """Whether the other side closes a connection, without a word."""
    connection.settimeout(60)
    with suppress(ConnectionResetError):
        return connection.recv(1) == b""
    return True

"""The gate: roles, wrong keys, queues, and work that is cancelled."""

import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from ract.apps.web.gate import Queue
from ract.apps.web.keys import Denied
from ract.apps.web.live import Live
from ract.apps.web.work import RequestWork
from tests.apps.web.test_api import decided, first_refused


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


def test_a_link_may_ask_less_often_than_a_key(serve, people):
    """Thirty connections of one applicant kept others waiting with requests that were refused."""
    served = serve(per_minute=500)
    _, _, decision = first_refused(served, people)
    link, _ = served.service.link(served.service.cases.get(decision["case"]))
    token, path = link.rpartition("/")[2], f"/promises/{'0' * 32}"
    statuses = [served("GET", path, token).status_code for _ in range(11)]
    assert statuses == [404] * 10 + [429]
    assert served("GET", path).status_code == 404


def test_a_queue_that_would_be_too_long_is_not_joined():
    queue, go = Queue(1, wait=0.5), threading.Event()
    queue.each = 0.2
    try:
        held = [queue.submit(lambda: go.wait(30), RequestWork(), 1) for _ in range(3)]
        with pytest.raises(Denied) as busy:
            queue.submit(lambda: None, RequestWork(), 1)
        assert busy.value.status == 503 and busy.value.after == 1
        go.set()
        assert [future.result(30) for future in held] == [True] * 3
        assert queue.submit(lambda: 7, RequestWork(), 1).result(30) == 7
    finally:
        go.set()
        queue.close()


def test_who_has_waited_too_long_is_refused_instead_of_answered_late(monkeypatch):
    """On a busy machine calls take longer than those before; then the estimate is too low."""
    clock = iter(range(1000))
    monkeypatch.setattr("ract.apps.web.gate.monotonic", lambda: next(clock))
    queue, go = Queue(1, wait=4), threading.Event()
    queue.each = 0.0
    try:
        held = queue.submit(lambda: go.wait(30), RequestWork(), 1)
        late = queue.submit(lambda: 7, RequestWork(), 1)
        for _ in range(5):
            next(clock)
        go.set()
        assert held.result(30)
        with pytest.raises(Denied) as busy:
            late.result(30)
        assert busy.value.status == 503 and busy.value.after == 1
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


ROUTES = [
    ("POST", "/decide", {"case-worker"}),
    ("POST", "/plans", {"case-worker"}),
    ("POST", "/promises", {"case-worker"}),
    ("POST", "/promises/0/redeem", {"case-worker"}),
    ("GET", "/promises/0", {"case-worker", "auditor", "applicant"}),
    ("GET", "/notices/0", {"case-worker", "auditor", "applicant"}),
    ("GET", "/promises/0/receipt", {"case-worker", "auditor", "applicant"}),
    ("GET", "/jobs/0", {"case-worker"}),
    ("DELETE", "/jobs/0", {"case-worker"}),
    ("POST", "/cases/0/link", {"case-worker"}),
    ("DELETE", "/cases/0/link", {"case-worker"}),
    ("DELETE", "/people/A-0", set()),
    ("DELETE", "/people?person=..", set()),
    ("GET", "/audit", {"auditor"}),
    ("POST", "/reload", set()),
    ("GET", "/metrics", {"auditor"}),
    ("GET", "/openapi.json", {"case-worker", "auditor"}),
]


def test_everyone_may_do_what_their_role_says_and_nothing_without_a_key(served, people):
    case = decided(served, people[:1])[0]["case"]
    link, _ = served.service.link(served.service.cases.get(case))
    served.keys["applicant"] = link.rpartition("/")[2]
    person = {"person": "A-0", "values": people[0]}
    bodies = {
        "/promises/0/redeem": {"values": people[0]}, "/reload": {}, "/decide": {"people": [person]},
        "/plans": {"people": [person]}, "/promises": {"people": [person]},
    }  # fmt: skip
    for method, path, roles in ROUTES:
        given = {"json": bodies[path]} if path in bodies else {}
        assert served(method, path, None, **given).status_code == 401, path
        assert served(method, path, "ract-wrong", **given).status_code == 401
        for role in ("applicant", "case-worker", "auditor", "admin"):
            status = served(method, path, role, **given).status_code
            allowed = role in roles | {"admin"}
            assert (status not in (401, 403)) == allowed, (method, path, role, status)
    assert served("GET", "/health", None).json() == {"status": "ok"}
    paths = {route.path for route in served.app.routes.routes if hasattr(route, "methods")}
    known = {re.sub("0|A-0", "{id}", path) for _, path, _ in ROUTES}
    unknown = {re.sub(r"{[\w:]+}", "{id}", path) for path in paths} - known
    pages = ("/my", "/desk", "/auditor", "/login", "/logout")
    assert {p for p in unknown if not p.startswith(pages)} <= {
        "/health",
        "/",
        "/people",
        "/people/{id}",
    }


def test_keys_end_and_wrong_ones_are_counted(served):
    key = served.service.state.all_keys()[0]["id"]
    role = served.service.state.all_keys()[0]["role"]
    served.service.state.revoke(key, by="Test")
    assert served("GET", "/openapi.json", role).status_code == 401
    rows = json.dumps(served.service.state.all_keys())
    assert not any(shown in rows for shown in served.keys.values())
    with served.service.ledger.store.reading() as db:
        held = str(db.execute(text("SELECT * FROM ract_serve_keys")).all())
    assert not any(shown in held for shown in served.keys.values())
    statuses = [served("GET", "/audit", f"ract-{k}").status_code for k in range(40)]
    assert statuses[0] == 401 and statuses[-1] == 429
    assert served("GET", "/audit", "admin").status_code == 200


def test_forms_of_other_sites_are_refused(served, refused):
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        answer = served.client.post("/my/accept", data={"way": "0"}, headers=headers)
        assert answer.status_code == 403
    same = {"origin": "http://127.0.0.1"}
    assert served.client.post("/my/plans", data={}, headers=same).status_code == 200

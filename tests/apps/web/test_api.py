"""The service for programs: what it answers, to whom, and what it refuses."""

import json
import logging
import re
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import numpy as np
from sqlalchemy import create_engine, text

from ract.apps.web import service as service_module
from ract.apps.web.live import Live


def decided(served, people, **more):
    """Decisions on everyone, kept as cases."""
    body = {"people": [{"person": f"A-{i}", "values": row} for i, row in enumerate(people)]}
    answer = served("POST", "/decide", json=body | {"keep": True} | more)
    assert answer.status_code == 200, answer.text
    return answer.json()["decisions"]


def first_refused(served, people):
    """Number, values and decision of the first who is refused and gets a promise."""
    for i, decision in enumerate(decided(served, people)):
        if not decision["accepted"]:
            body = {"people": [{"person": f"A-{i}", "values": people[i]}]}
            plan = served("POST", "/plans", json=body).json()["plans"][0]
            if plan["changes"]:
                return i, people[i], decision
    raise AssertionError("nobody has a plan")


def offered(served, person, values, **headers):
    body = {"people": [{"person": person, "values": values}]}
    answer = served("POST", "/promises", json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()["promises"][0]


def carried_out(served, promise):
    return dict(served.service.ledger.get(promise["id"]).after)


def test_from_a_decision_to_a_redeemed_promise(served, people):
    i, values, decision = first_refused(served, people)
    person = f"A-{i}"
    assert decision["decision"] == "refused" and decision["promise"] is None
    body = {"people": [{"person": person, "values": values}], "n_alternatives": 1}
    plan = served("POST", "/plans", json=body).json()["plans"][0]
    assert plan["text"] and plan["at_least"] and len(plan["alternatives"]) <= 1
    locked = plan["changes"][0]["feature"]
    body["people"][0]["locked"] = [locked]
    other = served("POST", "/plans", json=body).json()["plans"][0]
    assert locked not in [change["feature"] for change in other["changes"]]
    promise = offered(served, person, values, **{"idempotency-key": "one"})
    again = offered(served, person, values, **{"idempotency-key": "one"})
    assert again["id"] == promise["id"] and promise["by"] == "The case-worker"
    assert served("GET", f"/promises/{promise['id']}", "auditor").json() == promise
    path = f"/promises/{promise['id']}/redeem"
    back = served("POST", path, json={"values": values})
    assert back.status_code == 200 and not back.json()["accepted"] and back.json()["faults"]
    after = carried_out(served, promise)
    back = served("POST", path, json={"values": after}).json()
    assert back["accepted"] and back["promise"]["status"] == "redeemed"
    assert served("POST", path, json={"values": after}).status_code == 409
    case = served.service.cases.get(decision["case"])
    assert case.accepted and case.decision["promise"] == promise["id"]
    assert served("GET", "/audit", "auditor").json()["verified"]


def test_a_promise_decides_whatever_the_model_says(served, people, files, monkeypatch):
    i, values, _ = first_refused(served, people)
    promise = offered(served, f"A-{i}", values)
    after = carried_out(served, promise)
    (served.folder / "model.ract").write_bytes((files / "candidate.ract").read_bytes())
    refused = served("POST", "/reload", "admin", json={})
    if refused.status_code == 409:  # the guard
        assert "accepted all the same" in refused.json()["detail"]
        assert served.service.state.model_number() == 1
    answer = served("POST", "/reload", "admin", json={"force": True}).json()
    assert answer["changed"] and answer["promises"] == 1
    assert served.service.refresh() and served.service.live.number == 2
    again = served("POST", "/reload", "admin", json={"force": True}).json()
    assert not again["changed"] and again["model"] == 2
    monkeypatch.setattr(Live, "accepted", lambda live, frame: np.zeros(len(frame), bool))
    ask = {"people": [{"person": f"A-{i}", "values": after}]}
    looked = served("POST", "/decide", json=ask).json()["decisions"][0]
    assert looked["accepted"] and looked["promise"] == promise["id"]
    assert served.service.ledger.get(promise["id"]).status == "open"
    kept = served("POST", "/decide", json=ask | {"keep": True}).json()["decisions"][0]
    assert kept["accepted"] and kept["decision"] == "approved"
    assert served.service.ledger.get(promise["id"]).status == "redeemed"


def test_a_redemption_that_was_never_answered_is_answered_when_asked_again(served, people):
    """With the same key of the request; without one it is said that the promise is redeemed."""
    i, values, decision = first_refused(served, people)
    promise = offered(served, f"A-{i}", values)
    body, path = {"values": carried_out(served, promise)}, f"/promises/{promise['id']}/redeem"
    key = {"idempotency-key": "back"}
    answers = [served("POST", path, json=body, headers=key) for _ in range(2)]
    assert [answer.json()["accepted"] for answer in answers] == [True, True]
    assert served.service.cases.get(decision["case"]).accepted
    assert served("POST", path, json=body).status_code == 409
    other = {"values": values}
    assert served("POST", path, json=other, headers=key).status_code == 409


def test_a_model_is_exchanged_while_requests_go_on(served, people, files):
    before = served("POST", "/decide", json={"people": [{"values": people[0]}]}).json()["model"]
    (served.folder / "model.ract").write_bytes((files / "candidate.ract").read_bytes())
    assert served("POST", "/reload", "admin", json={}).status_code == 200  # nothing was promised
    deadline = time.monotonic() + 30
    while True:
        answer = served("POST", "/decide", json={"people": [{"values": people[0]}]})
        assert answer.status_code == 200
        if answer.json()["model"] != before:
            break
        assert time.monotonic() < deadline
    (served.folder / "model.ract").write_bytes(b"no model")
    assert served("POST", "/reload", "admin", json={}).status_code == 500
    assert served("POST", "/decide", json={"people": [{"values": people[0]}]}).status_code == 200


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
    assert {p for p in unknown if not p.startswith(pages)} <= {"/health", "/", "/people/{id}"}


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


def test_a_link_is_for_one_case_and_ends(served, people, monkeypatch):
    i, values, decision = first_refused(served, people)
    own, other = decision["case"], decided(served, people[:1])[0]["case"]
    promise = offered(served, f"A-{i}", values)
    path = f"/cases/{own}/link"
    link = served("POST", path).json()["link"]
    token = link.rpartition("/")[2]
    assert link.startswith("http://127.0.0.1/my/")
    assert served("GET", f"/notices/{own}", token).status_code == 200
    assert served("GET", f"/notices/{other}", token).status_code == 404
    assert served("GET", f"/promises/{promise['id']}", token).status_code == 200
    later = next(k for k, row in enumerate(people) if k != i)
    stranger = served.service.link(served.service.cases.of(f"A-{later}"))[0].rpartition("/")[2]
    assert served("GET", f"/promises/{promise['id']}", stranger).status_code == 404
    for wrong in (f"{token}x", f"{token}=", f"{token}.a", token[:-1], ".", "%C3%A9.a", "link"):
        answer = served("GET", f"/notices/{own}", wrong)
        assert answer.status_code in (401, 400), wrong
    session = served.service.session(served.service.state.all_keys()[0]["id"])
    assert served("GET", f"/notices/{own}", session).status_code == 401
    store = served.service.ledger.store
    monkeypatch.setattr(store, "_clock", lambda: datetime.now(UTC) + timedelta(days=40))
    assert served("GET", f"/notices/{own}", token).status_code == 401
    monkeypatch.setattr(store, "_clock", lambda: datetime.now(UTC) - timedelta(hours=1))
    assert served("GET", f"/notices/{own}", token).status_code == 200
    monkeypatch.setattr(store, "_clock", None)
    assert served("DELETE", path).status_code == 204
    assert served("GET", f"/notices/{own}", token).status_code == 401


HOSTILE = "'; DROP TABLE ract_events; --<script>alert(1)</script>{{ 7*7 }}"


def test_what_cannot_be_meant_is_refused_in_a_sentence(served, people):
    good = people[0]

    def refused(path, body, words, code=422):
        answer = served("POST", path, json=body)
        assert answer.status_code == code, answer.text
        assert list(answer.json()) == ["detail"] and words in answer.json()["detail"]

    for values, words in (
        ({k: v for k, v in good.items() if k != "Income"}, "values.Income: Field required"),
        (good | {"Shoes": 42}, "Shoes: Extra inputs"),
        (good | {"Income": "much"}, "valid number"),
        (good | {"Income": 1e300}, "less than or equal"),
        (good | {"Age": 40.5}, "valid integer"),
        (good | {"Purpose": HOSTILE}, "should be 'NewCar'"),
        (good | {"Guarantor": HOSTILE}, "valid boolean"),
        (good | {"Income": None}, "valid number"),
        (HOSTILE, "valid dictionary"),
    ):
        refused("/decide", {"people": [{"values": values}]}, words)
    one = {"person": "A", "values": good}
    refused("/decide", {"people": []}, "at least 1")
    refused("/decide", {"people": [one] * 1001}, "at most 1000")
    refused("/decide", {"people": [{"person": "x" * 201, "values": good}]}, "at most 200")
    refused("/decide", {"people": [{"values": good}], "keep": True}, "has none")
    refused("/decide", {"people": [{"person": "a\x00b", "values": good}], "keep": True}, "control")
    refused("/plans", {"people": [one | {"locked": [HOSTILE]}]}, "not a feature")
    refused("/plans", {"people": [one | {"bounds": {"Purpose": {"upper": 3}}}]}, "no bounds")
    both = {"Income": {"lower": 90000, "upper": 50000}}
    refused("/plans", {"people": [one | {"bounds": both}]}, "cannot lie above")
    refused("/promises", {"people": [one, one]}, "same key")
    refused("/promises", {"people": [one], "days": 4000}, "less than or equal")
    refused("/promises/0/redeem", {"values": good}, "no such promise", 404)
    raw = {"content-type": "application/json"}
    for body in (b"{", b"\xff", b"[]", b'{"people": [{"person": "\\ud800", "values": {}}]}', b""):
        answer = served("POST", "/decide", content=body, headers=raw)
        assert answer.status_code in (400, 422) and answer.json()["detail"]
    infinite = json.dumps({"people": [{"values": good | {"Income": float("inf")}}]})
    assert served("POST", "/decide", content=infinite, headers=raw).status_code == 422
    for path in (f"/promises/{HOSTILE}", "/notices/%00", f"/notices/{'0' * 32}"):
        assert served("GET", path, "admin").status_code == 404


def test_text_of_people_is_only_text(served, people):
    _, values, _ = first_refused(served, people)
    body = {"people": [{"person": HOSTILE, "values": values}], "keep": True}
    case = served("POST", "/decide", json=body).json()["decisions"][0]["case"]
    promise = offered(served, HOSTILE, values, **{"idempotency-key": HOSTILE[:50]})
    assert promise["person"] == HOSTILE
    page = served("GET", f"/notices/{case}").text
    assert "<script>" not in page and "&lt;script&gt;" in page and "{{ 7*7 }}" in page
    assert served("GET", f"/notices/{case}?form=json").json()["person"] == HOSTILE
    gone = served("DELETE", f"/people/{quote(HOSTILE, safe='')}", "admin").json()
    assert gone["promises"] == gone["cases"] == 1
    assert served("GET", "/audit", "auditor").json()["verified"]


def test_what_is_too_large_or_too_much_or_too_slow(serve, people, monkeypatch):
    served = serve(max_bytes=20_000, per_minute=40, time_limit=1.0)
    large = b"x" * 10_000_000
    assert served("POST", "/decide", content=large).status_code == 413
    parts = (large[:5000] for _ in range(2000))  # of a length that is not said before
    assert served("POST", "/decide", content=parts).status_code == 413
    with monkeypatch.context() as slow:
        slow.setattr(service_module.Service, "plans", lambda *_, **__: time.sleep(3))
        answer = served("POST", "/plans", json={"people": [{"values": people[0]}]})
    assert answer.status_code == 504 and "too long" in answer.json()["detail"]
    body = {"people": [{"values": people[0]}]}
    statuses = [served("POST", "/decide", json=body).status_code for _ in range(45)]
    assert statuses[0] == 200 and statuses[-1] == 429
    assert served("GET", "/audit", "auditor").status_code == 200  # others have limits of their own


def test_a_database_that_is_away_loses_nothing(served, people, tmp_path):
    i, values, _ = first_refused(served, people)
    promise = offered(served, f"A-{i}", values)
    store = served.service.ledger.store
    real = store.engine
    store.engine = create_engine(f"sqlite:///{tmp_path / 'gone' / 'x.db'}")
    for method, path, given in (
        ("GET", f"/promises/{promise['id']}", {}),
        ("POST", "/decide", {"json": {"people": [{"values": values}]}}),
        ("GET", "/audit", {}),
    ):
        answer = served(method, path, "admin", **given)
        assert answer.status_code == 503 and "What it has acknowledged" in answer.json()["detail"]
        assert "gone" not in answer.text and answer.headers["retry-after"]
    assert served("GET", "/health", None).status_code == 503
    store.engine.dispose()
    store.engine = real
    assert served("GET", "/health", None).status_code == 200
    assert served("GET", f"/promises/{promise['id']}").json() == promise


def test_a_row_that_was_changed_is_not_believed(served, people):
    i, values, _ = first_refused(served, people)
    promise = offered(served, f"A-{i}", values)
    with served.service.ledger.store.engine.begin() as db:
        db.execute(text("UPDATE ract_events SET details = replace(details, 'low', 'high')"))
    path = f"/promises/{promise['id']}"
    for answer in (
        served("GET", path), served("POST", f"{path}/redeem", json={"values": values}),
    ):  # fmt: skip
        assert answer.status_code == 500 and "not as it was written" in answer.json()["detail"]
    audit = served("GET", "/audit", "auditor")
    assert audit.status_code == 200 and not audit.json()["verified"] and audit.json()["faults"]


def test_whoever_is_erased_is_gone_from_cases_too(served, people):
    i, values, decision = first_refused(served, people)
    offered(served, f"A-{i}", values)
    cases = served.service.cases
    cases.add_note(cases.get(decision["case"]), "me", "A note.")
    served.service.link(cases.get(decision["case"]))
    gone = served("DELETE", f"/people/A-{i}", "admin")
    assert gone.status_code == 200
    assert gone.json() == {"promises": 1, "cases": 1, "everywhere": True}
    assert cases.of(f"A-{i}") is None and len(cases.search(most=100)) == len(people) - 1
    with served.service.ledger.store.reading() as db:
        held = db.execute(text("SELECT details FROM ract_events")).scalars().all()
        links = db.execute(text("SELECT person FROM ract_serve_tokens")).all()
    assert not any(f'"A-{i}"' in (details or "") for details in held) and links == []
    assert served("GET", f"/notices/{decision['case']}").status_code == 404
    assert served("GET", "/audit", "auditor").json()["verified"]


def test_notices_come_in_three_forms_and_languages(served, people):
    _, _, decision = first_refused(served, people)
    path = f"/notices/{decision['case']}"
    page = served("GET", path)
    assert page.headers["content-type"].startswith("text/html")
    assert "unsafe-inline" in page.headers["content-security-policy"]
    assert "script-src" not in page.headers["content-security-policy"]
    german = served("GET", f"{path}?form=text&language=de").text
    assert "ENTSCHEIDUNG ÜBER IHREN ANTRAG" in german and "WARUM" in german
    record = served("GET", f"{path}?form=json&language=fr").json()
    assert record["language"] == "fr" and record["reasons"] and record["plans"]
    assert served("GET", f"{path}?form=exe").status_code == 422
    accepted = next(d for d in decided(served, people) if d["accepted"])
    assert served("GET", f"/notices/{accepted['case']}").status_code == 404


def test_the_description_has_types_of_the_model_and_examples(served):
    described = served("GET", "/openapi.json").json()
    values = described["components"]["schemas"]["Values"]
    assert values["properties"]["Purpose"]["enum"] == [
        "NewCar",
        "UsedCar",
        "Renovation",
        "Business",
    ]
    assert (
        values["properties"]["Age"]["type"] == "integer" and values["additionalProperties"] is False
    )
    example = values["examples"][0]
    answer = served("POST", "/decide", json={"people": [{"values": example}]})
    assert answer.status_code == 200
    assert "bearer" in json.dumps(described["components"]["securitySchemes"])
    assert {"/decide", "/plans", "/promises", "/audit"} <= set(described["paths"])
    assert not any(path.startswith(("/my", "/desk")) for path in described["paths"])


def test_the_audit_counts_and_judges(served, people):
    decisions = decided(served, people)
    i, values, _ = first_refused(served, people)
    offered(served, f"A-{i}", values)
    found = served("GET", "/audit", "auditor").json()
    assert found["cases"] == len(people)
    assert found["accepted"] == sum(d["accepted"] for d in decisions)
    assert found["promises"]["open"] == 1 and found["events"] > 1 + 2 * len(people)
    assert found["signature"] and found["key"]
    assert sum(found["earned"].values()) > 0


def test_metrics_are_as_prometheus_reads_them(served, people):
    def decisions():
        lines = served("GET", "/metrics", "auditor").text.splitlines()
        known = [line for line in lines if line.startswith('ract_requests_total{route="/decide"')]
        return lines, sum(float(line.rpartition(" ")[2]) for line in known)

    before = decisions()[1]
    served("POST", "/decide", json={"people": [{"values": people[0]}]})
    lines, after = decisions()
    assert after == before + 1
    assert 'ract_promises{status="open"} 0.0' in lines and "ract_model 1.0" in lines
    assert any(line.startswith("ract_request_seconds_bucket{") for line in lines)


def test_nothing_secret_is_in_the_log(served, people, caplog):
    caplog.set_level(logging.DEBUG)
    i, _, decision = first_refused(served, people)
    link = served("POST", f"/cases/{decision['case']}/link").json()["link"]
    served.client.get(link)
    served("GET", "/audit", "ract-wrong-key")
    served("GET", f"/promises/{HOSTILE}")
    logged = "\n".join(record.getMessage() for record in caplog.records if "ract" in record.name)
    assert "POST /decide 200" in logged and "/my/{token}" in logged
    secrets = [*served.keys.values(), link.rpartition("/")[2], "ract-wrong-key", f"A-{i}", HOSTILE]
    assert not any(secret in logged for secret in secrets)


def test_an_error_of_ours_is_a_sentence_and_shows_no_values(served, people, monkeypatch, caplog):
    def fails(*_, **__):
        raise RuntimeError(f"Income of A-17 is {10_000 + 2_345}")

    monkeypatch.setattr(service_module.Service, "decide", fails)
    served.client._transport.raise_server_exceptions = False
    answer = served("POST", "/decide", json={"people": [{"values": people[0]}]})
    assert answer.status_code == 500 and "12345" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text

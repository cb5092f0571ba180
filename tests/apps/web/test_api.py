"""The service for programs: what it answers, to whom, and what it refuses."""

import json
import threading
import time
from datetime import timedelta
from urllib.parse import quote

import numpy as np
from sqlalchemy import text

from ract.apps.ledger import Request
from ract.apps.web import state
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


def test_an_idempotency_key_with_another_body_is_refused(served, people):
    i, values, _ = first_refused(served, people)
    key = {"idempotency-key": "one"}
    promise = offered(served, f"A-{i}", values, **key)
    body = {"people": [{"person": f"A-{i}", "values": values}], "days": 7}
    assert served("POST", "/promises", json=body, headers=key).status_code == 409
    assert [p.id for p in served.service.ledger.of(f"A-{i}")] == [promise["id"]]


def wait_for_job(served, id, states):
    deadline = time.monotonic() + 120
    while True:
        answer = served("GET", f"/jobs/{id}").json()
        if answer["state"] in states:
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)


def test_a_job_may_take_long(served, people, monkeypatch):
    """It was lost, and so cancelled, a minute after it was asked for, and had a request's time."""
    monkeypatch.setattr(state, "SILENT", timedelta(0))
    real, seconds = Live.plans, set()

    def plans(live, rows, rules, each, **options):
        seconds.add(each)
        time.sleep(0.01)
        return real(live, rows, rules, each, **options)

    monkeypatch.setattr(Live, "plans", plans)
    body = {"people": [{"person": f"J-{k}", "values": row} for k, row in enumerate(people)]}
    later = {"prefer": "respond-async"}
    id = served("POST", "/promises", json=body, headers=later).json()["job"]
    done = wait_for_job(served, id, {"done", "failed", "cancelled"})
    assert done["state"] == "done" and len(done["promises"]) > 5
    assert min(seconds) > 2 * served.app.settings.time_limit / len(people)


def test_jobs_cost_what_they_search(serve, people):
    """Whoever had no seconds of searches left could begin jobs, as many as they liked."""
    served = serve(search_seconds=0.001)
    body = {"people": [{"person": f"J-{k}", "values": row} for k, row in enumerate(people)]}
    later = {"prefer": "respond-async"}
    id = served("POST", "/promises", json=body, headers=later).json()["job"]
    assert wait_for_job(served, id, {"done", "failed"})["state"] == "done"
    deadline = time.monotonic() + 60
    while served.app.gate._queues["job"].running:
        assert time.monotonic() < deadline
    answer = served("POST", "/promises", json=body, headers=later)
    assert answer.status_code == 429 and answer.headers["retry-after"]
    with served.service.ledger.store.reading() as db:
        states = db.execute(text("SELECT state FROM ract_serve_jobs ORDER BY at")).scalars().all()
    assert sorted(states) == ["done", "failed"]


def test_a_job_with_an_idempotency_key_is_refused(served, people):
    """The key said nothing: whoever asked again had two jobs, and two promises."""
    body = {"people": [{"person": "J", "values": people[0]}]}
    both = {"prefer": "respond-async", "idempotency-key": "one"}
    answer = served("POST", "/promises", json=body, headers=both)
    assert answer.status_code == 422 and "Idempotency-Key" in answer.json()["detail"]


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

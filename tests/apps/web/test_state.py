"""What worker processes share in the database: believed only with a signed event."""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text

from tests.apps.web.test_api import decided, first_refused, offered


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
    assert served("GET", "/audit", "auditor").status_code == 200  # what was believed once
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

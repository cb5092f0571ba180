"""The application: refusals are sentences, whatever has failed."""

import time

from sqlalchemy import create_engine

from ract.apps.web import service as service_module
from tests.apps.web.test_api import first_refused, offered


def test_what_is_too_large_or_too_much_or_too_slow(serve, people, monkeypatch):
    served = serve(per_minute=40, time_limit=1.0)
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


def test_an_error_of_ours_is_a_sentence_and_shows_no_values(served, people, monkeypatch, caplog):
    def fails(*_, **__):
        raise RuntimeError(f"Income of A-17 is {10_000 + 2_345}")

    monkeypatch.setattr(service_module.Service, "decide", fails)
    served.client._transport.raise_server_exceptions = False
    answer = served("POST", "/decide", json={"people": [{"values": people[0]}]})
    assert answer.status_code == 500 and "12345" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text

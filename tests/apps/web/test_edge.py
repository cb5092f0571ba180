"""The edge: who asks is known before anything is read, and every answer has its headers."""

import logging
import re

from ract.apps.web.pages import PAGES
from tests.apps.web.test_api import HOSTILE, first_refused


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


def test_bodies_that_never_come_keep_nobody_waiting(serve, people):
    """Strangers begin to log in and send nothing more; whoever has a key is answered."""
    import asyncio

    served = serve(time_limit=3)

    async def ask():
        waits = asyncio.Event()
        scope = {
            "type": "http", "method": "POST", "path": "/login", "raw_path": b"/login",
            "query_string": b"", "headers": [(b"content-length", b"100")], "scheme": "http",
            "client": ("10.0.0.9", 1), "server": ("127.0.0.1", 80), "root_path": "",
        }  # fmt: skip

        async def receive():
            await waits.wait()

        async def begin(sent):
            async def send(message):
                sent.append(message)

            await served.app(dict(scope), receive, send)

        answers = [[] for _ in range(100)]
        strangers = [asyncio.create_task(begin(sent)) for sent in answers]
        await asyncio.sleep(0)
        body = {"people": [{"values": people[0]}]}
        found = await asyncio.to_thread(served, "POST", "/decide", json=body)
        await asyncio.gather(*strangers)
        return found.status_code, {sent[0]["status"] for sent in answers}

    assert asyncio.run(ask()) == (200, {408})


def test_a_burst_is_refused_before_it_is_known_who_asks(serve, people, monkeypatch):
    """Of twenty at once, one thread works on four; the others are refused meanwhile.

    Whose request has come whole may send the next one; a body that is half there is not read.
    """
    import asyncio

    served = serve(threads=1)

    async def ask():
        async def identify(request):
            await asyncio.Event().wait()

        monkeypatch.setattr(served.app.gate, "identify", identify)
        key = f"Bearer {served.keys['auditor']}".encode()
        scope = {
            "type": "http", "method": "GET", "path": "/openapi.json", "raw_path": b"/openapi.json",
            "query_string": b"", "headers": [(b"authorization", key)], "scheme": "http",
            "client": ("10.0.0.9", 1), "server": ("127.0.0.1", 80), "root_path": "",
        }  # fmt: skip
        answers = [[] for _ in range(20)]

        async def begin(sent, is_whole):
            async def receive():
                return {"type": "http.request", "body": b"", "more_body": not is_whole}

            async def send(message):
                sent.append(message)

            await served.app(dict(scope), receive, send)

        asked = [asyncio.create_task(begin(sent, k % 2)) for k, sent in enumerate(answers)]
        _, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
        while len(waiting) > 4:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in asked[:4]:
            task.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        return [sent[0] for sent in answers[4:]]

    refused = asyncio.run(ask())
    assert [one["status"] for one in refused] == [503] * 16
    closed = [(b"connection", b"close") in one["headers"] for one in refused]
    assert closed == [True, False] * 8


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


def test_headers_keep_browsers_safe(served, refused):
    for path in ("/my", "/login", "/static/page.js"):
        headers = served.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy and "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY" and headers["cache-control"] == "no-store"
    page = served.client.get("/my").text
    assert not re.search(r"<script>|style=|onclick=|https?://", page)
    cookie = served.client.get(served.service.link(refused)[0]).headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Path=/my" in cookie

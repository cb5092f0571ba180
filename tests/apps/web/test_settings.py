"""Settings: what a request says takes the place of none."""

from tests.apps.web.test_api import first_refused


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

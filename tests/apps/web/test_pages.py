"""Pages without a browser: who sees them, what they say, and what forms do."""

import re

import pytest
from limits import RateLimitItemPerMonth

from ract import find_recourse
from ract.apps.ledger import check_receipt
from ract.apps.web.live import PersonalRules
from ract.apps.web.views import View
from ract.recourse import find_levers

HOSTILE = "<script>alert(1)</script>'; DROP TABLE ract_events; --{{ 7*7 }}"


def sign_in(served, role):
    answer = served.client.post("/login", data={"key": served.keys[role]})
    assert answer.status_code == 303
    return answer.headers["location"]


def fields(page):
    """Names and values of the fields of a page's forms of values, as a browser would send them."""
    page = page.partition("/redeem")[0]
    found = dict(re.findall(r'name="(value:\w+)" value="([^"]*)" step', page))
    select = r'<select name="(value:\w+)"(?: required)?>(.*?)</select>'
    for name, options in re.findall(select, page, re.S):
        found[name] = re.search(r'value="([^"]*)" selected', options)[1]
    for name in re.findall(r'name="(value:\w+)" value="1" checked', page):
        found[name] = "1"
    return found


def redeeming(promise, now, evidence="seen"):
    """Fields of the form that redeems a promise."""
    given = {"promise": promise.id}
    for name, value in now.items():
        given[f"value:{name}"] = ("1" if value else "") if isinstance(value, bool) else str(value)
        if value != promise.before[name]:
            given[f"evidence:{name}"] = evidence
    return given


def test_everyone_is_led_to_their_own_pages_only(served):
    for role, there in (("case-worker", ["/desk"]), ("auditor", ["/auditor"])):
        sign_in(served, role)
        page = served.client.get(there[0]).text
        assert re.findall(r'href="(/desk|/auditor)"', page) == there
    sign_in(served, "admin")
    assert re.findall(r'href="(/desk|/auditor)"', served.client.get("/desk").text) == [
        "/desk", "/auditor",
    ]  # fmt: skip


def test_the_story_of_an_applicant_without_a_script(served, refused):
    client, service = served.client, served.service
    page = client.get("/my").text
    assert "Decision on your application" in page and "I cannot do that" in page
    first = re.search(r'name="lock" value="(\w+)" data-lock', page)[1]
    other = client.post("/my/plans", data={"lock": first}).text
    assert f'value="{first}" checked' in other and f'data-lock="{first}"' not in other
    part = client.post("/my/plans", data={"lock": first}, headers={"x-fragment": "1"}).text
    assert part.strip() in other and "<html" not in part
    token = re.search(r'name="way" value="(\w+)"', part)[1]
    for _ in range(2):  # pressed twice
        answer = client.post("/my/accept", data={"lock": first, "way": token})
        assert answer.status_code == 303
    (promise,) = service.ledger.of(refused.person)
    assert promise.by == "applicant" and first not in promise.region.asked
    page = client.get("/my").text
    assert "Our promise to you" in page and service.settings.promise_days == 180
    assert View(service, "en").day(service.last_day()) in page
    receipt = client.get(f"/my/receipt/{promise.id}").json()
    assert check_receipt(receipt, service.ledger.store.ring) == []
    assert client.get(f"/my/receipt/{'0' * 32}").status_code == 403
    values = fields(page) | {f"value:{k}": str(v) for k, v in promise.after.items()}
    for name, value in promise.after.items():
        if isinstance(value, bool):
            values[f"value:{name}"] = "1" if value else ""
    assert client.post("/my/report", data=values).status_code == 303
    page = client.get("/my").text
    assert "our promise means a yes" in page and not service.cases.get(refused.id).accepted
    sign_in(served, "case-worker")
    desk = client.get("/desk", params={"search": refused.person}).text
    assert "has reported a change" in desk
    case = client.get(f"/desk/{refused.id}").text
    assert "Check them before you decide" in case and " → " in case and "When promised" in case
    unseen = redeeming(promise, promise.after, evidence="")
    answer = client.post(f"/desk/{refused.id}/redeem", data=unseen)
    assert answer.status_code == 200 and "Write down what shows these changes" in answer.text
    assert service.ledger.get(promise.id).status == "open"
    given = redeeming(promise, promise.after, evidence="Payslip of May")
    assert client.post(f"/desk/{refused.id}/redeem", data=given).status_code == 303
    happened = service.ledger.history(refused.person)
    assert set(happened["details"][1]["evidence"].values()) == {"Payslip of May"}
    assert happened["by"][1] == "The case-worker"
    assert service.ledger.get(promise.id).status == "redeemed"
    assert "accepted by a promise" in client.get(f"/desk/{refused.id}").text
    page = client.get("/my").text
    assert "We said yes" in page and "we kept our promise" in page


def test_what_a_case_worker_does(served, refused, people):
    client, service = served.client, served.service
    assert client.get("/desk").headers["location"] == "/login"
    assert client.post("/login", data={"key": "ract-guessed"}).status_code == 401
    assert sign_in(served, "case-worker") == "/desk"
    page = client.get(f"/desk/{refused.id}").text
    token = re.search(r'name="way" value="(\w+)"', page)[1]
    assert client.post(f"/desk/{refused.id}/offer", data={"way": token}).status_code == 303
    (promise,) = service.ledger.of(refused.person)
    assert promise.by == "The case-worker"
    given = fields(page)
    answer = client.post(f"/desk/{refused.id}/redeem", data=redeeming(promise, promise.before))
    assert answer.status_code == 200 and "This is missing" in answer.text
    client.post(f"/desk/{refused.id}/note", data={"text": HOSTILE})
    page = client.get(f"/desk/{refused.id}").text
    assert "<script>alert" not in page and "&lt;script&gt;" in page and "{{ 7*7 }}" in page
    link = client.post(f"/desk/{refused.id}/link").text
    address = re.search(r'value="(http://127.0.0.1/my/[\w.-]+)"', link)[1]
    assert client.get(address).status_code == 303
    assert "do not work any more" in client.post(f"/desk/{refused.id}/unlink").text
    assert client.get(address).status_code == 401
    client.post(f"/desk/{refused.id}/withdraw", data={"promise": promise.id, "reason": "Forged"})
    assert service.ledger.get(promise.id).status == "withdrawn"
    assert "withdrawn until" in client.get(f"/desk/{refused.id}").text
    client.get(service.link(refused)[0])
    page = client.get("/my").text
    assert "A promise was withdrawn" in page and "Forged" in page
    new = client.post("/desk", data=given | {"person": HOSTILE})
    assert new.status_code == 303
    assert "<script>alert" not in client.get(new.headers["location"]).text
    assert "<script>alert" not in client.get("/desk", params={"search": HOSTILE}).text
    wrong = client.post("/desk", data=given | {"person": "A-x", "value:Income": HOSTILE})
    assert (
        wrong.status_code == 422 and "valid number" in wrong.text and "<script>a" not in wrong.text
    )
    assert client.post(f"/desk/{refused.id}/fly").status_code == 403
    assert client.get("/desk/0").status_code == 404
    assert client.get(f"/desk/{refused.id}/notice").status_code == 200
    assert client.get("/auditor").status_code == 403
    token = client.cookies["ract_session"]
    foreign = {"origin": "http://evil.example"}
    assert client.post("/logout", headers=foreign).status_code == 403
    assert client.post("/logout").headers["location"] == "/login"
    assert client.get("/desk").status_code == 303
    client.cookies.set("ract_session", token)
    stolen = client.get("/desk")
    client.cookies.delete("ract_session")
    assert stolen.status_code == 303 and service.state.in_session(token) is None
    key = {"key": served.keys["case-worker"]}
    assert client.post("/login", data=key, headers=foreign).status_code == 403
    assert bool(service.ledger.verify())


def test_the_desk_counts_its_cases_and_turns_pages(served, people, monkeypatch):
    monkeypatch.setattr("ract.apps.web.pages.MOST_FOUND", 4)
    monkeypatch.setattr(served.service.cases.search.__func__, "__defaults__", ("", 4, 0))
    values, n = people[0], 9
    served.service.decide([f"T&T-{k}" for k in range(n)], [values] * n, True, "Test")
    sign_in(served, "case-worker")
    seen = []
    for page in (1, 2, 3):
        text = served.client.get("/desk", params={"search": "T&T", "page": page}).text
        assert f"Cases found: {n}, page {page} of 3" in text
        seen += re.findall(r">T&amp;T-(\d)</a>", text)
        assert ("Newer cases" in text) == (page > 1) and ("Older cases" in text) == (page < 3)
    assert seen == [str(k) for k in reversed(range(n))]
    assert 'href="?search=T%26T&amp;page=2"' in text
    far = served.client.get("/desk", params={"search": "T&T", "page": 10**6}).text
    assert "page 3 of 3" in far


def test_new_cases_start_empty(served):
    sign_in(served, "case-worker")
    page = served.client.get("/desk").text
    given = fields(page)
    assert set(given.values()) == {""} and len(given) > 5
    answer = served.client.post("/desk", data=given | {"person": "E-1"})
    assert answer.status_code == 422 and served.service.cases.of("E-1") is None


@pytest.mark.filterwarnings("ignore::ract.evaluation.certificates.certify.CertificateWarning")
def test_what_an_auditor_sees(served, refused):
    client, service = served.client, served.service
    way = next(iter(service.ways(refused, PersonalRules()).each))
    service.accept(refused, PersonalRules(), way, "Test")
    assert sign_in(served, "auditor") == "/auditor"
    page = client.get("/auditor").text
    assert "The ledger is verified: nothing was changed." in page and refused.person in page
    found = service.ledger.verify()
    assert page.index("Cases") < page.index("Promises") < page.index(found.head)
    assert found.head in page and found.signed.signature in page and "earned" in page
    report = client.get("/auditor/report")
    assert report.status_code == 200 and "Audit of the newest" in report.text
    with service.ledger.store.engine.begin() as db:
        db.exec_driver_sql("UPDATE ract_events SET at = '2020' WHERE kind = 'offered'")
    page = client.get("/auditor").text
    assert "The ledger failed verification" in page and " was changed" in page


def test_pages_say_what_is_wrong_in_the_language_of_their_reader(served, refused, monkeypatch):
    client = served.client
    for link in ("x", "a.b", served.service.session("0")):
        answer = client.get(f"/my/{link}", headers={"accept-language": "de"})
        assert answer.status_code == 401 and "Bitte fragen Sie uns nach einem neuen" in answer.text
    gone = client.post("/my/accept", data={"way": "0"})
    assert gone.status_code == 404 and "Please look again" in gone.text
    wrong = client.post("/my/report", data={"value:Income": HOSTILE})
    assert wrong.status_code == 422 and "<script>alert" not in wrong.text
    chosen = client.get("/my?language=fr")
    assert "Décision" in chosen.text and 'lang="fr"' in chosen.text
    assert "Décision" in client.get("/my").text  # from now on
    client.cookies.clear()
    assert client.get("/my").status_code == 401


def test_a_model_that_says_yes_since_is_told_to_the_applicant(served, refused, monkeypatch):
    monkeypatch.setattr(type(served.service.live), "accepted", lambda live, frame: [True])
    assert "Our rules have changed" in served.client.get("/my").text
    sign_in(served, "case-worker")
    assert served.client.get(f"/desk/{refused.id}").status_code == 200


def test_an_applicant_sees_what_is_enough_and_tries_values(served, refused):
    client, service = served.client, served.service
    assert 'href="/my/try"' in client.get("/my").text
    page = client.get("/my/try").text
    live = service.live
    frame = live.frame([refused.values])
    levers = find_levers(live.model, frame)
    said = re.findall(r"<li[^>]*>([^<]+)</li>", page.partition('id="try"')[0])
    label = View(service, "en").label
    for name in live.actionable:
        (line,) = [one for one in said if one.startswith(f"{label(name)} alone: ")]
        assert (" alone: yes" in line) == bool(levers.enough(0, name))
    assert sum(": yes, with" in one for one in said) == len(levers.sets)
    given = fields(page)
    assert given
    today = client.post("/my/try", data=given, headers={"x-fragment": "1"})
    assert "<html" not in today.text and "the distance to a yes would be" in today.text
    (plan,) = find_recourse(live.model, frame)
    far = f"{float(f'{plan.cost:.2g}'):g}"
    assert f"would be {far}, and today it is {far}" in today.text
    for change in plan.changes:
        given[f"value:{change.feature}"] = (
            "1" if change.after is True else "" if change.after is False else str(change.after)
        )
    whole = client.post("/my/try", data=given).text
    assert "With these values, our rules of today mean a yes." in whole and "<html" in whole
    assert service.cases.get(refused.id).values == refused.values  # nothing is kept
    assert service.cases.get(refused.id).reported is None
    assert client.post("/my/try", data=given | {"value:Income": "much"}).status_code == 422
    german = client.get("/my/try", headers={"accept-language": "de"}).text
    assert "Was würde genügen?" in german and " allein: " in german


def test_who_tries_too_many_values_waits(served, refused, monkeypatch):
    monkeypatch.setitem(
        served.app.gate._most, "tries", RateLimitItemPerMonth(3, namespace="few tries")
    )
    given = fields(served.client.get("/my/try").text)
    answers = [served.client.post("/my/try", data=given) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 3 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) > 20 * 86400
    assert "100 sets of values in 30 days" in answers[-1].text
    # The page of someone who has reported says what the model says of it.
    assert served.client.post("/my/report", data=given).status_code == 429
    assert served.client.get("/my").status_code == 200  # all else goes on


def test_trying_is_for_someone_who_is_refused(served, people):
    for i, row in enumerate(people):
        (made,) = served.service.decide([f"Y-{i}"], [row], True, "Test")
        if made.accepted:
            served.client.get(served.service.link(served.service.cases.get(made.case))[0])
            answer = served.client.get("/my/try")
            assert answer.status_code == 303 and answer.headers["location"] == "/my"
            return
    raise AssertionError("nobody is accepted")

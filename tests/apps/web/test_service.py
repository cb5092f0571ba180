"""What the service does: models are exchanged, people are erased, two people confirm."""

import json
from urllib.parse import quote

import pytest
from sqlalchemy import text

from ract.apps.web.service import publish_model
from tests.apps.web.test_api import carried_out, decided, first_refused, offered
from tests.apps.web.test_pages import redeeming, sign_in


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


def test_two_decisions_on_one_person_are_not_one_request(served, people):
    """The first redeemed a promise, and the second refused the person all the same."""
    body = {"people": [{"person": "D", "values": row} for row in people[:2]]}
    answer = served("POST", "/decide", json=body | {"keep": True})
    assert answer.status_code == 422 and "same key" in answer.json()["detail"]
    assert served("POST", "/decide", json=body).status_code == 200


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


def test_four_eyes(serve, people):
    """What redeems or withdraws a promise is done when somebody else asks for the same."""
    served = serve(four_eyes=True)
    service, client = served.service, served.client
    rows = [row for row in people if not service.live.accepted([row])[0]][:6]
    keys = [f"F-{k}" for k in range(len(rows))]
    first, second = service.offer(keys, service.plans(rows), by="Desk")[:2]
    (made,) = service.decide([first.person], [dict(first.before)], True, "Desk")
    given = redeeming(first, first.after)
    sign_in(served, "case-worker")
    for _ in range(2):  # the same person twice is not two
        page = client.post(f"/desk/{made.case}/redeem", data=given).text
        assert "A second person has to confirm it" in page
    assert service.ledger.get(first.id).status == "open"
    sign_in(served, "admin")
    other = redeeming(first, first.after | {"Income": first.after["Income"] + 1})
    assert "second person" in client.post(f"/desk/{made.case}/redeem", data=other).text
    assert client.post(f"/desk/{made.case}/redeem", data=given).status_code == 303
    assert service.ledger.get(first.id).status == "redeemed"
    assert not service.withdraw(second, "Forged.", "One")
    assert service.withdraw(second, "Forged.", "Two")
    assert service.ledger.get(second.id).status == "withdrawn" and bool(service.ledger.verify())


@pytest.mark.parametrize("four_eyes", [False, True])
def test_deciding_again_redeems_nothing_that_others_must_look_at(four_eyes, serve, people, files):
    """One click with what an applicant had reported redeemed a promise, and nobody else saw it."""
    served = serve(four_eyes=four_eyes)
    service, ledger = served.service, served.service.ledger
    rows = [row for row in people if not service.live.accepted([row])[0]]
    made = service.offer([f"F-{k}" for k in range(len(rows))], service.plans(rows), by="Desk")
    content = (files / "candidate.ract").read_bytes()
    publish_model(ledger, service.state, content, by="Test", force=True)
    assert served.service.refresh()
    promise = next(p for p in made if not service.live.accepted([p.before, p.after]).any())
    (case,) = service.decide([promise.person], [dict(promise.before)], True, "Desk")
    whole = {f.name for f in service.live.space if f.kind == "integer"}
    after = {name: int(v) if name in whole else v for name, v in promise.after.items()}
    form = {f"value:{name}": str(value) for name, value in after.items()}
    sign_in(served, "case-worker")
    for path, more in ((f"/desk/{case.case}/decide", {}), ("/desk", {"person": promise.person})):
        page = served.client.post(path, data=form | more)
        assert page.status_code == 200 and "redeem it below, with evidence" in page.text
    assert ledger.get(promise.id).status == "open"
    body = {"people": [{"person": promise.person, "values": after}]}
    for keep in (False, True):
        (found,) = served("POST", "/decide", json=body | {"keep": keep}).json()["decisions"]
        assert found["promise"] == promise.id and found["accepted"] != four_eyes
    assert ledger.get(promise.id).status == ("open" if four_eyes else "redeemed")
    assert service.cases.get(case.case).accepted != four_eyes

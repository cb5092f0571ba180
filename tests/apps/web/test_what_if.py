"""Trying values: what is enough, and how far values are from a yes."""

import re

from ract import find_recourse
from ract.apps.web.views import View
from ract.recourse import find_levers
from tests.apps.web.test_pages import fields


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


def test_trying_is_for_someone_who_is_refused(served, people):
    for i, row in enumerate(people):
        (made,) = served.service.decide([f"Y-{i}"], [row], True, "Test")
        if made.accepted:
            served.client.get(served.service.link(served.service.cases.get(made.case))[0])
            answer = served.client.get("/my/try")
            assert answer.status_code == 303 and answer.headers["location"] == "/my"
            return
    raise AssertionError("nobody is accepted")

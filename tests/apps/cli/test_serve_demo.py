"""``ract serve --demo``: something to see for everyone, and labels in every language."""

import re

from ract.apps.cli.serve_demo import LABELS, LANGUAGES, WORDS, prepare_demo
from ract.apps.ledger import Ledger
from ract.apps.web.keys import LINK
from ract.apps.web.live import PersonalRules
from ract.apps.web.service import Service, publish_model
from ract.apps.web.settings import Settings
from ract.apps.web.state import ServiceState
from ract.apps.web.views import View
from ract.data.datasets import load_loans


def test_the_demonstration_has_something_for_everyone(tmp_path, capsys):
    model, files, show = prepare_demo(tmp_path)
    settings = Settings(str(tmp_path / "demo.db"), str(model), tuple(map(str, files)))
    with Ledger(settings.ledger) as ledger:
        publish_model(ledger, ServiceState(ledger.store), model.read_bytes(), by="Test")
    show(settings, "http://127.0.0.1:8000")
    said = capsys.readouterr().err
    assert all(role in said for role in ("case-worker", "auditor", "admin"))
    service = Service(settings)
    token = re.search(r"/my/(\S+)", said)[1]
    case = service.cases.get(service.state.subject_of(LINK, token))
    assert not case.accepted and len(service.ways(case, PersonalRules()).each) == 3
    audit = service.audit()
    assert 0 < audit.lasting <= 1 and sum(audit.earned.values()) > 0
    assert audit.verified and audit.promises["open"] > 0
    # What is shown can be done before it ends, by paces that are written down again here.
    promises = service.ledger.open()
    assert len(promises) > 1
    for promise in promises:
        check_in_time(promise.before, promise.after, (promise.expires - promise.offered).days)
    for way in service.ways(case, PersonalRules()).each.values():
        assert way[0].month <= 5
        changes = [{"feature": c.feature, "from": c.before, "to": c.after} for c in way[0].changes]
        bars = View(service, "en")._timeline(changes)
        assert max(bar["months"] for bar in bars) == bars[0]["of"] == way[0].month
        for before, after in zip(
            way.people.to_dict("records"), way.counterfactuals.to_dict("records"), strict=True
        ):
            check_in_time(before, after, settings.promise_days)
    service.close()


def check_in_time(before, after, days):
    months = days / (365.25 / 12)
    assert after["Education"] == before["Education"] and months < 24
    assert after["YearsEmployed"] - before["YearsEmployed"] <= months / 12
    assert before["ExistingLoans"] - after["ExistingLoans"] <= months / 3
    assert after["Income"] <= before["Income"] * (1 + 0.1 * months / 12)
    assert before["Debt"] - after["Debt"] <= 1_000 * months
    assert after["Savings"] - before["Savings"] <= 1_000 * months


def test_everything_has_a_label_in_each_language():
    loans = load_loans(10)
    assert LABELS.keys() == set(loans.frame.columns)
    words = {word for feature in loans.actions for word in feature.categories or ()}
    assert WORDS.keys() == {word for word in words if isinstance(word, str)}
    for labels in (*LABELS.values(), *WORDS.values()):
        assert tuple(labels) == LANGUAGES and all(labels.values())

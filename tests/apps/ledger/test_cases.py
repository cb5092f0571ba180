"""Cases: decisions, reports and notes are events, kept with what they decide or not at all."""

from datetime import timedelta

import pytest
from sqlalchemy import select, text

from ract.apps.ledger import Ledger
from ract.apps.ledger.tables import events
from tests.apps.ledger.test_redeem import decided, numbered

DAYS = timedelta(days=90)


@pytest.fixture
def ledger(tmp_path, ring):
    with Ledger(tmp_path / "promises.db", keys=ring) as opened:
        yield opened


def test_who_did_what_is_in_the_chain(ledger, plans):
    made = ledger.offer(plans, expires=DAYS, by="Desk")
    ledger.decide([made[0].person], [made[0].before], [False], model="m", by="J. Doe")
    case = ledger.cases.of(made[0].person)
    ledger.cases.add_note(case, "A. Smith", "Called.")
    ledger.cases.report(case, made[0].after, "applicant")
    ledger.redeem(made[0].person, made[0].after, evidence={"Income": "payslip"}, by="J. Doe")
    with ledger.store.reading() as db:
        rows = db.execute(select(events.c.kind, events.c.by).order_by(events.c.number)).all()
    done = ["decided", "noted", "reported", "redeemed", "decided"]
    assert rows[len(made) :] == list(
        zip(done, ["J. Doe", "A. Smith", "applicant", "J. Doe", "J. Doe"], strict=True)
    )
    assert bool(ledger.verify())
    notes = [(note.by, note.text) for note in ledger.cases.notes(case.id)]
    assert notes[1] == ("A. Smith", "Called.") and "by promise" in notes[2][1]
    with ledger.store.engine.begin() as db:
        db.execute(text("UPDATE ract_events SET by = 'Somebody else' WHERE kind = 'noted'"))
    assert "was changed" in str(ledger.verify())


def test_a_redemption_and_its_case_are_kept_together_or_not_at_all(where, plans, monkeypatch):
    with Ledger(where) as ledger:
        promise = ledger.offer(plans, expires=DAYS, people=numbered(plans, "both"))[0]
        case = decided(ledger, promise)
        with monkeypatch.context() as broken:
            broken.setattr(type(ledger.cases), "keep", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                ledger.redeem(promise.person, promise.after)
        assert ledger.get(promise.id).status == "open"
        assert ledger.redeem(promise.person, promise.after).accepted
        again = ledger.cases.get(case.id)
        assert again.accepted and again.decision["promise"] == promise.id


def test_a_batch_of_decisions_is_all_or_nothing(where, plans):
    with Ledger(where) as ledger:
        keys = numbered(plans, "batch")
        made = ledger.offer(plans, expires=DAYS, people=keys)
        before = ledger.verify().n_events
        rows = [dict(promise.after) for promise in made]
        wrong = [*keys[: len(rows) - 1], "a\x00b"]
        with pytest.raises(ValueError, match="control"):
            ledger.decide(wrong, rows, [False] * len(rows), model="m")
        assert ledger.verify().n_events == before and ledger.cases.of(keys[0]) is None
        assert ledger.get(made[0].id).status == "open"

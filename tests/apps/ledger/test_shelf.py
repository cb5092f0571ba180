"""What was changed behind the ledger's back is not believed; requests are carried out once."""

import pytest

from ract.apps.ledger import Conflict, Ledger, LedgerChanged, Request
from tests.apps.ledger.test_ledger import HALF_A_YEAR, changed
from tests.apps.ledger.test_redeem import DAYS, numbered


def test_a_promise_whose_row_was_changed_is_not_redeemed(ledger, plans):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    wider = "UPDATE ract_events SET details = replace(details, '\"low\"', '\"LOW\"')"
    changed(ledger, f"{wider} WHERE subject = '{made[0].id}'")
    for ask in (
        lambda: ledger.redeem(made[0].person, made[0].after),
        lambda: ledger.accepts(made[0].person, made[0].before),
        lambda: ledger.get(made[0].id),
        ledger.open,
    ):
        with pytest.raises(LedgerChanged, match=made[0].id):
            ask()
    assert ledger.redeem(made[1].person, made[1].after).accepted


def test_an_index_that_was_changed_gives_nobody_a_second_time(ledger, plans):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    first, second = made[:2]
    assert ledger.redeem(first.person, first.after).accepted
    changed(ledger, f"UPDATE ract_promises SET status = 'open' WHERE id = '{first.id}'")
    with pytest.raises(LedgerChanged):
        ledger.redeem(first.person, first.after)
    changed(ledger, f"UPDATE ract_promises SET person = 'me' WHERE id = '{second.id}'")
    with pytest.raises(LedgerChanged):
        ledger.redeem("me", second.after)
    later = "UPDATE ract_promises SET expires = '2099-01-01T00:00:00.000000Z'"
    changed(ledger, f"{later} WHERE id = '{made[2].id}'")
    faults = ledger.verify().faults
    assert [one.id for one in made if any(one.id in fault for fault in faults)] == [
        one.id for one in made[:3]
    ]


def test_what_one_promise_of_a_person_accepts_is_looked_up_without_writing(ledger, plans):
    promise = ledger.offer(plans, expires=HALF_A_YEAR)[0]
    found = ledger.accepts(promise.person, promise.after)
    assert found.accepted and found.promise == promise and ledger.verify().n_events == len(plans)
    other = ledger.redeem(promise.person, promise.after, promise="0" * 32)
    assert other.promise is None and ledger.of(promise.person) == [promise]
    assert ledger.redeem(promise.person, promise.after, promise=promise.id).accepted
    assert ledger.counts()["redeemed"] == 1 and ledger.counts()["open"] == len(plans) - 1


def test_an_offer_with_a_known_request_is_not_made_again(ledger, plans):
    request = Request("one", "these people")
    assert ledger.made(request) is None
    first = ledger.offer(plans, expires=HALF_A_YEAR, request=request)
    again = ledger.offer(plans, expires=HALF_A_YEAR, request=request)
    assert [p.id for p in first] == [p.id for p in again] == [p.id for p in ledger.made(request)]
    assert len(ledger.open()) == len(first)
    with pytest.raises(Conflict, match="for something else"):
        ledger.offer(plans, expires=HALF_A_YEAR, request=Request("one", "others"))


def test_a_request_is_answered_as_it_was(where, plans):
    with Ledger(where) as ledger:
        promise, other = ledger.offer(plans, expires=DAYS, people=numbered(plans, "ask"))[:2]
        request = Request("ask:1", "these values")
        found = [ledger.redeem(promise.person, promise.after, request=request) for _ in range(2)]
        assert [one.accepted for one in found] == [True, True]
        assert not ledger.redeem(promise.person, promise.after, request=Request("ask:2")).accepted
        with pytest.raises(Conflict, match="for something else"):
            ledger.redeem(other.person, other.after, request=Request("ask:1", "other values"))
        assert ledger.get(other.id).status == "open"

"""Promises as they are read: what was changed behind the ledger's back is not believed."""

import pytest

from ract.apps.ledger import LedgerChanged
from tests.apps.ledger.test_ledger import HALF_A_YEAR, changed


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

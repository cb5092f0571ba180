"""Requests with a key are carried out once."""

import pytest

from ract.apps.ledger import Conflict, Ledger, Request
from tests.apps.ledger.test_ledger import HALF_A_YEAR
from tests.apps.ledger.test_redeem import DAYS, numbered


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

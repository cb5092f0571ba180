"""Plain data of a ledger: days that end in the lender's time zone."""

from datetime import UTC, datetime, timedelta

import pytest

from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.ledger.entries import day_before, zone_of
from tests.apps.ledger.test_ledger import HALF_A_YEAR

NOON = datetime(2026, 5, 23, 12, tzinfo=UTC)


def test_a_day_that_cannot_be_proved_to_its_end_is_not_shown():
    zone = zone_of("Asia/Tokyo")
    assert f"{day_before(NOON, zone):%d %H}" == "22 23"  # 21:00 of the 23rd there
    over = datetime(2026, 5, 23, 14, 59, 59, 999999, tzinfo=UTC)
    assert f"{day_before(over, zone):%d}" == "23"


def test_keys_that_a_database_does_not_hold_are_refused(ledger, plans):
    ledger.offer(plans, expires=HALF_A_YEAR)
    others = [f"B-{k}" for k in range(len(plans))]
    for given, words in (
        ({"people": ["a\x00", *others[1:]]}, "control"),
        ({"people": ["a\ud800", *others[1:]]}, "control"),
        ({"request": "\n"}, "control"),
        ({"by": "\n"}, "control"),
    ):
        with pytest.raises((InvalidData, InvalidSpec), match=words):
            ledger.offer(plans, expires=HALF_A_YEAR, **given)
    with pytest.raises(InvalidSpec, match="further away"):
        ledger.offer(plans, expires=timedelta(days=10**7))
    promise = ledger.open()[0]
    infinite = dict(promise.after) | {name: float("inf") for name in promise.region.asked}
    assert not ledger.redeem(promise.person, infinite).accepted

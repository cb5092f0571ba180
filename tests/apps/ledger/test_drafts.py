"""Drafts: what a promise says, and until when."""

from datetime import UTC, date, datetime, timedelta

from ract.apps.ledger import Ledger
from tests.apps.ledger.test_redeem import NOON, numbered


def test_promises_end_with_a_day_of_the_lender_s(tmp_path, plans):
    now = [NOON]
    with Ledger(tmp_path / "a.db", zone="America/New_York", clock=lambda: now[0]) as ledger:
        made = ledger.offer(plans, expires=timedelta(days=180))
        shown = f"{made[0].expires:%Y-%m-%d}"
        assert shown == "2026-11-19" and str(made[0].expires.tzinfo) == "America/New_York"
        now[0] = datetime(2026, 11, 20, 4, 59, tzinfo=UTC)  # 23:59 in New York
        assert ledger.redeem(made[0].person, made[0].after).accepted
        now[0] += timedelta(minutes=1)
        late = ledger.redeem(made[1].person, made[1].after)
        assert not late.accepted and late.faults == ("It expired on 2026-11-19.",)
    with Ledger(tmp_path / "a.db") as ledger:  # opened elsewhere, it is the same moment
        assert ledger.get(made[1].id).expires == made[1].expires
        given = ledger.offer(plans, expires=date(2027, 1, 2), people=numbered(plans, "day"))
        assert str(given[0].expires) == "2027-01-02 23:59:59.999999+00:00"

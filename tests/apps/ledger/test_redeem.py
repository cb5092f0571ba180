"""Redeeming: once, to the end of the last day, with the case, by what the promise itself asks."""

import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from ract.apps.ledger import Conflict, Ledger, LedgerChanged
from ract.apps.ledger.tables import events

NOON = datetime(2026, 5, 23, 12, tzinfo=UTC)
DAYS = timedelta(days=180)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "promises.db")
    return request.getfixturevalue("postgres")


def numbered(plans, name):
    """Keys of people for one test."""
    return [f"{name}-{k}" for k in range(len(plans))]


def decided(ledger, promise):
    ledger.decide([promise.person], [promise.before], [False], model="m")
    return ledger.cases.of(promise.person)


def test_clocks_that_disagree_redeem_once(where, plans):
    """One event is stamped ten minutes ahead; who comes after it is not answered twice."""
    ahead = lambda: datetime.now(UTC) + timedelta(minutes=10)  # noqa: E731
    with Ledger(where) as ledger, Ledger(where, clock=ahead) as fast:
        made = ledger.offer(plans, expires=DAYS, people=numbered(plans, "clock"))
        first, second = made[:2]
        for promise in (first, second):
            decided(ledger, promise)
        assert fast.redeem(first.person, first.after).accepted
        later = [one.redeem(first.person, first.after) for one in (ledger, fast) * 2]
        assert [found.accepted for found in later] == [False] * 4
        # And once by decisions that are kept.
        for _ in range(3):
            ledger.decide([second.person], [second.after], [False], model="m")
        assert ledger.history(second.person)["event"].tolist() == ["offered", "redeemed"]
        assert not ledger.cases.of(second.person).accepted  # the last decision was the model's
        assert bool(ledger.verify())


def test_the_database_itself_lets_a_promise_end_once(where, plans):
    with Ledger(where) as ledger:
        promise = ledger.offer(plans, expires=DAYS, people=numbered(plans, "end"))[0]
        ledger.redeem(promise.person, promise.after)
        for kind in ("redeemed", "withdrawn", "expired"):
            with pytest.raises(LedgerChanged), ledger.store.writing() as db:
                ledger.store.append(db, kind, promise.id, {}, "me")
        with pytest.raises(Conflict, match="is redeemed"):
            ledger.withdraw(promise.id, "Too late.")


def test_many_redeem_at_once(where, plans):
    with Ledger(where) as ledger:
        promise = ledger.offer(plans, expires=DAYS, people=numbered(plans, "many"))[0]
        decided(ledger, promise)
        accepted, start = [], threading.Barrier(4)

        def come(k):
            start.wait()
            if k % 2:
                accepted.append(ledger.redeem(promise.person, promise.after).accepted)
            else:
                found = ledger.decide([promise.person], [promise.after], [False], model="m")
                accepted.append(found[0][1] is not None)

        threads = [threading.Thread(target=come, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(accepted) == [False, False, False, True]
        with ledger.store.reading() as db:
            chosen = select(events.c.kind).where(events.c.subject == promise.id)
            chosen = chosen.order_by(events.c.number)
            assert db.execute(chosen).scalars().all() == ["offered", "redeemed"]

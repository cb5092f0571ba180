"""Redeeming: once, to the end of the last day, with the case, by what the promise itself asks."""

import threading
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest
from sqlalchemy import select

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract.apps.ledger import Conflict, Ledger, LedgerChanged, Request, check
from ract.apps.ledger.drafts import day_before, zone_of
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


def test_the_database_itself_lets_a_promise_end_once(where, plans):
    with Ledger(where) as ledger:
        promise = ledger.offer(plans, expires=DAYS, people=numbered(plans, "end"))[0]
        ledger.redeem(promise.person, promise.after)
        for kind in ("redeemed", "withdrawn", "expired"):
            with pytest.raises(LedgerChanged), ledger.store.writing() as db:
                ledger.store.append(db, kind, promise.id, {}, "me")
        with pytest.raises(Conflict, match="is redeemed"):
            ledger.withdraw(promise.id, "Too late.")


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


def test_a_day_that_cannot_be_proved_to_its_end_is_not_shown():
    zone = zone_of("Asia/Tokyo")
    assert f"{day_before(NOON, zone):%d %H}" == "22 23"  # 21:00 of the 23rd there
    over = datetime(2026, 5, 23, 14, 59, 59, 999999, tzinfo=UTC)
    assert f"{day_before(over, zone):%d}" == "23"


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
            assert db.execute(chosen).scalars().all() == ["offered", "redeemed"]


@pytest.mark.filterwarnings("ignore::ract.data.actions.assumed.AssumedActions")
def test_the_guard_knows_classes_features_and_categories(plans, model, loans):
    """A candidate of another class, with more or fewer features, or without a category."""

    def fitted(frame, target, **given):
        return RecourseForestClassifier(n_estimators=5, random_state=0, **given).fit(frame, target)

    with Ledger("sqlite://") as ledger:
        made = ledger.offer(plans, expires=DAYS)
        swapped = check(ledger, fitted(loans.frame, loans.target, desired="refused"))
        assert not swapped.kept.any() and set(swapped.table["verdict"]) == {"broken"}
        more = check(
            ledger, fitted(loans.frame.assign(Extra=1.0), loans.target, desired="approved")
        )
        assert set(more.table["verdict"]) == {"unknown"} and not more
        few = loans.frame.drop(columns=["Savings", "Purpose"])
        fewer = check(ledger, fitted(few, loans.target, desired="approved"))
        assert set(fewer.table["verdict"]) <= {"kept", "broken"}
        purpose = made[0].after["Purpose"]
        rest = (loans.frame["Purpose"] != purpose).to_numpy()
        less = check(ledger, fitted(loans.frame[rest], loans.target[rest], desired="approved"))
        unknown = less.table["verdict"].to_numpy() == "unknown"
        held = [p.after["Purpose"] == purpose for p in ledger.open()]
        assert any(held) and set(np.flatnonzero(held)) <= set(np.flatnonzero(unknown))
        assert check(ledger, model).share == 1


def test_no_region_is_without_ends(loans, rng):
    """Declared bounds, else the middle of the training table; fixed and pinned features stay."""
    features = [
        Feature(f.name, f.kind, f.change, categories=f.categories, upper=300_000.0)
        if f.name == "Income"
        else Feature(f.name, f.kind, f.change, categories=f.categories)
        for f in loans.actions
    ]
    model = RecourseForestClassifier(
        ActionSpace(features, "approved", limits=None), n_estimators=15, random_state=0
    ).fit(loans.frame, loans.target)
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(30)
    plans = model.recourse(refused, at_least=True)
    with Ledger("sqlite://") as ledger:
        made = ledger.offer(plans, expires=DAYS, pinned=["LoanAmount"])
    assert len(made) > 20
    ends = loans.frame.select_dtypes("number").quantile([0.0, 0.02, 0.98, 1.0])
    for promise in made:
        assert promise.region.faults(promise.after) == []
        for name, limit in promise.region.limits.items():
            own, asked = promise.after[name], name in promise.region.asked
            if limit.category is not None or isinstance(own, bool):
                continue
            assert limit.low is not None and limit.high is not None
            if name in ("Age", "LatePayments", "LoanAmount") and not asked:
                assert limit.low == limit.high == own
            elif name == "Income":
                assert limit.high <= 300_000
            else:
                assert limit.high <= max(own, ends[name][1.0])
                assert limit.low >= min(own, ends[name][0.0])
                if own < ends[name][0.98]:
                    assert limit.high <= ends[name][1.0] * 0.999 or limit.high < ends[name][1.0]
        monster = dict(promise.after) | {"LoanAmount": 9.9e14, "Age": -300}
        assert len(promise.region.faults(monster)) == 2

"""Promises, redemptions and verifications as sentences; regions as plain data."""

from datetime import UTC, datetime

import numpy as np

from ract.apps.ledger import Limit, Promise, Redemption, Region, Verification

PROMISE = Promise(
    id="p1",
    person="A-17",
    status="open",
    offered=datetime(2026, 1, 1, tzinfo=UTC),
    expires=datetime(2026, 6, 30, 23, 59, tzinfo=UTC),
    model="m",
    by="me",
    desired="approved",
    plan="Raise Income.",
    region=Region({"Income": Limit(low=44_600.0), "Job": Limit(category="cook")}, ("Income",)),
    before={"Income": 40_000, "Job": "cook"},
    after={"Income": 44_600, "Job": "cook"},
    strength=0.8,
    lasting=None,
)


def test_a_number_beyond_all_floats_is_outside():
    assert not Limit(low=1).holds(10**400) and not Limit(high=1).holds(-(10**400))


def test_a_promise_is_a_sentence_of_what_it_asks_for():
    assert str(PROMISE) == (
        "Promise p1 to A-17: approved until 2026-06-30 with Income 44,600 or more (open)."
    )
    assert str(Redemption(True, PROMISE)) == "Accepted: approved, by promise p1."
    assert str(Redemption(False, PROMISE, ("No.",))) == "Not accepted by promise p1: No."
    assert str(Redemption(False, None)) == "There is no open promise to this person."


def test_a_verification_is_true_without_faults():
    assert Verification(2, "ab") and not Verification(2, "ab", ("Event 1 was changed.",))
    assert str(Verification(2, "ab")) == "All 2 events are as they were written. Head: ab."
    wrong = Verification(2, "ab", ("Event 1 was changed.",))
    assert str(wrong) == "1 faults in 2 events. Event 1 was changed."


def test_a_region_survives_plain_data_and_names_what_is_wrong():
    region = Region({"Income": Limit(44_600.0), "Job": Limit(category="cook")}, ("Income",))
    assert Region.from_dict(region.to_dict()) == region
    assert region.faults({"Income": 44_600, "Job": "cook"}) == []
    assert region.faults({"Income": "x", "Job": "clerk"}) == [
        "Income is x; promised for 44,600 or more.",
        "Job is clerk; promised for 'cook'.",
    ]
    assert region.faults({"Income": np.nan, "Job": None})[0].startswith("Income is nan")
    assert region.faults({"Job": "cook"}) == ["Income is not given."]

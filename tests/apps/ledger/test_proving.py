"""Regions: everyone inside is accepted, by the model's own predict. When promises end."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier, find_recourse
from ract._utils.errors import InvalidSpec
from ract.apps.ledger import Ledger
from ract.apps.ledger.promise import Limit, Region
from ract.apps.ledger.proving import Regions
from tests.apps.ledger.test_redeem import NOON, numbered


def people_inside(region, frame, rng, n=200):
    """Rows at the ends and in the middle of a region, anywhere in the table's own range."""
    drawn = {}
    for name in frame.columns:
        limit, column = region.limits[name], frame[name]
        if limit.category is not None:
            drawn[name] = np.full(n, limit.category, object)
            continue
        low = float(column.min()) - 1 if limit.low is None else limit.low
        high = float(column.max()) + 1 if limit.high is None else limit.high
        assert low <= high
        values = rng.uniform(low, high, n)
        values[: n // 2] = rng.choice([low, high], n // 2)
        if column.dtype.kind in "iu":
            values = np.clip(np.round(values), np.ceil(low), np.floor(high))
        drawn[name] = values > 0.5 if column.dtype == bool else values.astype(column.dtype)
    return pd.DataFrame(drawn).astype(frame.dtypes.to_dict())


def test_everyone_in_a_region_is_accepted(plans, model, loans, rng):
    regions = Regions(plans)
    wide = 0
    for i in np.flatnonzero(plans.found):
        region, months = regions.of(int(i), months=6.0)
        assert months == 6.0
        inside = people_inside(region, loans.frame, rng)
        assert (model.predict(inside) == "approved").all()
        assert not region.faults(plans.counterfactuals.iloc[i].to_dict())
        assert region.faults(plans.people.iloc[i].to_dict())
        wide += sum(limit.category is None for limit in region.limits.values())
        assert set(region.asked) == set(np.array(list(region.limits))[plans.changed[i]])
    assert wide > 0


def test_no_side_of_a_region_could_be_moved_to_the_next_threshold(plans, model):
    """Maximal: beyond an end of a feature that stays, somebody in the box is refused."""
    i = int(np.flatnonzero(plans.found)[0])
    regions = Regions(plans)
    region, _ = regions.of(i, months=1.0)
    boxes, encoder = regions._certifiers[0], plans.encoder
    low = np.array([_end(region, axis, "low") for axis in encoder.axes])
    high = np.array([_end(region, axis, "high") for axis in encoder.axes])
    after = plans.after[i]
    moved = 0
    for a, axis in enumerate(encoder.axes):
        if axis.is_categorical or plans.changed[i, a] or axis.feature.change == "fixed":
            continue
        further = high.copy()
        edges = boxes.edges(a)
        beyond = edges[edges > high[a]]
        further[a] = beyond[0] if len(beyond) else np.inf
        if axis.feature.kind != "continuous":
            further[a] = np.inf if not np.isfinite(further[a]) else np.floor(further[a])
        if further[a] == high[a] or further[a] > regions._last[a]:
            continue
        wider = boxes.status(boxes.points(after[None])[0], low, further).word
        assert wider in ("found", "unknown")
        moved += 1
    assert moved > 0


def _end(region, axis, side):
    limit = region.limits.get(axis.feature.name)
    end = None if limit is None else getattr(limit, side)
    infinite = -np.inf if side == "low" else np.inf
    return infinite if end is None else end


def test_what_moves_by_itself_has_room_until_the_end_or_shortens_the_promise(loans, rng):
    ages = [replace(f, drift=1 / 12) if f.name == "Age" else f for f in loans.actions]
    space = ActionSpace(ages, loans.actions.desired, limits=None)
    model = RecourseForestClassifier(space, n_estimators=15, random_state=0)
    model.fit(loans.frame, loans.target)
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(30)
    plans = model.recourse(refused, at_least=True)
    regions, shortened = Regions(plans), 0
    for i in np.flatnonzero(plans.found)[:12]:
        region, months = regions.of(int(i), months=240.0)
        own = float(refused["Age"].iloc[i])
        limit = region.limits["Age"]
        assert limit.holds(own) and limit.holds(np.floor(own + months / 12))
        shortened += months < 240
        assert (model.predict(people_inside(region, loans.frame, rng, 60)) == "approved").all()
    assert shortened < 12


def test_regions_hold_before_all_models_that_were_asked(plans, model, loans, rng):
    other = RecourseForestClassifier(
        loans.actions, n_estimators=15, recourse_weight=0.3, random_state=1
    ).fit(loans.frame[300:], loans.target[300:])
    both = find_recourse([model, other], plans.people.head(4), explain=False)
    regions = Regions(both)
    assert both.found.sum() > 1
    for i in np.flatnonzero(both.found):
        inside = people_inside(regions.of(int(i), 1.0)[0], loans.frame, rng)
        assert (model.predict(inside) == "approved").all()
        assert (other.predict(inside) == "approved").all()


def test_plans_with_effects_cannot_be_promised(model, plans):
    effects = {("Income", "Savings"): 0.3}
    with_effects = find_recourse(model, plans.people.head(2), effects=effects)
    with pytest.raises(InvalidSpec, match="effects"):
        Regions(with_effects)


def test_who_has_no_value_keeps_none_or_hands_one_in(loans, rng):
    frame = loans.frame.copy()
    frame.loc[rng.random(len(frame)) < 0.3, "Savings"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.3, "Income"] = np.nan
    frame.loc[rng.random(len(frame)) < 0.3, "Purpose"] = None
    supplied = [
        replace(f, missing="supply", supply_cost=0.05) if f.name == "Income" else f
        for f in loans.actions
    ]
    model = RecourseForestClassifier(
        ActionSpace(supplied, "approved", limits=None),
        n_estimators=12,
        recourse_weight=0.3,
        random_state=0,
    ).fit(frame, loans.target)
    refused = frame[model.predict(frame) == "refused"].head(60)
    plans = model.recourse(refused, at_least=True)
    regions, kept, handed_in = Regions(plans), 0, 0
    for i in np.flatnonzero(plans.found)[:15]:
        region, _ = regions.of(int(i), 1.0)
        own = refused.iloc[int(i)]
        assert region.limits["Savings"].missing == (pd.isna(own["Savings"]))
        kept += region.limits["Savings"].missing
        handed_in += "Income" in region.asked and pd.isna(own["Income"])
        assert Region.from_dict(region.to_dict()) == region
        assert not region.faults(plans.counterfactuals.iloc[int(i)].to_dict())
        known = {name: limit for name, limit in region.limits.items() if not limit.missing}
        filled = {name: known.get(name, Limit(0.0, 0.0)) for name in region.limits}
        inside = people_inside(Region(filled, ()), loans.frame.drop(columns="Purpose"), rng, 60)
        inside["Purpose"] = known["Purpose"].category if "Purpose" in known else None
        for name in region.limits.keys() - known.keys():
            inside[name] = None if name == "Purpose" else np.nan
        assert (model.predict(inside[list(frame.columns)]) == "approved").all()
    assert kept > 0 and handed_in > 0


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
        made = ledger.offer(plans, expires=timedelta(days=180), pinned=["LoanAmount"])
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

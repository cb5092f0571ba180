"""Which way is better, by the values of a column."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from ract import ActionSpace
from ract.data.actions.changes import auc_with_and_without, share_of_zeros, trend


def test_chance_rarely_makes_a_trend():
    """In 100 tables of 20 columns that tell nothing, about 1 should have one."""
    rng = np.random.default_rng(1)
    tables = [
        any(trend(rng.normal(size=300), rng.random(300) < 0.4, 20) for _ in range(20))
        for _ in range(100)
    ]
    assert sum(tables) <= 4


@pytest.mark.parametrize("sign", [1, -1])
def test_a_trend_has_a_sign_and_holes_do_not_count(sign):
    rng = np.random.default_rng(2)
    values = rng.normal(size=400)
    desired = sign * values + rng.normal(size=400) > 0
    values[::7] = np.nan
    found = trend(values, desired)
    assert found.rises == (sign > 0) and 0.7 < found.area < 0.9
    known = ~np.isnan(values)
    assert found.area == pytest.approx(roc_auc_score(desired[known], sign * values[known]))


def test_what_turns_is_no_trend():
    rng = np.random.default_rng(3)
    values = rng.uniform(0, 1, 2000)
    desired = rng.random(2000) < np.where(values < 0.75, values, 0.1)
    assert trend(values, rng.random(2000) < values).rises
    assert trend(values, desired) is None
    assert trend(values[:30], desired[:30]) is None  # too few


def test_many_zeros():
    assert share_of_zeros(pd.Series([0, 0, 0, 1, 2, 3, 4, None])) == pytest.approx(3 / 7)
    assert share_of_zeros(pd.Series([0, 0, 0, 1])) == 0  # a flag
    assert share_of_zeros(pd.Series(range(10))) == 0


def test_what_a_column_is_worth():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.normal(size=600), "town": rng.choice(["a", "b"], 600)})
    desired = frame["age"].to_numpy() + rng.normal(size=600) > 0
    with_age, without = auc_with_and_without(frame, desired, {"age"})
    assert with_age > 0.75 and abs(without - 0.5) < 0.08
    assert auc_with_and_without(frame, desired, {"age", "town"}) is None
    assert auc_with_and_without(frame.head(40), desired[:40], {"age"}) is None


def proposed(**columns):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(columns | {"good": rng.integers(0, 2, 200)})
    proposal = ActionSpace.propose(frame, "good", desired=1)
    return proposal.space, proposal


def test_nobody_is_asked_for_more_than_half_of_an_amount_they_have():
    income = np.linspace(60, 300, 200)
    space, proposal = proposed(income=income, savings=np.linspace(0, 300, 200))
    assert space["income"].box(np.array([60.0, 300.0]))[1] == pytest.approx([90, 300])
    low, high = np.percentile(income, (25, 75))
    assert (high - low) * 0.9 < space["income"].max_change <= high - low
    assert space["savings"].median is None  # some have none: the size rule lets them begin
    comment = " ".join(proposal.comments["features.income"])
    assert "more than half of their own value" in comment
    read = ActionSpace.from_toml_text(proposal.to_toml_text())
    assert read["income"] == space["income"]


@pytest.mark.parametrize(("largest", "wait"), [(40, 2.0), (400, 24.0)])
def test_nobody_is_asked_to_wait_longer_than_two_years(largest, wait):
    tenure = np.tile(np.linspace(0, largest, 41).astype(int), 5)[:200]
    space, _ = proposed(seniority=tenure, income=np.linspace(60, 300, 200))
    own = np.array([largest / 2])
    assert space["seniority"].change == "increase"
    assert space["seniority"].box(own)[1] == own + wait


def test_a_column_of_one_number_for_most_people_has_no_other_limit():
    income = np.r_[np.full(190, 100.0), np.linspace(110, 200, 10)]
    space, _ = proposed(income=income)
    assert space["income"].max_change is None and space["income"].median == 0


def test_it_is_said_when_nothing_may_change():
    space, proposal = proposed(priors=np.arange(200) % 7)
    assert not space["priors"].actionable
    assert any("nobody who is refused will have a plan" in note for note in proposal.notes)
    assert not any("nothing may" in note for note in proposed(income=np.arange(200) % 90)[1].notes)

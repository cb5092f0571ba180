"""Plans in words: no number is said that was not proved."""

import re

import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans
from ract.recourse.plan import Change, nice_number, short_decimal

NUMBER = r"(-?[\d,]+(?:\.\d+)?(?:e-?\d+)?)"


def value(text):
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Change("x", 1, 3, 0.1, 3, 5), "raise x from 1 to 3 (3 to 5 will do)"),
        (Change("x", 9, 3, 0.1, 2, 3), "lower x from 9 to 3 (2 to 3 will do)"),
        (Change("x", 1, 3, 0.1, 3, 3), "raise x from 1 to exactly 3"),
        (Change("x", 1, 3, 0.1, 3, None), "raise x from 1 to 3 or more"),
        (Change("x", 9, 3, 0.1, None, 3), "lower x from 9 to 3 or less"),
        (Change("x", 1.0, 2.123456789, 0.1), "raise x from 1 to exactly 2.123456789"),
        (Change("x", 0, 1, 0.1, 1, 1, switch=True), "change x from 0 to 1"),
        (Change("x", False, True, 0.1, switch=True), "change x from no to yes"),
        (Change("x", 1, 3.21, 0.1, by_itself=True), "x rises by itself to about 3.21"),
    ],
)
def test_a_number_is_said_with_what_else_is_proved(change, text):
    assert change.describe() == text


def test_numbers_are_rounded_inside_the_proved_range():
    rng = np.random.default_rng(0)
    for _ in range(3000):
        scale = 10.0 ** rng.integers(-8, 12)
        before, after = rng.normal(size=2) * scale
        width = abs(after) * 10.0 ** rng.integers(-15, 0)
        low, high = (after, after + width) if after > before else (after - width, after)
        change = Change("x", before, after, 0.1, low, high)
        assert low <= change.goal <= high
        found = re.findall(NUMBER, change.describe().split(" to ", 1)[1])
        assert all(low <= value(text) <= high for text in found), change.describe()


def test_short_decimals_stay_between():
    assert short_decimal(46512.3, 47210.8, digits=1) == 47000.0
    assert short_decimal(5.0, 5.0, digits=1) == 5.0
    assert nice_number(1.0, 2.34567, None, None) == 2.34567


@pytest.mark.parametrize("ranges", [False, True])
def test_a_plan_carried_out_as_described_is_accepted_whatever_number_is_taken(ranges):
    loans = load_loans(n_people=1500)
    model = RecourseForestClassifier(loans.actions, n_estimators=25, random_state=0)
    model.fit(loans.frame, loans.target)
    people = loans.frame[model.predict(loans.frame) == "refused"].head(120)
    recourse = model.recourse(people, ranges=ranges, n_alternatives=1, explain=False)
    rng, rows = np.random.default_rng(0), []
    for plan in recourse:
        for way in (plan, *plan.alternatives):
            for pick in ("goal", "low", "high", "between"):
                row = people.loc[plan.person].copy()
                for change in way.changes:
                    row[change.feature] = taken(change, pick, rng)
                if way.changes:
                    rows.append(row)
    assert len(rows) > 200
    after = pd.DataFrame(rows).astype(people.dtypes)
    assert (model.predict(after) == "approved").all()


def taken(change, pick, rng):
    """A value that the sentence allows."""
    if change.switch:
        return change.after
    text = change.describe()
    if " will do)" in text:
        found = re.search(rf"\({NUMBER} to {NUMBER} will do\)$", text)
        low, high = (value(group) for group in found.groups())
    else:
        single = re.search(rf"{NUMBER}(?: or more| or less)?$", text)
        low = high = value(single.group(1))
    drawn = rng.uniform(low, high)
    whole = isinstance(change.after, int)
    between = float(np.clip(round(drawn), low, high)) if whole else drawn
    return {"goal": change.goal, "low": low, "high": high, "between": between}[pick]

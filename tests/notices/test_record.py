"""A notice as data: numbers stay numbers, and JSON can hold all of it."""

import datetime
import json

import numpy as np
import pytest

from ract.models.examples import loans_tree
from ract.notices import Details, Notices, NoticeSettings
from ract.notices.record import _plain, notice_record


@pytest.mark.parametrize(
    ("value", "expected"),
    [(np.int64(3), 3), (np.float64(0.5), 0.5), (np.nan, None), (np.inf, None), (True, True),
     (None, None), ("car", "car"), (np.str_("car"), "car")],
)  # fmt: skip
def test_values_are_those_that_json_has(value, expected):
    found = _plain(value)
    assert found == expected and type(found) is type(expected)


def test_a_record_holds_the_plan_with_all_its_digits():
    model, loans = loans_tree()
    plans = model.recourse(loans.frame, budget=1)
    plan = next(plan for plan in plans if plan.changes)
    settings = NoticeSettings.suggest(model, details=Details("Alpha", "1 Main Street", contact="x"))
    notices = Notices(model, settings, date=datetime.date(2026, 3, 9))
    record = json.loads(json.dumps(notice_record(notices, plan, [plan], None, [])))
    assert record["date"] == "2026-03-09" and record["reasons"] is None
    assert record["plans"][0]["cost"] == plan.cost
    goals = [change["goal"] for change in record["plans"][0]["changes"]]
    assert goals == [_plain(change.goal) for change in plan.changes]
    assert record["details"]["creditor"] == "Alpha" and "debt_advice" not in record["details"]

"""A notice as data: numbers stay numbers, and JSON can hold all of it."""

import datetime
import json

from ract._utils.validation import json_scalar
from ract.models.examples import loans_tree
from ract.notices import Details, Notices, NoticeSettings
from ract.notices.record import notice_record


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
    assert goals == [json_scalar(change.goal) for change in plan.changes]
    assert record["details"]["creditor"] == "Alpha" and "debt_advice" not in record["details"]

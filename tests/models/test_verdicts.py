"""Verdicts and their sums, counted by hand."""

import numpy as np
import pandas as pd

from ract.models.verdicts import Judged

FRAME = pd.DataFrame({
    "before": [0.2, 0.3, 0.4, 0.5, 0.9], "after": [0.8, 0.5, np.nan, 0.4, np.nan],
    "verdict": ["earned", "granted", "none", "granted", "accepted"],
})  # fmt: skip
JUDGED = Judged(FRAME, 0.6, 0.5, 0.9, pd.DataFrame({"town": list("aabbb")}))


def test_everyone_and_each_group_are_counted():
    summary = JUDGED.summary("town").set_index("group")
    assert summary["people"].tolist() == [5, 2, 3] and summary["refused"].tolist() == [4, 2, 2]
    assert summary["earned"].tolist() == [1, 1, 0] and summary["granted"].tolist() == [2, 1, 1]


def test_what_granted_plans_cost_is_per_hundred_people():
    row = JUDGED.summary().iloc[0]
    assert row["undesired"] == (0.5 + 0.6) * 100 / 5
    np.testing.assert_allclose(row["beyond the bar"], (0.1 + 0.2) * 100 / 5)
    assert repr(JUDGED) == "4 refused of 5 people: 1 earned, 2 granted, 1 none (bar 0.600)"

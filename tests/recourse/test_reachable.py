"""Who has recourse: one question per person says what the search for the cheapest plan says."""

import numpy as np
import pytest

from ract import find_recourse, has_recourse, recourse_status
from ract.models.examples import loans_forest

MODEL, LOANS = loans_forest(300, n_estimators=7)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"budget": 0.1},
        {"budget": np.inf},
        {"max_changes": 1},
        {"strength": 0.8, "budget": np.inf},
        {"cost": "l1", "budget": 0.3},
    ],
    ids=str,
)
def test_the_status_is_that_of_the_cheapest_plan(options):
    people = LOANS.frame.head(60)
    found = find_recourse(MODEL, people, explain=False, **options)
    status = recourse_status(MODEL, people, **options)
    expected = np.where(found.found, "found", found.status)
    np.testing.assert_array_equal(status, expected)
    np.testing.assert_array_equal(
        has_recourse(MODEL, people, **options), found.found | found.accepted
    )
    assert {"accepted", "found"} <= set(status)


def test_rows_that_cannot_be_read_and_limits_are_told_apart():
    people = LOANS.frame.head(20).astype(object)
    people.iloc[4, 0] = "x"
    status = recourse_status(MODEL, people, max_nodes=0, budget=np.inf)
    assert status[4] == "invalid"
    assert set(np.delete(status, 4)) <= {"accepted", "found", "none", "unknown"}
    assert "unknown" in status and not has_recourse(MODEL, people, max_nodes=0)[4]

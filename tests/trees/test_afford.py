"""How much recourse a table can afford."""

from __future__ import annotations

import numpy as np
import pytest

from ract.trees.afford import N_TRIES, affordable_weight

DESIRED = np.arange(200) % 2
PLAIN = DESIRED + np.linspace(0, 0.5, 200)


@pytest.mark.parametrize(
    ("harmful_from", "expected"), [(np.inf, 0.8), (0.8, 0.4), (0.3, 0.2), (0.0, 0.8 * 0.5**4)]
)
def test_the_largest_weight_that_costs_little(harmful_from, expected):
    asked = []

    def scores_at(weight):
        asked.append(weight)
        return PLAIN if weight < harmful_from else -PLAIN

    found = affordable_weight(0.8, scores_at, DESIRED, PLAIN, 0.01, 0.5)
    assert found == pytest.approx(expected) and found == asked[-1] and len(asked) <= N_TRIES


def test_people_whom_a_model_has_seen_do_not_count():
    scores = -PLAIN.copy()
    scores[:150] = np.nan
    scores[150:] = PLAIN[150:]
    assert affordable_weight(0.8, lambda _: scores, DESIRED, PLAIN, 0.01, 0.5) == 0.8

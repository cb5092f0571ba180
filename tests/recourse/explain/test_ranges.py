"""Ranges of plans: every point serves, and no side can move."""

import numpy as np
import pytest

from tests import naive
from tests.builders import box_points
from tests.recourse.test_find import allowed, random_model, same_cell


@pytest.mark.parametrize("block", range(6))
def test_every_point_of_a_range_is_desired_and_no_side_can_move(block):
    widened = 0
    for seed in range(15):
        rng = np.random.default_rng([50 + block, seed])
        model, frame = random_model(rng)
        recourse = model.recourse(frame, ranges=True, budget=np.inf)
        for i in np.flatnonzero(recourse.found)[:4]:
            values, low, high = recourse.after[i], recourse.low[i], recourse.high[i]
            points = box_points(model, values, low, high)
            assert naive.naive_decision(model.ensemble_, points).all()
            for a, axis in enumerate(model.encoder_.axes):
                if np.isnan(low[a]):
                    continue
                own, j = recourse.before[i, axis.columns[0]], axis.columns[0]
                assert low[a] <= values[j] <= high[a]
                widened += high[a] > low[a]
                f = axis.feature
                for side, step in ((low, -1), (high, 1)):
                    if not np.isfinite(side[a]):
                        continue
                    further = side[a] + step * (1 if f.kind != "continuous" else 0)
                    if f.kind == "continuous":
                        further = np.nextafter(further, step * np.inf)
                    if not allowed(f, own, further) or same_cell(model, j, own, further):
                        continue
                    # one step beyond: some point of the larger box must be refused
                    wider = [low.copy(), high.copy()]
                    wider[0 if step < 0 else 1][a] = further
                    more = box_points(model, values, *wider)
                    assert not naive.naive_decision(model.ensemble_, more).all()
    assert widened > 5

"""Round targets, against every whole number."""

from math import floor, inf, lcm, log10

import numpy as np
import pytest

from ract.data.actions.steps import decades, first_above, last_below, proposed_step


def is_round(own, target, step):
    """Whether a change ends at a multiple of the step, and of 10 for 100 to 999, and so on."""
    unit = 10 ** max(floor(log10(abs(target - own))) - 1, 0)
    return target % lcm(step, unit) == 0


@pytest.mark.parametrize("step", [1, 5, 25, 100])
def test_targets_are_the_first_round_numbers(step):
    rng = np.random.default_rng(step)
    for own, low in rng.integers(0, 5000, (40, 2)):
        start = max(low, own + 1)
        above = next(t for t in range(start, start + 20_000) if is_round(own, t, step))
        assert first_above(np.array([own]), np.array([low]), float(step)).tolist() == [above]
        assert last_below(np.array([-own]), np.array([-low]), float(step)).tolist() == [-above]


@pytest.mark.parametrize("step", [0.01, 0.5, 1.0, 25.0])
def test_decades_leave_no_gap(step):
    lows, highs, _ = zip(*decades(step), strict=True)
    assert lows[0] == 0 and highs[-1] == inf and lows[1:] == highs[:-1]


def test_a_step_goes_twenty_times_into_the_middle_half():
    assert proposed_step(0, 100, 2_100, 9_999, whole=True) == 100.0
    assert proposed_step(0, 100, 2_000, 9_999, whole=True) == 50.0
    assert proposed_step(3, 3, 3, 3, whole=True) == 1.0
    assert proposed_step(3, 3, 3, 3, whole=False) is None

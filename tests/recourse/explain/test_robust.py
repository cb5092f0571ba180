"""Plans that hold when people do less or more than they ask."""

import numpy as np
import pytest

from tests import naive
from tests.recourse.test_find import random_model


@pytest.mark.parametrize("margin", [0.1, 0.3])
def test_plans_with_a_margin_hold_when_every_change_falls_short(margin):
    held = 0
    for seed in range(40):
        rng = np.random.default_rng([99, seed])
        model, frame = random_model(rng)
        recourse = model.recourse(frame, margin=margin, n_alternatives=1, budget=np.inf)
        kinds = [axis.feature.kind for axis in model.encoder_.axes for _ in axis.columns]
        for i in np.flatnonzero(recourse.found):
            before = recourse.before[i]
            for after in [recourse.after[i], *recourse.answers.alternatives[i].values]:
                for share in rng.uniform(1 - margin, 1, (30, len(before))):
                    value = before + share * (after - before)
                    whole = np.where(after > before, np.ceil(value), np.floor(value))
                    steps = [k in ("binary", "categorical") for k in kinds]
                    value = np.where([k == "integer" for k in kinds], whole, value)
                    value = np.where(steps, after, value)
                    assert naive.naive_decision(model.ensemble_, value[None]).all()
                held += 1
            cost = model.cost_.between(before[None], recourse.after[i][None])[0]
            assert recourse.cost[i] == pytest.approx(cost)
    assert held > 50

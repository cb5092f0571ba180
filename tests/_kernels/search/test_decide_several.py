import numpy as np
import pytest

from ract._kernels.search.decide_several import decide_several
from ract._utils.status import Status
from tests._kernels.search.builders import Case


@pytest.mark.parametrize("block", range(4))
def test_a_point_is_found_if_all_models_accept_one(block):
    seen = set()
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        case = Case(rng, "free", n_models=2, holes=seed % 2 == 0)
        boxes, value, needs, rules = case.left()
        if (np.diff(needs.first) == 0).any():
            continue
        point, stop = case.own.copy(), np.zeros(1, np.uint8)
        status, _ = decide_several(
            boxes, value, needs, np.full(2, 0.5), case.changes, case.forest, rules, 10**6, stop,
            point,
        )  # fmt: skip
        exists = case.brute_force() < np.inf
        assert status == (Status.FOUND if exists else Status.NONE)
        if exists:
            assert case.accepts(point) and (point != case.own).sum() <= case.changes
        seen.add(exists)
    assert seen == {True, False}

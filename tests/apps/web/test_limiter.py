"""Limits: counted by all worker processes together."""

import pytest

from ract.apps.web.keys import Denied
from ract.apps.web.limiter import Limiter, per_minute


def test_limits_are_shared_between_processes_and_count_seconds(tmp_path):
    one, other = (Limiter(str(tmp_path / "counts")) for _ in range(2))
    most = per_minute("search", 1000)
    for limiter in (one, other, one):
        limiter.check(most, "a")
        limiter.hit(most, "a", cost=400)
    for limiter in (one, other):
        with pytest.raises(Denied) as refused:
            limiter.check(most, "a")
        assert refused.value.status == 429 and 0 < refused.value.after <= 60
        limiter.check(most, "b")
        limiter.close()

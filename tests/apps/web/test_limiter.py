"""Limits: counted by all worker processes together."""

import time

from limits import RateLimitItemPerMinute
from limits.strategies import FixedWindowRateLimiter

from ract.apps.web.limiter import SharedCounts


def test_limits_are_shared_between_processes_and_count_seconds(tmp_path):
    counts = [SharedCounts(str(tmp_path / "counts")) for _ in range(2)]
    one, other = map(FixedWindowRateLimiter, counts)
    most = RateLimitItemPerMinute(1000, namespace="search")
    for limiter in (one, other, one):
        assert limiter.test(most, "a")
        limiter.hit(most, "a", cost=400)
    for limiter, own in zip((one, other), counts, strict=True):
        assert not limiter.test(most, "a")
        assert 0 < limiter.get_window_stats(most, "a").reset_time - time.time() <= 60
        assert limiter.test(most, "b")
        own.close()

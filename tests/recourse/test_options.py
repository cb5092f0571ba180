"""What is asked of a search beyond the question, and what is refused at once."""

import pytest

from ract._utils.errors import InvalidSpec
from ract.recourse.common.search import Limits
from ract.recourse.options import TIME_LIMIT, Options


def test_keywords_are_limits_and_options():
    options = Options.of(max_changes=2, n_jobs=3, margin=0.1, prefer="fewest")
    assert options.limits == Limits(max_changes=2, time_limit=TIME_LIMIT, n_jobs=3)
    assert (options.margin, options.prefer, options.method) == (0.1, "fewest", "exact")
    assert Options.of(time_limit=None).limits.time_limit is None


def test_what_was_asked_for_is_named():
    def named(**keywords):
        return [name for name, asked in Options.of(**keywords).asked.items() if asked]

    assert named() == named(explain=False, time_limit=3, n_jobs=2) == []
    assert named(max_changes=0, max_nodes=0) == ["max_changes", "max_nodes"]
    every = {"margin": 0.2, "ranges": True, "n_alternatives": 1, "at_least": True}
    assert sorted(named(**every)) == sorted(every)
    assert named(method="leaves", prefer="cheapest") == ["method='leaves'", "prefer"]
    assert named(effects={}, plausibility="isolation_forest") == ["effects", "plausibility"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"method": "fast"}, "method must be one of"),
        ({"prefer": "best"}, "prefer must be 'cheapest' or 'fewest', got 'best'"),
        ({"margin": 1}, "margin must be a share of 0 or more and below 1, got 1"),
        ({"margin": "wide"}, "margin must be a share"),
        ({"n_alternatives": -1}, "n_alternatives must be 0 or more, got -1"),
        ({"strongest": True, "margin": 0.1}, "cannot be asked for together with a margin"),
        ({"strongest": True, "at_least": True}, "cannot be asked for together with a margin"),
        ({"relations": ["a <= b"]}, "relations is no longer an option"),
    ],
)
def test_what_cannot_be_is_refused(wrong, sentence):
    with pytest.raises(InvalidSpec, match=sentence):
        Options.of(**wrong)

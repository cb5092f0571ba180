"""Results that are kept."""

from ract._utils.memo import Memo


def test_the_value_that_was_not_used_for_longest_goes_first():
    memo, made = Memo(2), []

    def get(key):
        return memo.get(key, lambda: made.append(key) or key.upper())

    assert [get(key) for key in "abacab"] == list("ABACAB")
    assert made == ["a", "b", "c", "b"] and len(memo) == 2

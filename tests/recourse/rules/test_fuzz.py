"""Ten thousand people with ties and changes that cost nothing, each beside every action they have.

    pytest -m slow tests/recourse/rules/test_fuzz.py

Every objective is asked with every kind of rule, and without any: for the cheapest action, within a
number of changes, for everyone who does more, and for the strongest.
"""

import pytest

from tests.recourse.rules.test_explain import check_more, check_strongest
from tests.recourse.rules.test_search import KINDS, OBJECTIVES, Case

WEIGHTS = (0.0, 0.0, 1.0, 1.0, 0.5)  # few, so that sums of different changes are equal
EVERY = (*KINDS, None)


def fuzzed(kind, objective, seeds):
    """Ask about one person for each seed."""
    rules = [] if kind is None else [kind]
    for seed in seeds:
        own = [99, EVERY.index(kind), seed]
        if seed % 6 == 4:
            check_more(own, rules, objective, weights=WEIGHTS)
        elif seed % 6 == 5:
            check_strongest(own, rules, objective, weights=WEIGHTS)
        else:
            case = Case(own, rules, objective, weights=WEIGHTS)
            case.check(max_changes=None if seed % 6 < 3 else 1 + seed % 2)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_ties_and_free_changes(objective):
    for kind in EVERY:
        fuzzed(kind, objective, range(6))


@pytest.mark.slow
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("kind", EVERY)
def test_nobody_of_ten_thousand_has_a_better_action(kind, objective):
    fuzzed(kind, objective, range(6, 6 + 360))

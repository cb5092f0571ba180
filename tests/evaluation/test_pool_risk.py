"""Plans that keep the lender's book: counted again by hand, and held against the truth."""

import numpy as np
import pytest

from ract import OutcomeJudge, find_recourse, load_loans
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.loans import LoansModel
from ract.evaluation import pool_offers
from ract.models.examples import loans_forest

TRUTH = LoansModel().approval_probability
STRENGTHS = (0.0, 0.7, 0.9, "most")


@pytest.fixture(scope="module")
def model():
    return loans_forest(800)[0]


@pytest.fixture(scope="module")
def new():
    return load_loans(500, random_state=1)


@pytest.fixture(scope="module")
def seeking(new):
    old = load_loans(800, random_state=0)
    return OutcomeJudge(new.actions, n_splits=3).fit(old.frame, old.target)


def test_offers_are_the_cheapest_plans_below_the_level(model, new, seeking):
    offers = pool_offers(
        model, new.frame, new.target, TRUTH, seeking, max_pool_risk=0.03, strengths=STRENGTHS
    )
    refused = new.frame[model.predict(new.frame) == "refused"]
    assert offers.level is not None and len(offers.recourse) == len(refused)
    best = np.full(len(refused), np.inf)
    for strength in STRENGTHS:
        plans = find_recourse(model, refused, strength=strength, explain=False)
        bad = np.full(len(refused), np.inf)
        ends = plans.counterfactuals[plans.found]
        # Nobody here is in the judge's table.
        bad[plans.found] = 1 - seeking.probability(ends)["probability"]
        best = np.where(bad <= offers.level, np.minimum(best, plans.cost), best)
    assert (np.isfinite(best) == offers.recourse.found).all()
    assert best[np.isfinite(best)] == pytest.approx(offers.recourse.cost[offers.recourse.found])
    assert offers.offered.sum() == offers.recourse.found.sum() > 0
    assert set(offers.recourse.status[~offers.recourse.found]) <= {"unknown"}
    # The pool, one person after the other.
    accepted = model.predict(new.frame) == "approved"
    bad = (np.asarray(new.target) != "approved")[accepted]
    ends = offers.recourse.counterfactuals[offers.recourse.found]
    pool = np.concatenate([bad.astype(float), 1 - TRUTH(ends)])
    assert offers.today == pytest.approx(bad.mean())
    assert offers.rise.value == pytest.approx(pool.mean() - bad.mean())
    assert offers.rise.high <= 0.03


def test_a_larger_rise_allows_more_offers(model, new, seeking):
    given = (model, new.frame, new.target, TRUTH, seeking)
    n = [
        int(pool_offers(*given, max_pool_risk=rise, strengths=STRENGTHS).offered.sum())
        for rise in (0.0, 0.02, 0.5)
    ]
    assert n[0] <= n[1] < n[2]
    everyone = find_recourse(model, new.frame, strength=0, explain=False)
    assert n[2] == (everyone.within_budget & ~everyone.accepted).sum()
    levels = pool_offers(*given, max_pool_risk=0.02, strengths=STRENGTHS).levels
    assert (levels["high"].iloc[:-1] <= 0.02).all() and levels["high"].iloc[-1] > 0.02
    assert levels["offers"].is_monotonic_increasing


def test_where_no_level_keeps_the_limit_nobody_is_offered_a_plan(model, new, seeking):
    offers = pool_offers(
        model, new.frame, new.target, lambda X: np.zeros(len(X)), seeking, strengths=STRENGTHS
    )  # everyone who acts turns out bad
    assert offers.level is None and not offers.offered.any() and not offers.recourse.found.any()
    assert offers.rise.value == 0 and len(offers.levels) == 1


def test_what_is_no_limit_or_judge_is_refused(model, new, seeking):
    given = (model, new.frame, new.target)
    with pytest.raises(InvalidSpec, match="other people"):
        pool_offers(*given, seeking, seeking)
    with pytest.raises(InvalidSpec, match="max_pool_risk must be"):
        pool_offers(*given, TRUTH, seeking, max_pool_risk=-0.1)
    with pytest.raises(InvalidSpec, match="judge must be"):
        pool_offers(*given, "judge", seeking)
    with pytest.raises(InvalidData, match="rows but y"):
        pool_offers(model, new.frame, new.target[:3], TRUTH, seeking)

"""Guarantees by fewer votes or a lower probability."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    RecourseTreeClassifier,
    import_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.evaluation.certificates import (
    certify,
    guarantee_recourse,
)
from ract.recourse.reachable import recourse_status
from tests.builders import quick_of


def test_fewer_votes_until_the_guarantee_holds(forest, loans):
    people = loans.frame[1000:2000]
    given = guarantee_recourse(forest, people, max_risk=0.05, confidence=0.9)
    assert given.risk_bound <= 0.05
    assert given.votes_needed < forest.ensemble_.cutoff
    assert given.accepted >= given.accepted_before
    model = given.model
    assert model is not forest
    assert model.ensemble_.cutoff == given.votes_needed
    risk = model.recourse_risk(people)
    assert risk == pytest.approx(given.empirical_risk)
    assert certify(model, people, confidence=0.9).everyone.risk_bound <= 0.05
    # One vote more would not have passed.
    stricter = copy.copy(forest)
    stricter.ensemble_ = replace(forest.ensemble_, cutoff=given.votes_needed + 1)
    assert certify(stricter, people, confidence=0.9).everyone.risk_bound > 0.05


def test_a_model_that_is_good_enough_stays_as_it_is(forest, loans):
    given = guarantee_recourse(forest, loans.frame[1000:1300], max_risk=0.9)
    assert given.votes_needed == forest.ensemble_.cutoff
    assert given.accepted == given.accepted_before


def test_a_threshold_gives_other_models_their_guarantee(loans):
    frame = loans.frame.select_dtypes("number")
    space = ActionSpace.infer(frame, desired="approved", fixed=list(frame.columns[1:]), limits=None)
    model = RandomForestClassifier(15, max_depth=4, random_state=0)
    model.fit(frame[:800], loans.target[:800])
    people = frame[1000:1400]
    how = {"actions": space, "reference": frame[:800], "budget": 0.1}
    given = guarantee_recourse(model, people, 0.1, **how)
    assert 0 < given.threshold < 0.5 and given.votes_needed is None
    again = certify(model, people, threshold=given.threshold, **how)
    assert again.everyone.risk_bound <= 0.1
    assert "probability of" in str(given)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_imported_model_is_lowered_itself(loans, model):
    frame = loans.frame.select_dtypes("number")
    for desired in ("approved", "refused"):
        space = ActionSpace.infer(
            frame, desired=desired, fixed=list(frame.columns[2:]), limits=None
        )
        model.fit(frame[:800], loans.target[:800])
        imported = import_model(model, frame[:800], space, budget=0.05)
        people = frame[1000:1400]
        given = guarantee_recourse(imported, people, 0.1)
        lowered = given.model
        assert certify(lowered, people).everyone.risk_bound <= 0.1 >= given.risk_bound
        assert lowered.budget == 0.05 and imported.ensemble_ is not lowered.ensemble_
        # It decides as the library's own probability does at the threshold.
        share = model.predict_proba(people)[:, list(model.classes_).index(desired)]
        clear = np.abs(share - given.threshold) > 1e-9
        accepted = lowered.predict(people) == desired
        np.testing.assert_array_equal(accepted[clear], (share >= given.threshold)[clear])


@pytest.mark.parametrize("n_draws", quick_of(1, [40, 200]))
def test_the_promise_of_fewer_votes_holds(forest, population, n_draws):
    people, _ = population
    true_risk = {
        votes: 1
        - np.isin(
            recourse_status(_with_votes(forest, votes), people, n_jobs=2),
            ("accepted", "found"),
        ).mean()
        for votes in range(1, int(forest.ensemble_.cutoff) + 1)
    }
    rng, broken = np.random.default_rng(1), 0
    for _ in range(n_draws):
        drawn = people.iloc[rng.choice(len(people), 150, replace=False)]
        given = guarantee_recourse(forest, drawn, max_risk=0.08, confidence=0.9)
        broken += true_risk.get(given.votes_needed, 0.0) > 0.08
    print(f"broken: {broken / n_draws:.1%} of guarantees")
    assert broken / n_draws <= binom.ppf(0.999, n_draws, 0.1) / n_draws


def _with_votes(forest, votes):
    changed = copy.copy(forest)
    changed.ensemble_ = replace(forest.ensemble_, cutoff=votes)
    return changed


def test_what_a_guarantee_refuses(forest, loans):
    with pytest.raises(InvalidData, match="too few for max_risk=0.01"):
        guarantee_recourse(forest, loans.frame[1000:1100], max_risk=0.01)
    with pytest.raises(InvalidSpec, match="max_risk must be a share between"):
        guarantee_recourse(forest, loans.frame[1000:1100], max_risk=0)
    tree = RecourseTreeClassifier(loans.actions, max_depth=3).fit(loans.frame, loans.target)
    with pytest.raises(InvalidSpec, match="nothing to lower"):
        guarantee_recourse(tree, loans.frame[:100], max_risk=0.1)

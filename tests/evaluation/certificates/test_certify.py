"""Certificates: their bounds, groups, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.ensemble import GradientBoostingClassifier

from ract import (
    ActionSpace,
    Feature,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.evaluation.certificates import (
    CertificateWarning,
    certify,
    verify,
)
from ract.recourse.reachable import recourse_status
from tests.builders import quick_of


def test_the_bound_is_the_exact_binomial_one(forest, loans):
    people = loans.frame[1000:1400]
    certificate = certify(forest, people, confidence=0.9)
    status = recourse_status(forest, people)
    failures = int((~np.isin(status, ("accepted", "found"))).sum())
    seen = certificate.everyone
    assert (seen.n_people, seen.without + seen.unknown) == (400, failures)
    # At the bound, so few failures or fewer have a chance of exactly one in ten.
    assert binom.cdf(failures, 400, seen.risk_bound) == pytest.approx(0.1)
    assert certificate.budget == 0.15 and "at most" in str(certificate)


@pytest.mark.parametrize("n_draws", quick_of(1, [100, 500]))
def test_bounds_are_broken_no_more_often_than_promised(forest, population, n_draws):
    """The share of broken bounds may be 10% and a little noise."""
    people, served = population
    truth = 1 - served.mean()
    young = (people["Age"] < 40).to_numpy()
    by_group = {True: 1 - served[young].mean(), False: 1 - served[~young].mean()}
    rng = np.random.default_rng(0)
    broken = broken_groups = 0
    for _ in range(n_draws):
        rows = rng.choice(len(people), 150, replace=False)
        drawn = people.iloc[rows]
        certificate = certify(forest, drawn, confidence=0.9, groups=young[rows])
        broken += certificate.everyone.risk_bound < truth
        broken_groups += any(c.risk_bound < by_group[c.group] for c in certificate.groups)
    print(
        f"broken: {broken / n_draws:.1%} of bounds, {broken_groups / n_draws:.1%} of groups' sets"
    )
    allowed = binom.ppf(0.999, n_draws, 0.1) / n_draws
    assert broken / n_draws <= allowed
    assert broken_groups / n_draws <= allowed
    assert broken > 0  # else the bounds would be far too wide, or the test blind


def test_people_of_unknown_status_count_as_without(forest, loans):
    people = loans.frame[1000:1100]
    hurried = certify(forest, people, time_limit=0)
    assert hurried.everyone.unknown > 0 and hurried.everyone.served == 0
    exact = certify(forest, people)
    assert hurried.everyone.risk_bound >= exact.everyone.risk_bound
    assert "ended early" in str(hurried)


def test_groups_share_the_chance_of_error(forest, loans):
    people = loans.frame[1000:1600]
    certificate = certify(forest, people, groups="Guarantor", confidence=0.95)
    assert len(certificate.groups) == 2
    assert all(count.confidence == pytest.approx(0.975) for count in certificate.groups)
    assert sum(count.n_people for count in certificate.groups) == 600
    assert "By group" in str(certificate)


def test_people_of_the_training_table_are_noticed(forest, loans):
    with pytest.warns(CertificateWarning, match="100 of 150 people are in the training table"):
        certificate = certify(forest, loans.frame[700:850])
    assert certificate.overlap == 100
    assert certify(forest, loans.frame[1000:1100]).overlap == 0


def test_models_of_other_libraries_are_certified(loans):
    frame = loans.frame.select_dtypes("number")
    space = ActionSpace(map(Feature, frame.columns), desired="approved", limits=None)
    model = GradientBoostingClassifier(n_estimators=8, random_state=0)
    model.fit(frame[:800], loans.target[:800])
    how = {"actions": space, "reference": frame[:800], "budget": 0.2}
    certificate = certify(model, frame[1000:1100], **how)
    assert certificate.overlap is None
    assert verify(certificate, model, frame[1000:1100], **how)
    with pytest.warns(CertificateWarning, match="50 of 100"):
        certify(model, frame[750:850], training=frame[:800], **how)


def test_too_few_people_and_empty_groups(forest, loans):
    with pytest.raises(InvalidData, match="59 are needed even if all"):
        certify(forest, loans.frame[1000:1030], max_risk=0.05)
    with pytest.warns(CertificateWarning, match="5 held-out people are too few"):
        certify(forest, loans.frame[1000:1005])
    with pytest.raises(InvalidData, match="The table is empty"):
        certify(forest, loans.frame[:0])
    labels = pd.Series(["a"] * 100, dtype=pd.CategoricalDtype(["a", "b"]))
    with pytest.raises(InvalidData, match="Nobody is in the group 'b'"):
        certify(forest, loans.frame[1000:1100], groups=labels)
    with pytest.raises(InvalidSpec, match="confidence must be a share between"):
        certify(forest, loans.frame[1000:1100], confidence=95)

from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, Feature, RecourseForestClassifier, recourse_status
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation import reasons_report
from tests.builders import keeping_reference

LOANS = load_loans(n_people=700)
TRAINING, TARGET, PEOPLE = LOANS.frame[:500], LOANS.target[:500], LOANS.frame[500:]


@cache
def fitted():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=10, random_state=0)
    return keeping_reference(forest.fit(TRAINING, TARGET), TRAINING)


def test_reasons_are_counted_by_group():
    report = reasons_report(fitted(), PEOPLE, groups="Guarantor")
    found = fitted().reasons(PEOPLE)
    everyone = report.reasons[report.reasons["group"] == "everyone"].set_index(
        ["feature", "direction"]
    )
    given = [(r.feature, r.direction, r.mending) for person in found for r in person.reasons]
    assert everyone["given"].sum() == len(given)
    for (feature, direction), row in everyone.iterrows():
        words = [word for f, d, word in given if (f, d) == (feature, direction)]
        assert row["given"] == len(words)
        assert row["share"] == pytest.approx(len(words) / found.refused.sum())
        for word in ("alone", "with others", "not at all", "unknown"):
            assert row[word] == words.count(word)
    assert everyone["first"].sum() == found.refused.sum()
    parts = report.reasons[report.reasons["group"] != "everyone"]
    together = parts.groupby(["feature", "direction"])["given"].sum()
    assert (together.reindex(everyone.index) == everyone["given"]).all()
    people = report.people.set_index("group")
    assert people.loc["everyone", "refused"] == people["refused"].iloc[1:].sum()
    plans = (recourse_status(fitted(), PEOPLE) == "found").sum()
    assert people.loc["everyone", "with a plan"] == plans
    never = [
        name
        for name in {feature for feature, _, _ in given}
        if not any(f == name and word in ("alone", "unknown") for f, _, word in given)
    ]
    assert sorted(report.never_alone) == sorted(never)
    assert "Groups differ most on" in str(report) and "LatePayments" in str(report)


def test_reasons_of_replicates_are_compared():
    report = reasons_report(
        fitted(), PEOPLE, training=TRAINING, target=TARGET, n_replicates=3, responsiveness=False
    )
    table = report.stability
    assert table["replicates"].tolist() == ["1 and 2", "1 and 3", "2 and 3"]
    shares = table[["same decision", "same first reason", "low", "high", "shared reasons"]]
    assert ((shares >= 0) & (shares <= 1)).all(axis=None)
    assert (table["low"] <= table["same first reason"]).all()
    assert "Trained again on other people" in str(report)


def test_learners_of_other_libraries_are_fitted_again_too():
    numbers = ["Income", "Savings", "Debt"]
    X, space = (
        TRAINING[numbers].astype(float),
        ActionSpace(list(map(Feature, numbers)), limits=None),
    )
    model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, TARGET)
    report = reasons_report(
        model, X.head(60), reference=X, actions=space, desired="approved", training=X,
        target=TARGET, responsiveness=False,
    )  # fmt: skip
    assert report.stability["people"].tolist() == [60]


def test_nobody_refused_makes_an_empty_report():
    accepted = PEOPLE[fitted().predict(PEOPLE) == "approved"].head(10)
    report = reasons_report(fitted(), accepted)
    assert not len(report.reasons) and report.never_alone == []
    assert report.people["refused"].tolist() == [0] and np.isnan(report.people["tied"][0])
    assert str(report) == "10 people, none of them refused."


def test_what_the_report_cannot_do_is_refused():
    with pytest.raises(InvalidSpec, match="training together with target"):
        reasons_report(fitted(), PEOPLE, training=TRAINING)
    with pytest.raises(InvalidSpec, match="n_replicates must be a whole number of 2 or more"):
        reasons_report(fitted(), PEOPLE, training=TRAINING, target=TARGET, n_replicates=1)
    with pytest.raises(InvalidData, match="target has shape"):
        reasons_report(fitted(), PEOPLE, training=TRAINING, target=TARGET[:10])
    with pytest.raises(InvalidData, match="people or more of either class"):
        reasons_report(fitted(), PEOPLE, training=TRAINING[:20], target=TARGET[:20])

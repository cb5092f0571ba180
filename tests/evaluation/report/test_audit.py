"""Audits: their numbers are those of their parts."""

import html.parser

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    OutcomeJudge,
    RecourseBoostingClassifier,
)
from ract._utils.errors import InvalidSpec
from ract.evaluation.certificates import CertificateWarning
from ract.evaluation.metrics import recourse_report
from ract.evaluation.metrics.letters import plans_of_letters
from ract.evaluation.report import audit


def test_the_numbers_are_those_of_the_parts(found, forest, loans):
    people, truth = loans.frame[1000:], loans.target[1000:]
    pd.testing.assert_frame_equal(
        found.metrics, recourse_report(forest, people, truth, groups="Education")
    )
    recourse = forest.recourse(people)
    assert found.certificate.everyone.risk == pytest.approx(1 - recourse.within_budget.mean())
    without = np.flatnonzero(~recourse.within_budget)
    assert found.n_without == len(without) > 0
    costly = ~(found.costs["cost"] <= 0.15)
    assert found.costs.loc[costly, "people"].sum() == len(without)
    assert found.costs["people"].sum() == len(people)
    assert found.without["person"].tolist() == recourse.labels[without].tolist()
    assert found.held["people"].sum() == len(without)
    letters = plans_of_letters(forest, people)
    share = letters.changed[letters.found].mean(axis=0)
    names = [axis.feature.name for axis in recourse.encoder.axes]
    by_name = found.changes.set_index("feature")["share"]
    for name, expected in zip(names, share, strict=True):
        assert by_name.get(name, 0.0) == pytest.approx(expected)
    assert not (set(by_name.index) & {"Age", "LatePayments"})


class Wellformed(html.parser.HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_large_table_is_searched_in_part_and_bounded_in_whole(forest, loans):
    some = audit(forest, loans.frame[1000:], max_people=50)
    assert (some.n_searched, some.n_people, some.costs["people"].sum()) == (50, 600, 50)
    assert some.certificate.everyone.n_people == 600
    assert "from 50 of the 600 people" in some.to_html()
    assert "accuracy" not in set(some.metrics["metric"])
    with pytest.raises(InvalidSpec, match="is for a budget of 0.15, the audit for 0.2."):
        audit(forest, loans.frame[1000:], budget=0.2, certificate=some.certificate)
    with pytest.raises(InvalidSpec, match="max_people"):
        audit(forest, loans.frame[1000:], max_people=0)


def test_training_people_are_noted_on_the_page(forest, loans):
    with pytest.warns(CertificateWarning):
        text = audit(forest, loans.frame[900:1100]).to_html()
    assert "100 of these people are in the training table" in text


def test_a_judge_adds_a_section(forest, loans):
    judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame[:1000], loans.target[:1000])
    found = audit(forest, loans.frame[1000:], groups="Education", judge=judge)
    recourse = forest.recourse(loans.frame[1000:], explain=False)
    expected = recourse.judged(judge, accepted=recourse.accepted.mean())
    assert found.judged["bar"] == expected.bar and found.judged["accepted"] == expected.accepted
    pd.testing.assert_frame_equal(found.verdicts, expected.summary("Education"))
    assert {"granted", "undecided", "none"} <= set(expected.frame["verdict"])
    text = found.to_html()
    parser = Wellformed()
    parser.feed(text)
    assert parser.open == [] and text.count("<svg") == 5
    section = text[text.index("Earned or granted") :]
    assert f"If all {found.verdicts['granted'][0]} granted plans" in section
    for kind in ("undecided", "granted", "none"):
        assert f'<rect class="{kind}"' in section
    accepted = loans.frame[1000:][recourse.accepted]
    alone = audit(forest, accepted, judge=judge).to_html()
    assert "Nobody is refused." in alone


def test_no_judge_no_section(found):
    assert found.judged is None and "Earned or granted" not in found.to_html()


def test_people_without_recourse_are_grouped_by_what_holds_them(found):
    assert set(found.without["obstacle"]) == set(found.held["features"])
    counts = found.without["obstacle"].value_counts()
    for _, row in found.held.iterrows():
        assert counts[row["features"]] == row["people"]
    page = found.to_html()
    first, second = found.held["features"][:2]
    assert f"<h4>{first}: " in page
    assert page.index(f"<h4>{first}: ") < page.index(f"<h4>{second}: ")


def test_nobody_is_refused(loans):
    space = ActionSpace(loans.actions.features, loans.desired, limits="size", steps="round")
    given = {"budget": 1.0, "max_iter": 3, "n_replicates": 2, "threshold": 0.01, "random_state": 0}
    model = RecourseBoostingClassifier(space, **given)
    model.fit(loans.frame[:300], loans.target[:300])
    judge = OutcomeJudge(space, desired=loans.desired, n_splits=2)
    judge.fit(loans.frame[300:600], loans.target[300:600])
    people, truth = loans.frame[600:640], loans.target[600:640]
    found = audit(model, people, truth, judge=judge)
    assert not len(found.sendable.people) and "<html" in found.to_html()

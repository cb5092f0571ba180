"""Metrics, certificates, judges and pages on tables of which values are missing."""

from __future__ import annotations

import numpy as np
import pytest

import ract
from ract import RecourseForestClassifier, RecourseTreeClassifier, certify, verify
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.evaluation.certificates.checker import accepts, wrong_action
from ract.evaluation.metrics import lasting_recourse, outlier_score, recourse_ratio, recourse_report
from ract.evaluation.report.audit import audit
from ract.evaluation.tradeoff import tradeoff_curve
from ract.io.archive import from_npy, to_npy
from ract.notices import Details, Notices, NoticeSettings
from ract.recourse.plan import Change, Plan
from ract.recourse.problem import RecourseProblem
from ract.recourse.reachable import reach
from tests import naive
from tests.builders import SUPPLYING, credit_with_holes

DETAILS = Details(creditor="A", address="B", contact="C")


@pytest.fixture(scope="module")
def forest():
    model = RecourseForestClassifier(
        SUPPLYING, n_estimators=7, max_depth=4, recourse_weight=0.0, budget=0.2, random_state=0
    )
    return model.fit(*credit_with_holes(500, 0))


@pytest.fixture(scope="module")
def held_out():
    return credit_with_holes(200, 1)


@pytest.fixture(scope="module")
def plans(forest, held_out):
    return forest.recourse(held_out[0])


def without_handing_in(forest, people):
    """Who is accepted or has an action if missing values stay so, by the exact search."""
    matrix = forest.encoder_.matrix(people)
    axes = [axis.without_supply() for axis in forest.encoder_.axes]
    search = ract.recourse.exact.search.ExactSearch(forest.ensemble_, axes, forest.cost_)
    served = forest.ensemble_.decide(matrix)
    return served | (search.attains(matrix, forest.budget_) == Status.FOUND)


def test_certificates_leave_out_what_is_handed_in(forest, held_out, plans):
    people = held_out[0]
    assert plans.only_supplied.any()
    served = without_handing_in(forest, people)
    certificate = certify(forest, people)
    assert certificate.everyone.without + certificate.everyone.unknown == (~served).sum()
    assert (
        certificate.everyone.without
        >= plans.only_supplied.sum() - (served & plans.only_supplied).sum()
    )
    question = RecourseProblem(forest).encoded(people)
    with_supply = reach(question)
    assert (with_supply == Status.FOUND).sum() > certificate.everyone.served


def test_witnesses_of_people_without_some_values_are_checked(forest, held_out, tmp_path):
    people, path = held_out[0], tmp_path / "w.npy"
    certificate = certify(forest, people, witnesses=path)
    checked = verify(certificate, forest, people, witnesses=path)
    assert checked, str(checked)
    assert verify(certificate, forest, people)
    matrix = from_npy(path.read_bytes(), "x")
    acted = np.isnan(matrix[:, 1:]).any(axis=1) & ~np.isnan(matrix[:, 1:]).all(axis=1)
    assert acted.any()


def test_the_checker_refuses_what_is_handed_in_or_lost(forest, held_out):
    encoder = forest.encoder_
    before = encoder.matrix(held_out[0])
    before = before[np.isnan(before[:, 0])][:1]
    income, savings = encoder.axes[0].columns[0], encoder.axes[1].columns[0]
    job = list(encoder.axes[2].columns)

    def wrong(column, value, axes=encoder.axes):
        after = before.copy()
        after[0, column] = value
        return wrong_action(forest.ensemble_, axes, forest.cost_, before, after, 9.0, None)

    assert wrong(income, 50.0) == (0, "'income' is missing, before or after only")
    before[0, savings] = 10.0
    assert wrong(savings, np.nan) == (0, "'savings' is missing, before or after only")
    before[0, job] = [0, 0, 0, 1]
    assert wrong(job, [0, 1, 0, 0]) == (0, "'job' is missing, before or after only")
    matrix = encoder.matrix(held_out[0])
    np.testing.assert_array_equal(
        accepts(forest.ensemble_, matrix), naive.naive_decision(forest.ensemble_, matrix)
    )


def test_a_witness_that_hands_in_a_value_is_found_out(forest, held_out, plans, tmp_path):
    """The values of a plan that only supplies, put into the file of a certificate."""
    people, path = held_out[0], tmp_path / "w.npy"
    record = certify(forest, people, witnesses=path).to_dict()
    matrix = from_npy(path.read_bytes(), "x")
    someone = int(np.flatnonzero(plans.only_supplied)[0])
    row = np.append(float(someone), plans.after[someone])
    matrix = np.vstack([matrix[matrix[:, 0] != someone], row])
    path.write_bytes(to_npy(matrix[np.argsort(matrix[:, 0])]))
    from hashlib import sha256

    from ract.evaluation.certificates.record import record_digest

    record["witnesses"] = sha256(path.read_bytes()).hexdigest()
    record["digest"] = record_digest(record)
    checked = verify(record, forest, people, witnesses=path)
    assert not checked and "before or after only" in str(checked)


def test_guarantees_do_not_count_what_is_handed_in(forest, held_out):
    given = ract.evaluation.guarantee_recourse(forest, held_out[0], max_risk=0.4)
    served = without_handing_in(given.model, held_out[0])
    assert given.empirical_risk == pytest.approx((~served).mean())


def test_metrics_count_handing_in_apart(forest, held_out, plans):
    people, label = held_out
    assert recourse_ratio(forest, people) == plans.within_budget.mean()
    report = recourse_report(forest, people, label).set_index("metric")["value"]
    only = (plans.only_supplied & (plans.cost <= forest.budget_)).sum()
    assert report["validity only supplied"] == pytest.approx(only / (~plans.accepted).sum())
    assert "plausibility" not in report
    assert report["recourse ratio"] == pytest.approx(plans.within_budget.mean())
    with pytest.raises(InvalidSpec, match="'income', 'savings', 'job'"):
        outlier_score(forest, people)


def test_judges_and_pages_take_missing_values(forest, held_out, plans):
    people, label = held_out
    judge = ract.OutcomeJudge(SUPPLYING, n_splits=2, random_state=0)
    judge.fit(*credit_with_holes(500, 0))
    judged = plans.judged(judge)
    verdicts = judged.frame["verdict"].to_numpy()
    np.testing.assert_array_equal(
        verdicts == "only supplied", plans.only_supplied & (plans.cost <= forest.budget_)
    )
    assert judged.summary()["only supplied"][0] == (verdicts == "only supplied").sum()
    assert f"{(verdicts == 'only supplied').sum()} only supplied" in repr(judged)
    found = audit(forest, people, label, judge=judge, groups=people["age"] > 50)
    assert found.n_supplied == (verdicts == "only supplied").sum()
    page = found.to_html()
    assert f"{found.n_supplied} of 200 people have a plan that only supplies" in page
    earned = ract.find_recourse(forest, people.head(60), earned=judge)
    assert (forest.predict(earned.counterfactuals[earned.found]) == "yes").all()


def test_lasting_recourse_and_curves_take_missing_values():
    frame, label = credit_with_holes(300, 4)
    tree = RecourseTreeClassifier(SUPPLYING, max_depth=3, recourse_weight=0.1, random_state=0)
    found = lasting_recourse(tree, frame, label, strengths=[0, 0.7])
    assert found.trials["lasts"].any() and (found.trials["status"] != "invalid").all()
    curve = ract.calibrate(tree, frame, label, strengths=[0, 0.7], n_refused=60)
    assert curve.points and curve.points[0].plans > 0
    table = tradeoff_curve(tree, frame, label, values=[0.0, 0.2], cv=2).to_frame()
    assert table["recourse"].notna().all()


def test_notices_ask_for_what_is_true(forest, held_out):
    income = Change("Income", None, 52000.0, 0.1, 44512.3, None, supplied=True)
    job = Change("Job", None, "cook", 0.1, switch=True, supplied=True)
    plan = Plan(7, "yes", "optimal", 0.1, 0.1, 0.3, (income, job))
    settings = NoticeSettings.suggest(forest, details=DETAILS)
    for language, words in (("en", "what is true"), ("de", "was stimmt"), ("fr", "est vrai")):
        spoken = NoticeSettings.suggest(forest, language=language, details=DETAILS)
        page = Notices(forest, spoken).render(plan)
        assert words in page and "<strong>cook</strong>" in page
    page = " ".join(Notices(forest, settings).render(plan).split())
    assert "tell us; it must be <strong>44,600</strong> or more" in page
    assert "tell us; it must be <strong>cook</strong>" in page
    debt = Change("Debt", 900.0, 500.0, 0.1, 400.0, 500.0)
    other = Notices(forest, settings).render(Plan(7, "yes", "optimal", 0.1, 0.1, 0.3, (debt,)))
    assert "what is true" not in other


def test_a_missing_value_is_a_reason_with_a_code_of_its_own(forest, held_out):
    people = held_out[0]
    reasons = ract.find_reasons(forest, people, reference=credit_with_holes(500, 0)[0])
    plans = forest.recourse(people)
    notices = Notices(forest, NoticeSettings.suggest(forest, details=DETAILS))
    lacking = [
        i
        for i in range(len(people))
        if any(reason.direction == "missing" for reason in reasons[i].reasons)
    ]
    assert lacking
    page = notices.render(plans[lacking[0]], reasons[lacking[0]])
    assert "Credit application incomplete" in page and "not given" in page

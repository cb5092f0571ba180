"""Counts that are found again, by witnesses or by a search."""

import hashlib
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.status import Status
from ract.data.datasets import load_loans
from ract.evaluation.certificates import Certificate, certify, recount, verify
from ract.evaluation.certificates.record import Count
from ract.recourse.solver import SolverSearch


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500, random_state=0)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=9, max_depth=4, recourse_weight=0, budget=0.15, random_state=0
    )
    return model.fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="module")
def people(loans):
    return loans.frame[1000:1200]


def test_every_action_is_checked_and_a_sample_of_the_rest_proved(forest, people, tmp_path):
    path = tmp_path / "witnesses.npy"
    certificate = certify(forest, people, groups="Guarantor", witnesses=path)
    assert certificate.witnesses == hashlib.sha256(path.read_bytes()).hexdigest()
    assert certificate.witnesses in str(certificate)
    plain = certify(forest, people, groups="Guarantor")
    assert (certificate.everyone, certificate.groups) == (plain.everyone, plain.groups)
    certificate.save(tmp_path / "recourse.json")
    assert Certificate.load(tmp_path / "recourse.json") == certificate

    pytest.importorskip("ortools")
    seen = certificate.everyone
    checked = verify(
        tmp_path / "recourse.json", forest, people, groups="Guarantor", witnesses=path,
        time_limit=None, none_sample=5,
    )  # fmt: skip
    assert checked.complete and seen.without > 5
    assert checked.checked == (
        "record", "model", "data", "witnesses", "question", "training", "counts",
    )  # fmt: skip
    assert checked.notes == (
        f"Each of the {seen.served} actions in the witness file was checked without a search; the "
        "other counts were found again by the same search.",
        f"Of a sample of 5 of the {seen.without} people without recourse, 5 were proved again by "
        "OR-Tools.",
    )


def test_without_the_file_the_same_search_is_run_and_named(forest, people, witnessed):
    checked = verify(witnessed[0], forest, people, groups="Guarantor")
    assert checked and checked.notes == ("The counts were found again by the same search.",)
    assert "same search" in str(checked)


def test_what_is_not_proved_again_is_said(forest, people, witnessed, forged, monkeypatch):
    record, path = forged(witnessed[1])
    pytest.importorskip("ortools")
    answers = SolverSearch.answers

    def in_a_hurry(*given, **settings):
        found = answers(*given, **settings)
        return replace(found, status=np.where(np.arange(20) < 15, found.status, Status.UNKNOWN))

    monkeypatch.setattr(SolverSearch, "answers", in_a_hurry)
    given = {"groups": "Guarantor", "witnesses": path}
    hurried = verify(record, forest, people, **given)
    assert hurried and "15 were proved again by OR-Tools; 5 were not, since" in str(hurried)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    missing = verify(record, forest, people, **given)
    assert missing and "was proved again, since OR-Tools is not installed" in str(missing)
    unsampled = verify(record, forest, people, **given, none_sample=0)
    assert "was to be proved again" in str(unsampled)


def test_a_person_with_an_action_is_not_passed_off_as_without(
    forest, people, witnessed, forged, monkeypatch
):
    pytest.importorskip("ortools")
    record, matrix = witnessed
    seen = Certificate.from_dict(record).everyone
    status = np.repeat(
        [Status.ACCEPTED, Status.FOUND, Status.NONE],
        [seen.accepted, seen.served - 1, seen.without + 1],
    )
    count = Count.of(None, status, seen.confidence)
    everyone = asdict(count)
    everyone["people"] = everyone.pop("n_people")
    changed, path = forged(matrix[1:], everyone=everyone, groups=[])
    checked = verify(changed, forest, people, witnesses=path)
    assert (
        f"this check finds 200 people, {seen.accepted} accepted, {seen.served} with"
        in (checked.problems["counts"])
    )

    # The other engine finds them too, if the search does not.
    def none_found(question, *_, **__):
        return np.full(len(question.matrix), Status.NONE_WITHIN_BUDGET)

    monkeypatch.setattr(recount, "reach", none_found)
    checked = verify(changed, forest, people, witnesses=path, none_sample=seen.n_people)
    row = int(matrix[0, 0])
    assert checked.problems == {
        "counts": f"OR-Tools finds an action for row {row}, counted as without one."
    }


def test_a_missing_action_shows_in_the_counts(forest, people, witnessed, forged):
    _, matrix = witnessed
    changed, path = forged(np.delete(matrix, 3, axis=0))
    checked = verify(changed, forest, people, groups="Guarantor", witnesses=path)
    assert f"people with an action; the file has {len(matrix) - 1}." in checked.problems["counts"]
    fewer = changed["everyone"] | {"served": 0, "without": changed["everyone"]["without"]}
    fewer["unknown"] = changed["everyone"]["served"]
    failures = fewer["without"] + fewer["unknown"]
    fewer["risk_bound"] = clopper_pearson_upper(failures, fewer["people"], fewer["confidence"])
    record, path = forged(matrix[:0], everyone=fewer, groups=[])
    checked = verify(record, forest, people, witnesses=path)
    assert not checked and "everyone" in checked.unchecked


def test_actions_are_checked_by_the_budget_and_the_changes_that_are_asked_for(
    forest, people, witnessed, forged
):
    matrix = witnessed[1]
    for change, why in (
        ({"budget": 0.01}, "costs more than the budget"),
        ({"max_changes": 0}, "more than 0 features change"),
    ):
        changed, path = forged(matrix, **change)
        checked = verify(changed, forest, people, witnesses=path, **change)
        assert why in checked.problems["witnesses"]
        assert "question" in verify(changed, forest, people, witnesses=path).problems

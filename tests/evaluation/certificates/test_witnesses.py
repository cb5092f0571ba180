"""Witness files: actions that anybody can check, and what becomes of those that are no actions."""

import copy
import hashlib
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import ScaledCost
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder
from ract.evaluation.certificates import Certificate, certify, recount, verify
from ract.evaluation.certificates.checker import accepts, wrong_action
from ract.evaluation.certificates.record import Count, digest_of
from ract.io.arrays import from_npy, to_npy
from ract.models.guarantee import clopper_pearson_upper
from ract.recourse.solver.search import SolverSearch
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import read_model


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


@pytest.fixture(scope="module")
def witnessed(forest, people, tmp_path_factory):
    """The record and the matrix of a certificate with witnesses."""
    path = tmp_path_factory.mktemp("witnesses") / "witnesses.npy"
    record = certify(forest, people, groups="Guarantor", witnesses=path).to_dict()
    return record, from_npy(path.read_bytes(), "x")


@pytest.fixture
def forged(witnessed, tmp_path):
    """A record that names a changed witness file by its right hash."""

    def forge(content, **changes):
        record = copy.deepcopy(witnessed[0]) | changes
        content = content if isinstance(content, bytes) else to_npy(content)
        path = tmp_path / "forged.npy"
        path.write_bytes(content)
        record["witnesses"] = hashlib.sha256(content).hexdigest()
        record["digest"] = digest_of(record)
        return record, path

    return forge


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


def test_people_without_an_answer_are_in_the_file_as_such(forest, people, tmp_path):
    path = tmp_path / "witnesses.npy"
    certificate = certify(forest, people, witnesses=path, time_limit=0)
    assert certificate.everyone.unknown > 0 == certificate.everyone.served
    assert verify(certificate, forest, people, witnesses=path, time_limit=0)
    assert "everyone" in verify(certificate, forest, people, witnesses=path).unchecked
    assert np.isnan(from_npy(path.read_bytes(), "x")[:, 1:]).all()


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
    monkeypatch.setattr(
        recount, "reach", lambda asked, **_: np.full(len(asked.matrix), Status.NONE_WITHIN_BUDGET)
    )
    checked = verify(changed, forest, people, witnesses=path, none_sample=seen.n_people)
    row = int(matrix[0, 0])
    assert checked.problems == {
        "counts": f"OR-Tools finds an action for row {row}, counted as without one."
    }


def test_other_files_are_named_in_a_sentence(forest, people, witnessed, tmp_path, forged):
    record, matrix = witnessed
    path = tmp_path / "witnesses.npy"

    def problem(record, path):
        checked = verify(record, forest, people, witnesses=path)
        assert set(checked.problems) == {"witnesses"}
        assert str(checked).startswith("The witness file does not agree with the certificate: ")
        return checked.problems["witnesses"]

    assert problem(record, path) == "it cannot be read: No such file or directory."
    path.write_bytes(to_npy(matrix)[:-8])
    assert problem(record, path) == "its hash is not the one in the record."
    assert verify(record, witnesses=path).problems  # the hash alone needs neither model nor people
    assert problem(certify(forest, people), path) == "the record says that there is none."
    assert "cut short" in problem(*forged(to_npy(matrix)[:-8]))
    assert "not an array" in problem(*forged(b"anything"))
    assert "columns of doubles" in problem(*forged(matrix[:, :-1]))
    assert "columns of doubles" in problem(*forged(matrix.astype(np.int64)))
    assert "columns of doubles" in problem(*forged(matrix[0]))
    for rows in (matrix[::-1], matrix[[0, 0]], matrix + 0.5, matrix - 1e6, matrix + 1e6):
        assert "its rows are not" in problem(*forged(rows))
    for value in (np.nan, np.inf):
        changed = matrix.copy()
        changed[3, 4] = value
        assert "not finite" in problem(*forged(changed))
    changed = matrix.copy()
    changed[:, 0] = np.flatnonzero(forest.predict(people) == "approved")[: len(matrix)].max()
    assert "is accepted without an action" in problem(*forged(changed[:1]))


def test_actions_that_are_none_are_named_in_a_sentence(forest, people, witnessed, forged):
    _, matrix = witnessed
    column = 1 + np.array([forest.encoder_.column_names.index("Age")])

    def problem(changed):
        record, path = forged(changed)
        checked = verify(record, forest, people, witnesses=path)
        assert set(checked.problems) == {"witnesses"}
        return checked.problems["witnesses"]

    changed = matrix.copy()
    changed[2, column] += 1
    assert problem(changed) == f"the action of row {int(matrix[2, 0])} fails: 'Age' may not change."
    changed = matrix.copy()
    changed[[0, 1], 1:] = matrix[[1, 0], 1:]
    assert "fails" in problem(changed)  # the action of another person
    changed = matrix.copy()
    changed[4, 1:] = forest.encoder_.matrix(people)[int(matrix[4, 0])]
    assert "the model refuses the result" in problem(changed)


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


def test_records_without_the_entry_are_still_read(forest, people):
    """As ract 0.1 wrote them."""
    record = certify(forest, people).to_dict() | {"format": "ract certificate 1"}
    limits = {"max_changes": record.pop("max_changes"), "time_limit": 10.0}
    record["search"] = {"method": "exact", **limits}
    del record["witnesses"]
    record["digest"] = digest_of(record)
    assert verify(record, forest, people)
    assert Certificate.from_dict(record).witnesses is None


def test_what_certify_and_verify_refuse(forest, people, tmp_path):
    for value in (-1, 2.5, None):
        with pytest.raises(InvalidSpec, match="none_sample must be a whole number"):
            verify({}, forest, people, none_sample=value)
    with pytest.raises(FileNotFoundError):
        certify(forest, people, witnesses=tmp_path / "nowhere" / "witnesses.npy")


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, max_depth=5, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        HistGradientBoostingClassifier(max_iter=10, random_state=0),
        "xgboost",
    ],
    ids=lambda model: model if isinstance(model, str) else type(model).__name__,
)
def test_trees_are_walked_as_they_decide(loans, model, tmp_path):
    frame, target = loans.frame.select_dtypes("number"), loans.target == "approved"
    if model == "xgboost":
        library = pytest.importorskip("xgboost")
        model = library.XGBClassifier(n_estimators=10)
    model.fit(frame[:800], target[:800])
    space = ActionSpace(map(Feature, frame.columns), limits=None)
    for desired in (True, False):
        how = {
            "actions": space, "desired": desired, "reference": frame[:800], "budget": 0.1,
            "max_changes": 2,
        }  # fmt: skip
        tree = read_model(model, frame[:800], space, desired=desired)
        matrix = tree.encoder.matrix(frame)
        np.testing.assert_array_equal(accepts(tree.ensemble, matrix), tree.ensemble.decide(matrix))
        path = tmp_path / "witnesses.npy"
        certificate = certify(model, frame[1000:1060], witnesses=path, **how)
        given = {"witnesses": path, "none_sample": 0, **how}
        assert verify(certificate, model, frame[1000:1060], **given)


def test_every_rule_is_checked():
    """One person, one feature of each kind; only the first column decides."""
    space = ActionSpace(
        [
            Feature("free", kind="continuous", lower=0, upper=10),
            Feature("up", kind="integer", change="increase", lower=0, upper=10),
            Feature("down", kind="integer", change="decrease", lower=0, upper=10),
            Feature("own", kind="binary", change="fixed", lower=0, upper=1),
            Feature("job", kind="categorical", change="increase", categories=("a", "b", "c")),
        ],
        limits=None,
    )
    axes = Encoder.of_space(space, [feature.name for feature in space]).axes
    stump = TreeEnsemble(
        feature=np.array([0, -1, -1], np.int32), threshold=np.array([5.0, 0, 0]),
        left=np.array([1, -1, -1], np.int32), right=np.array([2, -1, -1], np.int32),
        label=np.array([0, 0, 1], np.uint8), value=np.array([0.5, 0.2, 0.9]),
        root=np.zeros(1, np.int32), combine="votes", cutoff=1,
    )  # fmt: skip
    cost = ScaledCost(scale=[10.0] * 7).fit(np.zeros((7, 2)), np.ones(7))
    person = np.array([[4.0, 5, 12, 1, 0, 1, 0]])

    def why(after, budget=1.0, max_changes=None):
        wrong = wrong_action(stump, axes, cost, person, np.array([after]), budget, max_changes)
        return wrong and wrong[1]

    assert why([6.0, 5, 12, 1, 0, 1, 0]) is None
    assert why([6.0, 6, 11, 1, 0, 0, 1]) is None  # from beyond the bound, back by any amount
    assert why([5.0, 5, 12, 1, 0, 1, 0]) == "the model refuses the result"
    assert why([10.5, 5, 12, 1, 0, 1, 0]) == "'free' leaves its bounds"
    assert why([-0.5, 5, 12, 1, 0, 1, 0]) == "'free' leaves its bounds"
    assert why([6.0, 5.5, 12, 1, 0, 1, 0]) == "'up' is not a whole number"
    assert why([6.0, 4, 12, 1, 0, 1, 0]) == "'up' may not fall"
    assert why([6.0, 5, 13, 1, 0, 1, 0]) == "'down' leaves its bounds"
    assert why([6.0, 5, 12, 0, 0, 1, 0]) == "'own' may not change"
    assert why([6.0, 5, 12, 1, 1, 0, 0]) == "'job' may not fall"
    for job in ([0, 0, 0], [0, 1, 1], [0, 0.5, 0.5], [0, 2, -1]):
        assert why([6.0, 5, 12, 1, *job]) == "'job' is not one of its categories"
    assert why([6.0, 6, 12, 1, 0, 1, 0], max_changes=1) == "more than 1 features change"
    assert why([6.0, 6, 12, 1, 0, 1, 0], max_changes=2) is None
    assert why([6.0, 5, 12, 1, 0, 1, 0], budget=0.1) == "it costs more than the budget"
    down = replace(axes[2].feature, change="increase")
    axes = (*axes[:2], replace(axes[2], feature=down), *axes[3:])
    assert why([6.0, 5, 11, 1, 0, 1, 0]) == "'down' may not fall"

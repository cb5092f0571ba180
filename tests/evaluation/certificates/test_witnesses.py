"""Witness files: actions that anybody can check, and what becomes of those that are no actions."""

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation.certificates import Certificate, certify, verify
from ract.evaluation.certificates.record import record_digest
from ract.io.archive import from_npy, to_npy


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


def test_people_without_an_answer_are_in_the_file_as_such(forest, people, tmp_path):
    path = tmp_path / "witnesses.npy"
    certificate = certify(forest, people, witnesses=path, time_limit=0)
    assert certificate.everyone.unknown > 0 == certificate.everyone.served
    assert verify(certificate, forest, people, witnesses=path, time_limit=0)
    assert "everyone" in verify(certificate, forest, people, witnesses=path).unchecked
    assert np.isnan(from_npy(path.read_bytes(), "x")[:, 1:]).all()


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


def test_records_without_the_entry_are_still_read(forest, people):
    """As ract 0.1 wrote them."""
    record = certify(forest, people).to_dict() | {"format": "ract certificate 1"}
    limits = {"max_changes": record.pop("max_changes"), "time_limit": 10.0}
    record["search"] = {"method": "exact", **limits}
    del record["witnesses"]
    record["digest"] = record_digest(record)
    assert verify(record, forest, people)
    assert Certificate.from_dict(record).witnesses is None


def test_what_certify_and_verify_refuse(forest, people, tmp_path):
    for value in (-1, 2.5, None):
        with pytest.raises(InvalidSpec, match="none_sample must be a whole number"):
            verify({}, forest, people, none_sample=value)
    with pytest.raises(FileNotFoundError):
        certify(forest, people, witnesses=tmp_path / "nowhere" / "witnesses.npy")

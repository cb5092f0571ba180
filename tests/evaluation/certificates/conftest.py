"""What several test modules of this folder build on."""

import copy
import hashlib

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans
from ract.evaluation.certificates import certify
from ract.evaluation.certificates.record import record_digest
from ract.io.archive import from_npy, to_npy
from ract.recourse.reachable import recourse_status


@pytest.fixture(scope="session")
def loans():
    return load_loans(n_people=3000, random_state=0)


@pytest.fixture(scope="session")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=9, max_depth=4, recourse_weight=0, budget=0.15, random_state=0
    )
    return model.fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="session")
def population(forest):
    """A large population, and who of it has recourse."""
    people = load_loans(n_people=20_000, random_state=9).frame
    return people, np.isin(recourse_status(forest, people, n_jobs=2), ("accepted", "found"))


@pytest.fixture(scope="module")
def witnessed(forest, people, tmp_path_factory):
    """The record and the matrix of a certificate with witnesses, of a module's own people."""
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
        record["digest"] = record_digest(record)
        return record, path

    return forge

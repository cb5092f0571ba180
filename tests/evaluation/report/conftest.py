"""What several test modules of this folder build on."""

import pytest

from ract import (
    RecourseForestClassifier,
)
from ract.data.datasets import load_loans
from ract.evaluation.report import audit


@pytest.fixture(scope="session")
def loans():
    return load_loans(n_people=1600)


@pytest.fixture(scope="session")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=15, budget=0.15, recourse_weight=0, random_state=0
    )
    return model.fit(loans.frame[:1000], loans.target[:1000])


@pytest.fixture(scope="session")
def found(forest, loans):
    return audit(forest, loans.frame[1000:], loans.target[1000:], groups="Education")

"""A model and plans to be promised."""

from __future__ import annotations

import pytest

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans
from tests.builders import timeless


@pytest.fixture(scope="session")
def loans():
    return timeless(load_loans(n_people=900))


@pytest.fixture(scope="session")
def model(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=15, recourse_weight=0.3, random_state=0
    )
    return forest.fit(loans.frame[:600], loans.target[:600])


@pytest.fixture(scope="session")
def plans(model, loans):
    """Plans of the first refused people, keyed A-0, A-1, ..."""
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(12)
    refused = refused.set_axis([f"A-{k}" for k in range(len(refused))])
    return model.recourse(refused, strength=0.7, at_least=True)

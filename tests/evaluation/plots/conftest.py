"""What several test modules of this folder build on."""

import matplotlib as mpl
import matplotlib.figure
import pytest

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans


@pytest.fixture(scope="session")
def loans():
    return load_loans(n_people=700)


@pytest.fixture(scope="session")
def forest(loans):
    model = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    return model.fit(loans.frame[:500], loans.target[:500])


@pytest.fixture
def ax():
    return mpl.figure.Figure().subplots()

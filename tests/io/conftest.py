"""A model file to damage."""

import pytest

from ract.io.save import model_bytes
from tests.io.files import LOANS, forest


@pytest.fixture(scope="session")
def good():
    model = forest(n_estimators=3, max_depth=3).fit(LOANS.frame, LOANS.target)
    return model_bytes(model, summary={"people": 600})

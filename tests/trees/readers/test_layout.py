"""Trees laid out again on encoded columns."""

import pytest
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    OrdinalEncoder,
)

from ract._utils.errors import InvalidSpec
from ract.trees.readers import read_model
from tests.trees.readers.tables import WORDS, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_sets_of_categories_may_not_grow_without_end(monkeypatch):
    frame, y = table(28)
    model = make_pipeline(OrdinalEncoder(), RandomForestClassifier(5, random_state=0))
    model.fit(frame[WORDS], y)
    monkeypatch.setattr("ract.trees.readers.layout.MOST_NODES", 20)
    with pytest.raises(
        InvalidSpec, match="sets of categories, and by numbers.*come to more than 20"
    ):
        read_model(model, frame[WORDS])

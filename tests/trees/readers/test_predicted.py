"""What a forest predicts for a few rows is what its own ``predict`` gives them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from ract.trees.readers import predicted
from ract.trees.readers.predicted import predicted_classes

GENERATOR = np.random.default_rng(0)
ROWS = pd.DataFrame(GENERATOR.integers(0, 6, (200, 3)).astype(float), columns=list("abc"))
WORDS = np.where(ROWS.sum(axis=1) + GENERATOR.normal(size=200) > 8, "yes", "no")


def encoded(forest, **options):
    words = make_column_transformer((OneHotEncoder(**options), ["a"]), remainder="passthrough")
    return Pipeline([("words", words), ("nothing", "passthrough"), ("forest", forest)])


@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda forest: forest,
        encoded,
        lambda forest: encoded(forest, sparse_output=True),
        lambda forest: make_pipeline(StandardScaler(), FunctionTransformer(np.abs), forest),
    ],
)
def test_few_rows_fare_as_by_predict(kind, wrap):
    for n_trees, depth in ((4, 1), (9, None)):  # an even number of stumps has ties
        model = wrap(kind(n_trees, max_depth=depth, random_state=0)).fit(ROWS, WORDS)
        for first in range(0, 200, 20):
            few = ROWS.iloc[first : first + 20]
            np.testing.assert_array_equal(predicted_classes(model, few), model.predict(few))
        np.testing.assert_array_equal(predicted_classes(model, ROWS), model.predict(ROWS))


def test_missing_values_and_arrays():
    holes = ROWS.mask(GENERATOR.random(ROWS.shape) < 0.2).to_numpy()
    model = RandomForestClassifier(9, random_state=0).fit(holes, WORDS)
    np.testing.assert_array_equal(predicted_classes(model, holes[:50]), model.predict(holes[:50]))


def test_few_rows_are_not_handed_to_workers(monkeypatch):
    model = RandomForestClassifier(9, random_state=0).fit(ROWS, WORDS)
    expected = model.predict(ROWS.iloc[:5])
    monkeypatch.setattr(RandomForestClassifier, "predict_proba", None)
    np.testing.assert_array_equal(predicted_classes(model, ROWS.iloc[:5]), expected)


def test_tables_are_checked_as_by_predict():
    model = RandomForestClassifier(9, random_state=0).fit(ROWS, WORDS)
    with pytest.raises(ValueError, match="feature names"):
        predicted_classes(model, ROWS.rename(columns={"a": "z"}).iloc[:5])
    with pytest.raises(ValueError, match="infinity"):
        predicted_classes(model, ROWS.iloc[:5].replace(ROWS.iloc[0, 0], np.inf))


class OldestFirst(RandomForestClassifier):
    """Has a rule of its own."""

    def predict(self, X):
        return np.full(len(X), "yes")


def test_rules_of_ones_own_count(monkeypatch):
    model = OldestFirst(9, random_state=0).fit(ROWS, WORDS)
    assert (predicted_classes(model, ROWS.iloc[:5]) == "yes").all()
    plain = RandomForestClassifier(9, random_state=0).fit(ROWS, WORDS)
    monkeypatch.setattr(plain, "predict", lambda rows: np.full(len(rows), "no"))
    assert (predicted_classes(plain, ROWS.iloc[:5]) == "no").all()
    boosted = GradientBoostingClassifier(n_estimators=3).fit(ROWS, WORDS)
    np.testing.assert_array_equal(
        predicted_classes(boosted, ROWS.iloc[:5]), boosted.predict(ROWS.iloc[:5])
    )
    assert len(ROWS) > predicted.FEW_ROWS

"""Names of types."""

from sklearn.tree import DecisionTreeClassifier

from ract._utils import typing as types


def test_a_classifier_is_what_predicts():
    members = {name for name in vars(types.Classifier) if not name.startswith("_")}
    assert members == {"predict"} <= set(dir(DecisionTreeClassifier))

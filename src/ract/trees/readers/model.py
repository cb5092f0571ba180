"""A classifier of trees, whatever library it comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, TypeGuard

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.typing import Classifier, Label, TableLike
from ract.data.actions import Feature
from ract.data.encoder import Encoder
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import Curve
from ract.trees.readers.reading import ENDS


class FittedTrees(Classifier, Protocol):
    """One of ract's own fitted classifiers, or an imported model."""

    classes_: np.ndarray
    desired_: Label
    encoder_: Encoder
    ensemble_: TreeEnsemble
    n_features_in_: int

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of each class (people x 2)."""


def is_own(model: object) -> TypeGuard[FittedTrees]:
    """Whether a model is one of ract's own, or was imported."""
    return all(hasattr(model, name) for name in ("ensemble_", "encoder_", "desired_"))


def used_features(model: FittedTrees) -> list[Feature]:
    """The features that some tree of a model asks about: what it decides by."""
    if not is_own(model):
        raise InvalidSpec(
            "Expected a fitted model of ract, or what ract.import_model makes, got "
            f"{type(model).__name__}."
        )
    asked = set(np.unique(model.ensemble_.feature).tolist())
    return [axis.feature for axis in model.encoder_.axes if asked & set(axis.columns)]


def takes_threshold(model: object) -> bool:
    """Whether a model was trained by ract, so that it may decide by another share of its leaves."""
    return hasattr(model, "max_bins")


@dataclass(frozen=True)
class TreeModel:
    """A classifier of trees over encoded columns, and the class that people want.

    Parameters
    ----------
    encoder : Encoder
        From the user's own table to encoded columns.
    ensemble : TreeEnsemble
        Over encoded columns, with thresholds in the user's own units. Labels of leaves say which
        class a leaf favours on its own; only a single tree decides by them.
    classes : array of labels
    desired : label
    n_features : int
        Number of columns of the user's table.
    link : callable, optional
        Turns margins of the second class into its probabilities; None if scores are probabilities.
    also : tuple of TreeEnsemble
        If the class is one among several: further ensembles that must decide for it too.
    compares_rounded : bool
        Whether the library chooses among them by their rounded probabilities.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from ract import ActionSpace, Feature
    >>> from ract.trees import read_model
    >>> people = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> tree = DecisionTreeClassifier(max_depth=1).fit(people, ["no", "no", "no", "yes"])
    >>> model = read_model(tree, people, ActionSpace([Feature("x0")]))
    >>> float(model.ensemble.threshold[0])  # the largest double that the tree rounds to 3.5
    3.5000001192092896
    >>> model.decide(np.array([[3.4], [3.6]]))
    array([False,  True])
    """

    encoder: Encoder
    ensemble: TreeEnsemble
    classes: np.ndarray
    desired: Label
    n_features: int
    link: Curve | None = None
    also: tuple[TreeEnsemble, ...] = ()
    compares_rounded: bool = False

    @property
    def regresses(self) -> bool:
        """Whether the model is a regressor, whose prediction is compared with a threshold."""
        return self.classes.tolist() == ENDS.tolist()

    def score(self, X: TableLike, *, n_jobs: int | None = None) -> np.ndarray:
        """The model's own score of the desired class, bit for bit.

        A probability for trees and forests, a margin (log odds as a rule) for boosted trees;
        in single precision for XGBoost. Of trees that vote, the mean share of their leaves.
        """
        matrix, ensemble = self.encoder.matrix(X, kinds=False), self.ensemble
        if ensemble.combine != "votes":
            return ensemble.score(matrix, n_jobs=n_jobs)
        return ensemble.totals(matrix, n_jobs=n_jobs)[1] / ensemble.n_trees

    def probability(self, X: TableLike, *, n_jobs: int | None = None) -> np.ndarray:
        """The model's own probability of the desired class."""
        score = self.score(X, n_jobs=n_jobs)
        if self.link is None:
            return score
        if self.desired == self.classes[1]:
            return self.link(score)
        return 1 - self.link(-score)

    def decide(self, X: TableLike, *, n_jobs: int | None = None) -> np.ndarray:
        """Whether the model gives each person the desired class."""
        return self.decide_encoded(self.encoder.matrix(X, kinds=False), n_jobs=n_jobs)

    def decide_encoded(self, matrix: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
        """The same for encoded rows."""
        each = [one.decide(matrix, n_jobs=n_jobs) for one in (self.ensemble, *self.also)]
        return np.asarray(np.all(each, axis=0))


@dataclass(frozen=True)
class OwnModel(TreeModel):
    """One of ract's own classifiers, which is a TreeEnsemble already."""

    model: FittedTrees = field(kw_only=True)

    def score(self, X: TableLike, *, n_jobs: int | None = None) -> np.ndarray:
        """The model's own probability of the desired class."""
        return self.model.predict_proba(X)[:, self.classes.tolist().index(self.desired)]

    def decide(self, X: TableLike, *, n_jobs: int | None = None) -> np.ndarray:
        """Whether the model gives each person the desired class."""
        matrix = self.encoder.matrix(X, kinds=False, undeclared=True)
        return self.ensemble.decide(matrix, n_jobs=n_jobs)

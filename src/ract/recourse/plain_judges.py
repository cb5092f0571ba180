"""Other learners that a lender may change to, as judges of plans: plain, and cut to accept as many.

A plan that survives retraining of its own learner may be refused by another one. So plans can be
put to learners that know nothing of recourse, fitted on the people of the judge:

    "same"       the learner itself
    "boosting"   scikit-learn's histogram boosting
    "linear"     a logistic regression of standardised columns

Each accepts the best of the people whom it has not seen, at the rate of the learner itself. Plans
can be *required* to be accepted where the judge is made of trees: a plain booster of the planner's
own people, the guard, must then agree with plans, and be won as much as the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ract._utils.errors import InvalidSpec, listing
from ract.data.actions import ActionSpace, Feature
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import read_model

SAME = ("same",)
# Probabilities that decide are held this far from 0 and 1.
CERTAIN = 1e-9
NAMES = {
    "same": "the same learner",
    "boosting": "a plain booster",
    "linear": "a logistic regression",
}


def checked_learners(robust_to: str | Sequence[str]) -> tuple[str, ...]:
    """Learners by name, each once and in one order.

    >>> checked_learners(["linear", "same"])
    ('same', 'linear')
    """
    names = [robust_to] if isinstance(robust_to, str) else list(robust_to)
    if not names or any(name not in NAMES for name in names):
        raise InvalidSpec(f"robust_to must name learners of {listing(NAMES)}, got {robust_to!r}.")
    return tuple(name for name in NAMES if name in names)


def described(robust_to: tuple[str, ...]) -> str:
    """Learners in words.

    >>> described(("same", "boosting", "linear"))
    'the same learner, a plain booster and a logistic regression'
    """
    *first, last = (NAMES[name] for name in robust_to)
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True)
class PlainJudge:
    """A fitted classifier of encoded people and the score from which on it accepts."""

    classifier: Any
    cut: float

    @classmethod
    def fitted(
        cls,
        kind: str,
        matrix: np.ndarray,
        desired: np.ndarray,
        outside: np.ndarray,
        rate: float,
        sample_weight: np.ndarray | None = None,
    ) -> PlainJudge:
        """A learner that accepts a share of the people outside, those with the highest scores.

        Parameters
        ----------
        kind : {"boosting", "linear"}
        matrix, outside : float (people, columns)
            Whom it is fitted on, and others on whom it is cut.
        desired : bool (people,)
        rate : float
        sample_weight : float (people,), optional
        """
        if kind == "boosting":
            classifier = HistGradientBoostingClassifier(max_leaf_nodes=8, random_state=0)
            classifier.fit(matrix, desired, sample_weight)
        else:
            imputer = SimpleImputer(keep_empty_features=True)
            linear = LogisticRegression(max_iter=1000)
            classifier = make_pipeline(imputer, StandardScaler(), linear)
            classifier.fit(matrix, desired, logisticregression__sample_weight=sample_weight)
        scores = classifier.predict_proba(outside)[:, 1]
        return cls(classifier, _cut(scores, round(rate * len(scores))))

    def probability(self, matrix: np.ndarray) -> np.ndarray:
        """Of the desired class."""
        return np.asarray(self.classifier.predict_proba(matrix)[:, 1])

    def accepts(self, matrix: np.ndarray) -> np.ndarray:
        """Whom it accepts."""
        return self.probability(matrix) >= self.cut

    def trees(self, n_columns: int) -> TreeEnsemble:
        """The trees of a booster over the columns of encoded people, with the cut."""
        cut = min(max(self.cut, CERTAIN), 1 - CERTAIN)
        columns = [Feature(f"x{k}", "continuous", "fixed") for k in range(n_columns)]
        nobody = np.array([[0.0], [1.0], [np.nan]]) * np.ones(n_columns)  # values may be missing
        trees = read_model(
            self.classifier, nobody, actions=ActionSpace(columns), desired=True, threshold=cut
        )
        return trees.ensemble


def _cut(scores: np.ndarray, n_accepted: int) -> float:
    """A cut that the best people reach, in the middle between them and the next.

    >>> _cut(np.array([0.2, 0.8, 0.6, 0.6]), 2), _cut(np.array([0.2, 0.8]), 0)
    (0.4, 1.0)
    """
    order = np.append(np.sort(scores)[::-1], 0.0)
    if n_accepted == 0:
        return 1.0
    least = order[n_accepted - 1]
    return float((least + order[order < least].max(initial=0.0)) / 2)

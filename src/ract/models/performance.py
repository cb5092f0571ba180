"""How a model does on people whose outcome is known: five figures for every kind of model."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from ract._utils.typing import ColumnLike, TableLike
from ract.data.frames import take_rows
from ract.models.base import RecourseClassifierMixin
from ract.models.parameters import split_seed

HELD_OUT = 0.2
# People of each class that are needed to hold some out.
FEWEST = 10


@dataclass(frozen=True)
class Performance:
    """What a model decides about people, and how often it is right.

    Parameters
    ----------
    auc, accuracy : float
    approval_rate : float
        Share of people who get the desired class.
    bad_rate : float
        Share of undesired people among those; NaN if there are none.
    base_rate : float
        Share of desired people among all.
    held_out : bool
        Whether the people were held out from training.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree()
    >>> found = Performance.of(model, loans.frame, loans.target)
    >>> found.approval_rate > found.base_rate > 0.5 > found.bad_rate
    True
    """

    auc: float
    accuracy: float
    approval_rate: float
    bad_rate: float
    base_rate: float
    held_out: bool = False

    @classmethod
    def of(
        cls,
        model: RecourseClassifierMixin,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike | None = None,
        *,
        held_out: bool = False,
    ) -> Performance:
        """Measure the performance of a fitted model.

        Parameters
        ----------
        model : fitted classifier of ract
        X : frame or array
        y : array (people,)
        sample_weight : array (people,), optional
        held_out : bool
            Whether the people are held-out.
        """
        wanted = np.asarray(y) == model.desired_
        approved = model.predict(X) == model.desired_
        share = model.predict_proba(X)[:, model.classes_.tolist().index(model.desired_)]
        weight = np.ones(len(wanted)) if sample_weight is None else np.asarray(sample_weight, float)
        auc = float("nan")
        if 0 < wanted.sum() < len(wanted):
            auc = float(roc_auc_score(wanted, share, sample_weight=weight))

        def rate(of: np.ndarray, among: np.ndarray | None = None) -> float:
            mass = weight if among is None else weight * among
            return float((mass * of).sum() / mass.sum()) if mass.sum() else float("nan")

        return cls(
            auc=auc,
            accuracy=rate(approved == wanted),
            approval_rate=rate(approved),
            bad_rate=rate(~wanted, approved),
            base_rate=rate(wanted),
            held_out=held_out,
        )

    def to_dict(self) -> dict[str, float]:
        """Figures by name, without those that are not known."""
        return {name: value for name, value in asdict(self).items() if value == value}


def held_out_performance(
    estimator: RecourseClassifierMixin,
    X: TableLike,
    y: ColumnLike,
    sample_weight: ColumnLike | None = None,
) -> Performance | None:
    """That of the same learner on a fifth of the people, fitted on the others.

    Parameters
    ----------
    estimator : classifier of ract
        Fitted or not; it is cloned.
    X : frame or array
    y : array (people,)
    sample_weight : array (people,), optional

    Returns
    -------
    Performance or None
        None if there are too few people of a class.
    """
    labels = np.asarray(y)
    if np.unique(labels, return_counts=True)[1].min() < FEWEST:
        return None
    everyone, seed = np.arange(len(labels)), split_seed(estimator.random_state)
    grow_on, held_out = train_test_split(
        everyone, test_size=HELD_OUT, stratify=labels, random_state=seed
    )
    learner = estimator.as_replicate()
    if hasattr(estimator, "n_jobs"):
        learner.set_params(n_jobs=estimator.n_jobs)
    weights = None if sample_weight is None else np.asarray(sample_weight, float)
    parts = [None if weights is None else weights[rows] for rows in (grow_on, held_out)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit of everyone has said it
        learner.fit(take_rows(X, grow_on), labels[grow_on], parts[0])
    X, labels = take_rows(X, held_out), labels[held_out]
    return Performance.of(learner, X, labels, parts[1], held_out=True)

"""Tuning the weight of recourse to a goal, as a meta-estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.signature import takes_keywords_of
from ract._utils.typing import ColumnLike, Label, TableLike
from ract._utils.validation import NONE, SHARE, instance
from ract.data.actions import ActionSpace
from ract.data.costs import FittedCost
from ract.data.encoder import Encoder
from ract.data.frames import take_rows
from ract.models.base import RecourseClassifierMixin
from ract.models.parameters import check_parameters, parameter, split_seed, with_parameters
from ract.models.table import Prepared, Source
from ract.models.weight_search import (
    FLOORS,
    HELD_OUT,
    Trial,
    Validation,
    WeightSearch,
    choose_weight,
    choose_weight_and_floor,
)
from ract.recourse.common.problem import check_categories
from ract.recourse.find import find_recourse
from ract.recourse.problem import PROBLEM_KEYWORDS
from ract.recourse.reasons import Reasons, find_reasons
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.training import TrainingSet

# The goal when none is stated, and how few people the search can do with.
MIN_RECOURSE, FEWEST = 0.95, 50


@with_parameters
class TunedRecourseClassifierCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Choose ``recourse_weight`` by cross-validation for a stated goal, and fit with it.

    About three weights are tried on four fifths of the people and measured on the rest. If the
    estimator has ``lasting``, the goal is about plans that last. Then ``min_leaf_share`` is chosen
    too, unless the estimator has one, in at most ten trials of two models each, which are trained
    on different people.

    Parameters
    ----------
    estimator : RecourseTreeClassifier, RecourseForestClassifier or RecourseBoostingClassifier
        Its ``recourse_weight`` is set by the search.
    min_recourse : float, optional
        Find the most accurate model with at least this share of people who are accepted or have an
        action within the budget (with ``lasting``, one that a model of other people accepts too);
        0.95 if no goal is given.
    max_auc_loss : float, optional
        The other kind of goal: find the most recourse at an AUC at most this much below the AUC
        without a weight.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on everyone with the chosen weight; this is what ``save_model`` stores.
    recourse_weight_ : float
    weight_search_ : WeightSearch
        The trials, the goal and whether it was met; ``weight_search_.to_frame()``.
    classes_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> from ract.data.datasets import load_loans
    >>> loans = load_loans(600)
    >>> tree = RecourseTreeClassifier(loans.actions, max_depth=4, random_state=0)
    >>> tuned = TunedRecourseClassifierCV(tree, min_recourse=0.9).fit(loans.frame, loans.target)
    >>> tuned.weight_search_.met, tuned.estimator_.recourse_weight == tuned.recourse_weight_
    (True, True)
    """

    estimator: RecourseClassifierMixin = parameter(
        instance(RecourseClassifierMixin, "a classifier of ract"), kw_only=False
    )
    min_recourse: float | None = parameter(NONE, SHARE, default=None)
    max_auc_loss: float | None = parameter(NONE, SHARE, default=None)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Source, y: ColumnLike, sample_weight: ColumnLike | None = None) -> Self:
        """Choose the weight and fit the classifier with it.

        Parameters
        ----------
        X, y, sample_weight
            As the estimator takes them.
        """
        check_parameters(self)
        if self.min_recourse is not None and self.max_auc_loss is not None:
            raise InvalidSpec("Give either min_recourse or max_auc_loss as the goal, not both.")
        reader = clone(self.estimator).set_params(recourse_weight=1.0)  # so that reach is known
        prepared = reader.prepare(X, y, sample_weight)
        check_categories(prepared.training.encoder.axes)  # searches: better refused now
        search = _searched(reader, prepared, self.min_recourse, self.max_auc_loss)
        chosen: dict[str, Any] = {"recourse_weight": search.weight}
        if search.floor is not None:
            chosen["min_leaf_share"] = search.floor
        self.estimator_ = clone(self.estimator).set_params(**chosen).fit(X, y, sample_weight)
        self.weight_search_, self.recourse_weight_ = search, search.weight
        self.classes_ = self.estimator_.classes_
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    @property
    def _fitted(self) -> RecourseClassifierMixin:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def actions(self) -> ActionSpace | None:
        """The estimator's action space."""
        return self.estimator.actions

    @property
    def budget_(self) -> float:
        """The estimator's budget."""
        return self.estimator.budget_

    @property
    def desired_(self) -> Label:
        """The class that people want."""
        return self._fitted.desired_

    @property
    def ensemble_(self) -> TreeEnsemble:
        """The trees that decide."""
        return self._fitted.ensemble_

    @property
    def encoder_(self) -> Encoder:
        """From the user's table to encoded columns."""
        return self._fitted.encoder_

    @property
    def cost_(self) -> FittedCost:
        """What actions cost."""
        return self._fitted.cost_

    def predict(self, X: TableLike) -> np.ndarray:
        """Class of each person."""
        return self._fitted.predict(X)

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of each class."""
        return self._fitted.predict_proba(X)

    def decision_function(self, X: TableLike) -> np.ndarray:
        """The score that decides minus its cut: above 0 for the second of the ``classes_``."""
        return self._fitted.decision_function(X)

    @takes_keywords_of(find_recourse, more=PROBLEM_KEYWORDS)
    def recourse(self, X: TableLike, **options: Any) -> Recourse:
        """What each person can do to get the desired class; keywords of ``ract.find_recourse``."""
        return self._fitted.recourse(X, **options)

    @takes_keywords_of(find_reasons, more=PROBLEM_KEYWORDS)
    def reasons(self, X: TableLike, **options: Any) -> Reasons:
        """Why each refused person was refused; keywords of ``ract.find_reasons``."""
        return self._fitted.reasons(X, **options)


def _searched(
    estimator: RecourseClassifierMixin,
    prepared: Prepared,
    min_recourse: float | None,
    max_auc_loss: float | None,
) -> WeightSearch:
    """Try weights on one table, and floors where plans are to last."""
    if min_recourse is None and max_auc_loss is None:
        min_recourse = MIN_RECOURSE
    trained, validation, unit = _dealt(estimator, prepared, min_recourse)
    goals: dict[str, Any] = {
        "min_recourse": min_recourse,
        "max_auc_loss": max_auc_loss,
        "n_people": len(validation.desired),
    }
    floor = estimator.get_params(deep=False).get("min_leaf_share", 0.0)

    def trial(weight: float) -> Trial:
        ensemble = estimator.ensemble_on(trained[0], weight, floor or 0)
        return validation.trial(weight, ensemble)

    def lasting_trial(weight: float, floor: float) -> Trial:
        halves = [estimator.ensemble_on(half, weight, floor) for half in trained]
        return validation.lasting_trial(weight, floor, halves)

    if estimator.lasting is None:
        return choose_weight(trial, unit, **goals)
    floors = FLOORS if floor is None else (floor,)
    return choose_weight_and_floor(lasting_trial, unit, floors, **goals)


def _dealt(
    estimator: RecourseClassifierMixin, prepared: Prepared, min_recourse: float | None
) -> tuple[list[TrainingSet], Validation, float]:
    """People that trials grow on, those that they are measured on, and the unit of weights.

    Where plans are to last, the first are dealt into two halves.
    """
    known, seed = prepared.in_memory, split_seed(estimator.random_state)
    desired, weights = known.desired.astype(np.uint8), known.weights
    smallest = int(np.bincount(desired, minlength=2).min())
    if len(desired) < FEWEST or smallest < FEWEST // 10:
        raise InvalidData(
            f"Tuning the weight needs {FEWEST} people or more, {FEWEST // 10} of each class, "
            f"got {len(desired)} and {smallest}; give the estimator a number instead."
        )
    grow_on, hold_out = train_test_split(
        np.arange(len(desired)), test_size=HELD_OUT, stratify=desired, random_state=seed
    )
    parts = [grow_on]
    if estimator.lasting is not None:
        parts = train_test_split(
            grow_on, test_size=0.5, stratify=desired[grow_on], random_state=seed
        )
    grow_on, hold_out = np.sort(grow_on), np.sort(hold_out)
    trained = [prepared.part(np.sort(part), with_reach=True) for part in parts]
    estimator.choose_monotonic(prepared.training)
    validation = Validation(
        trained[0].encoder.matrix(take_rows(known.X, hold_out)),
        desired[hold_out],
        weights.people[hold_out],
        [(part.encoder.axes, part.cost) for part in trained],
        estimator.budget_,
        min_recourse,
        prepared.spec.n_jobs,
        estimator.lasting or 0.0,
    )
    return trained, validation, estimator.weight_unit(desired[grow_on], weights.people[grow_on])

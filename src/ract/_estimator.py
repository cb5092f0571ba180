"""What all learners share: scikit-learn's conventions at the public edge."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, clone
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ract._auto import (
    FLOORS,
    HELD_OUT,
    Trial,
    Validation,
    WeightSearch,
    choose_weight,
    choose_weight_and_floor,
)
from ract._frames import is_frame, read_table, take_rows
from ract._parameters import at_least, desired_class, is_number
from ract._streamed import Kept, is_stored, read_stored
from ract._training import Setting, TrainingSet, Weights, prepare, space_for_part
from ract.calibration import LastingCurve, LastingWarning, calibrate
from ract.ensemble import TreeEnsemble, on_its_side
from ract.errors import InvalidData, InvalidSpec, listing
from ract.reasons import Reasons, find_reasons
from ract.reasons.reference import choose_reference
from ract.recourse.exact.search import ExactSearch
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse
from ract.status import Status

# The goal of an automatic weight when none is stated, and how few people it can do with.
MIN_RECOURSE, FEWEST = 0.95, 50
# For each person's search while strengths are measured; one that needs more counts as no plan.
CALIBRATION_SECONDS = 1.0
# What reading a table says of it, beside the training set.
_READ = ("classes_", "desired_", "n_features_in_", "feature_names_in_")


@dataclass(frozen=True)
class Prepared:
    """A table that was read once, good for any weight of recourse.

    Parameters
    ----------
    reading : tuple
        What it depends on, of the estimator that read it.
    people : frame or array
        Everyone with a weight; None if they are stored.
    desired : uint8 (everyone,)
    growing : int (people,)
        Their rows.
    training : TrainingSet
    read : dict
        What the estimator learned of columns and classes.
    kept : Kept, optional
        Of stored people, those who are in memory.
    """

    reading: tuple[Any, ...]
    people: Any
    desired: np.ndarray
    growing: np.ndarray | range
    training: TrainingSet
    read: dict[str, Any]
    kept: Kept | None = None

    @property
    def in_memory(self) -> Kept:
        """The people in memory: everyone with a weight, or those who were kept."""
        if self.kept is not None:
            return self.kept
        desired = self.desired[self.growing] == 1
        return Kept(self.people, slice(None), desired, self.training.weights, len(desired))


class RecourseClassifierMixin(ClassifierMixin):
    """Reading tables and targets, predicting, and measuring recourse risk."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags

    @property
    def _setting(self) -> Setting:
        return Setting(
            self.actions, self.cost, self.budget, self.exact_costs, self.max_cells,
            self.only_actionable,
        )  # fmt: skip

    @property
    def _reading(self) -> tuple[Any, ...]:
        """Everything that a prepared table depends on, beside whether reach is needed."""
        return self._setting, self.desired, self.class_weight

    @property
    def _needs_reach(self) -> bool:
        return bool(self.recourse_weight != 0)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Prepared:
        """Read, encode, bin and price a table, once for as many fits as wanted."""
        if is_stored(X):
            return self._prepared_of(*read_stored(self, X, y, sample_weight))
        setting = self._setting
        X, y = self._read_people(X, y)
        read_table(X).refuse_empty_columns()
        desired = self._read_target(y)
        weights = self._read_weights(sample_weight, y)
        growing = np.flatnonzero(weights.growing > 0)
        return self._prepare_rows(X, desired, weights, growing, setting)

    def _prepared_of(self, training: TrainingSet, kept: Kept | None) -> Prepared:
        """A table that was read in batches."""
        read = {name: vars(self)[name] for name in (*_READ, "grid_error_")}
        everyone = range(len(training.weights.growing))
        desired = training.people.desired
        return Prepared(self._reading, None, desired, everyone, training, read, kept)

    def _prepare_rows(
        self,
        X: Any,
        desired: np.ndarray,
        weights: Weights,
        growing: np.ndarray,
        setting: Setting,
    ) -> Prepared:
        people = X if len(growing) == len(desired) else take_rows(X, growing)
        training = prepare(
            people, desired[growing], weights.of(growing), setting, with_reach=self._needs_reach,
            n_jobs=getattr(self, "n_jobs", None),
        )  # fmt: skip
        read = {name: vars(self)[name] for name in _READ if name in vars(self)}
        return Prepared(self._reading, people, desired, growing, training, read)

    def _adopt(self, prepared: Prepared) -> None:
        self.__dict__.pop("grid_error_", None)
        self.__dict__.update(prepared.read)
        self.encoder_, self.cost_ = prepared.training.encoder, prepared.training.cost
        self._rows_seen = prepared.training.rows

    def _chosen_weight(self, kept: Kept | None) -> tuple[float, float]:
        """The weight of recourse and the floor of leaves; "auto" tries some on people in memory."""
        self._check_goal()
        floor = float(self._given_floor or 0.0)
        self.__dict__.pop("weight_search_", None)
        if self.recourse_weight != "auto" or kept is None:
            return float(at_least("recourse_weight", self.recourse_weight, 0)), floor
        search = self._search_weight(kept.people, kept.desired.astype(np.uint8), kept.weights)
        self.weight_search_: WeightSearch = search
        return search.weight, floor if search.floor is None else search.floor

    def _check_goal(self) -> None:
        goals = {"min_recourse": self.min_recourse, "max_auc_loss": self.max_auc_loss}
        given = {name: value for name, value in goals.items() if value is not None}
        for name, value in given.items():
            if not (is_number(value) and 0 <= value <= 1):
                raise InvalidSpec(f"{name} must be a share between 0 and 1, got {value!r}.")
        if given and self.recourse_weight != "auto":
            raise InvalidSpec(
                f"{listing(given)} needs recourse_weight='auto', got {self.recourse_weight!r}."
            )
        if len(given) == 2:
            raise InvalidSpec("Give either min_recourse or max_auc_loss as the goal, not both.")

    @property
    def _given_floor(self) -> float | None:
        """The floor of leaves, None if one may be chosen; a learner without labels has none."""
        return 0.0

    def _unit_of_weights(self, desired: np.ndarray, weights: np.ndarray) -> float:
        """What a weight of recourse stands against: the loss of everyone together, per person."""
        raise NotImplementedError

    def _search_weight(self, people: Any, desired: np.ndarray, weights: Weights) -> WeightSearch:
        """Try weights on some of the people and measure them on the rest."""
        smallest = int(np.bincount(desired, minlength=2).min())
        if len(desired) < FEWEST or smallest < FEWEST // 10:
            raise InvalidData(
                f"recourse_weight='auto' needs {FEWEST} people or more, {FEWEST // 10} of each "
                f"class, got {len(desired)} and {smallest}; give a number instead."
            )
        rows = np.arange(len(desired))
        grow_on, hold_out = train_test_split(
            rows, test_size=HELD_OUT, stratify=desired, random_state=self._split_seed()
        )
        parts = [grow_on]
        if self.lasting is not None:
            parts = train_test_split(
                grow_on, test_size=0.5, stratify=desired[grow_on], random_state=self._split_seed()
            )
        grow_on, hold_out = np.sort(grow_on), np.sort(hold_out)
        trained = [self._trained_on(np.sort(part), people, desired, weights) for part in parts]
        n_jobs, goal = getattr(self, "n_jobs", None), self.min_recourse
        if goal is None and self.max_auc_loss is None:
            goal = MIN_RECOURSE
        # Categories are everybody's, so that encoders of different people give the same columns.
        validation = Validation(
            trained[0].encoder.matrix(take_rows(people, hold_out)), desired[hold_out],
            weights.people[hold_out], [(part.encoder.axes, part.cost) for part in trained],
            self.budget, goal, n_jobs, self.lasting or 0.0,
        )  # fmt: skip
        # Of errors, which class weights change, to a person without recourse, which they do not.
        growing, unweighted = weights.growing[grow_on], weights.people[grow_on]
        unit = self._unit_of_weights(desired[grow_on], growing)
        unit *= float(growing.sum() / unweighted.sum())
        given, n_held = self._given_floor, len(hold_out)
        goals = {"min_recourse": goal, "max_auc_loss": self.max_auc_loss, "n_people": n_held}
        if self.lasting is None:

            def attempt(weight: float) -> Trial:
                return validation.trial(
                    weight, self._trial_ensemble(trained[0], weight, given or 0)
                )

            return choose_weight(attempt, unit, **goals)

        def attempt_both(weight: float, floor: float) -> Trial:
            halves = [self._trial_ensemble(half, weight, floor) for half in trained]
            return validation.lasting_trial(weight, floor, halves)

        floors = FLOORS if given is None else (given,)
        return choose_weight_and_floor(attempt_both, unit, floors, **goals)

    def _trained_on(
        self, rows: np.ndarray, people: Any, desired: np.ndarray, weights: Weights
    ) -> TrainingSet:
        """Some of the people, ready for trials."""
        part = take_rows(people, rows)
        space = space_for_part(self.actions, read_table(people), read_table(part))
        setting = replace(self._setting, actions=space)
        return prepare(part, desired[rows], weights.of(rows), setting, with_reach=True)

    def _measure(self, kept: Kept | None, X: Any, y: Any, sample_weight: Any) -> Any:
        """What a fit measures once the model is there; of stored people, on those in memory."""
        if kept is not None:
            X, y, sample_weight = kept.people, self._as_classes(kept.desired), kept.weights.sample
        return self._keep_reference(X)._calibrate(X, y, sample_weight)

    def _keep_reference(self, X: Any) -> Any:
        """Keep people at the margin of acceptance to compare others with, if that was asked for."""
        self.__dict__.pop("reference_", None)
        if self.keep_reference:
            matrix = self.encoder_.matrix(X)
            self.reference_: np.ndarray = choose_reference(self.ensemble_, matrix).matrix
        return self

    def _as_chosen(self) -> Any:
        """The learner, not fitted, with what this fit chose, and no measure of what lasts."""
        learner = clone(self).set_params(
            lasting=None, recourse_weight=self.recourse_weight_, min_recourse=None,
            max_auc_loss=None,
        )  # fmt: skip
        if "min_leaf_share" in learner.get_params(deep=False):
            learner.set_params(min_leaf_share=self.min_leaf_share_)
        return learner

    def _as_replicate(self) -> Any:
        """The learner for a part of the people, by which it is measured what lasts."""
        return self._as_chosen()

    def _calibrate(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Measure how strong plans must be to last, if that was asked for."""
        self.__dict__.pop("lasting_", None)
        if self.lasting is None:
            return self
        replicate = self._as_replicate()
        alone = {"n_jobs": None, "verbose": 0, "oob_score": False, "warm_start": False}
        known = replicate.get_params(deep=False)
        replicate.set_params(**{name: off for name, off in alone.items() if name in known})
        try:
            self.lasting_ = calibrate(
                replicate, X, y, lasting=self.lasting, sample_weight=sample_weight,
                random_state=self._split_seed(), n_jobs=getattr(self, "n_jobs", None),
                progress=getattr(self, "verbose", 0) > 0, time_limit=CALIBRATION_SECONDS,
            )  # fmt: skip
        except InvalidData:  # too few people
            self.lasting_ = LastingCurve((), 0.9, self.lasting)
        if self.lasting_.strength_for(self.lasting) is None:
            warnings.warn(str(self.lasting_).replace("\n", " "), LastingWarning, stacklevel=3)
        return self

    def _split_seed(self) -> int:
        """A seed for who is held out, without moving a generator that was handed in."""
        state = self.random_state
        return int(state) if is_number(state, whole=True) else 0

    def _trial_ensemble(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        raise NotImplementedError

    def _read_people(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check X and y as scikit-learn does; frames keep their own types."""
        if is_frame(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(np.asarray(y), warn=True)
            if len(y) != read_table(X).n_rows:
                raise InvalidData(f"X has {read_table(X).n_rows} rows but y has {len(y)}.")
        else:
            X, y = validate_data(
                self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite="allow-nan"
            )
        return X, y

    def _read_target(self, y: np.ndarray) -> np.ndarray:
        """Set classes_ and desired_; returns 1 for the desired class, 0 for the other."""
        different = pd.unique(y)
        if y.dtype.kind not in "biuSU":
            check_classification_targets(different)
        self.classes_ = np.sort(different)
        n = len(self.classes_)
        if n > 2:
            raise InvalidData(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}: {n} classes, {listing(self.classes_.tolist())}."
            )
        if n < 2:
            raise InvalidData(
                f"The target has only one class, {self.classes_.tolist()[0]!r}; two are needed."
            )
        self.desired_ = desired_class(self.desired, self.actions, self.classes_)
        return (y == self.desired_).astype(np.uint8)

    def _read_weights(self, sample_weight: Any, y: np.ndarray) -> Weights:
        """How much each person counts."""
        weights = None
        if sample_weight is not None:
            weights = np.asarray(sample_weight, dtype=np.float64)
            if weights.shape != y.shape:
                raise InvalidData(f"sample_weight has shape {weights.shape}, y has {y.shape}.")
            if not np.isfinite(weights).all() or (weights < 0).any():
                raise InvalidData("sample_weight must be finite and 0 or more for everyone.")
            if not (weights > 0).any():
                raise InvalidData("sample_weight is zero for everyone.")
        growing = np.ones(len(y)) if weights is None else weights
        if self.class_weight is not None:
            growing = growing * compute_sample_weight(self.class_weight, y)
        return Weights(weights, growing)

    def _check_table(self, X: Any, *, values: bool = True) -> Any:
        """New people, refused as scikit-learn does if their columns are not those of training."""
        check_is_fitted(self)
        if is_frame(X) or not values:
            return validate_data(self, X, reset=False, skip_check_array=True)
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def _matrix(self, X: Any, *, undeclared: bool = True) -> np.ndarray:
        """Encoded matrix of new people.

        undeclared: whether values may be missing where training had none; a decision takes them.
        """
        X = self._check_table(X)
        matrix: np.ndarray = self.encoder_.matrix(X, kinds=False, undeclared=undeclared)
        return matrix

    def _as_classes(self, decided: np.ndarray) -> np.ndarray:
        other = self.classes_[self.classes_ != self.desired_][0]
        return np.where(decided, self.desired_, other).astype(self.classes_.dtype)

    def _as_probabilities(self, share: np.ndarray, decided: np.ndarray) -> np.ndarray:
        """Shares of the desired class, held on the decision's side of one half."""
        held = on_its_side(share, decided)
        second = held if self.classes_[1] == self.desired_ else 1 - held
        return np.column_stack([1 - second, second])

    def predict(self, X: Any) -> np.ndarray:
        """Class of each person; of a forest the desired one where enough trees vote for it."""
        matrix, n_jobs = self._matrix(X), getattr(self, "n_jobs", None)
        return self._as_classes(self.ensemble_.decide(matrix, n_jobs=n_jobs))

    def decision_path(self, X: Any) -> Any:
        """Nodes that each person passes, of all trees, as a sparse matrix (people x nodes)."""
        matrix = self._matrix(X)
        return self.ensemble_.decision_path(matrix)

    def recourse(self, X: Any, **options: Any) -> Recourse:
        """What each person can do to get the desired class.

        Parameters
        ----------
        X : frame or array
            People.
        **options
            Those of ``ract.find_recourse``: ``budget``, ``max_changes``, ``n_alternatives``,
            ``margin``, ``ranges``, ``features``, ``forbidden``, ``overrides``, ``cost``,
            ``method``, ``time_limit``, ``n_jobs``, ``progress``, ``strict`` and so on. Costs, rules
            and budget are those of training where nothing else is said. A model that was fitted
            with ``lasting`` gives plans that last so, unless ``strength`` or ``lasting`` is given.

        Returns
        -------
        Recourse
        """
        self._check_table(X, values=options.get("strict", False))
        curve = getattr(self, "lasting_", None)
        if curve is not None:
            options |= curve.default(options)
        return find_recourse(self, X, **options)

    def reasons(self, X: Any, **options: Any) -> Reasons:
        """Why each refused person was refused.

        Parameters
        ----------
        X : frame or array
            People.
        **options
            Those of ``ract.find_reasons``: ``reference`` (needed unless the model was fitted with
            ``keep_reference``), ``against``, ``max_reasons``, ``responsiveness`` and so on.

        Returns
        -------
        Reasons
        """
        self._check_table(X, values=options.get("strict", False))
        return find_reasons(self, X, **options)

    def _search(self) -> ExactSearch:
        return ExactSearch(self.ensemble_, self.encoder_.axes, self.cost_)

    def recourse_risk(self, X: Any, budget: float | None = None) -> float:
        """Share of people without an action to the desired class within the budget, exact.

        Parameters
        ----------
        X : frame or array
        budget : float, optional
            That of training by default.
        """
        matrix, n_jobs = self._matrix(X, undeclared=False), getattr(self, "n_jobs", None)
        refused = matrix[~self.ensemble_.decide(matrix, n_jobs=n_jobs)]
        budget = self.budget if budget is None else budget
        answers = self._search().attains(refused, budget, n_jobs=n_jobs)
        return float((answers != Status.FOUND).sum() / len(matrix))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of all splits that use each feature."""
        check_is_fitted(self)
        counts = self.ensemble_.split_counts(self.encoder_.n_columns)
        by_feature = np.bincount(
            self.encoder_.feature_of_column, counts, minlength=self.n_features_in_
        )
        return by_feature / max(by_feature.sum(), 1)

"""What tree and forest share: scikit-learn's conventions at the public edge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ract._auto import HELD_OUT, Trial, Validation, WeightSearch, choose_weight, impurity_of_all
from ract._core.attain import Attainment
from ract._core.grower import CRITERIA, Rules
from ract._frames import is_frame, read_table, take_rows
from ract._training import Setting, TrainingSet, Weights, people_on, prepare, space_for_part
from ract.encoding import Axis, Encoder
from ract.ensemble import TreeEnsemble, on_its_side
from ract.errors import InvalidData, InvalidSpec, listing
from ract.grid import Grid
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse

# The goal of an automatic weight when none is stated, and how few people it can do with.
MIN_RECOURSE, FEWEST = 0.95, 50


@dataclass(frozen=True)
class Prepared:
    """A table that was read once, good for any weight of recourse.

    Parameters
    ----------
    reading : tuple
        What it depends on, of the estimator that read it.
    people : frame or array
        Everyone with a weight.
    desired : uint8 (everyone,)
    growing : int (people,)
        Their rows.
    training : TrainingSet
    read : dict
        What the estimator learned of columns and classes.
    """

    reading: tuple[Any, ...]
    people: Any
    desired: np.ndarray
    growing: np.ndarray
    training: TrainingSet
    read: dict[str, Any]


class RecourseClassifierMixin(ClassifierMixin):
    """Reading tables and targets, predicting, and measuring recourse risk."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
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
        return bool(self.recourse_weight != 0) or self.max_risk is not None

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Prepared:
        """Read, encode, bin and price a table, once for as many fits as wanted."""
        setting = self._setting
        X, y = self._read_people(X, y)
        desired = self._read_target(y)
        weights = self._read_weights(sample_weight, y)
        growing = np.flatnonzero(weights.growing > 0)
        return self._prepare_rows(X, desired, weights, growing, setting)

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
            people, desired[growing], weights.of(growing), setting, with_reach=self._needs_reach
        )
        names = ("classes_", "desired_", "n_features_in_", "feature_names_in_")
        read = {name: vars(self)[name] for name in names if name in vars(self)}
        return Prepared(self._reading, people, desired, growing, training, read)

    def _adopt(self, prepared: Prepared) -> None:
        self.__dict__.update(prepared.read)
        self.encoder_, self.cost_ = prepared.training.encoder, prepared.training.cost
        self._rows_seen = prepared.training.rows

    def _chosen_weight(self, prepared: Prepared) -> float:
        """The weight of recourse, searched for if it is "auto"."""
        self._check_goal()
        self.__dict__.pop("weight_search_", None)
        if self.recourse_weight != "auto":
            return float(at_least("recourse_weight", self.recourse_weight, 0))
        desired = prepared.desired[prepared.growing]
        self.weight_search_: WeightSearch = self._search_weight(
            prepared.people, desired, prepared.training.weights
        )
        return self.weight_search_.weight

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
        grow_on, hold_out = np.sort(grow_on), np.sort(hold_out)
        part, rest = take_rows(people, grow_on), take_rows(people, hold_out)
        space = space_for_part(self.actions, read_table(people), read_table(part))
        setting = replace(self._setting, actions=space)
        training = prepare(part, desired[grow_on], weights.of(grow_on), setting, with_reach=True)
        n_jobs, goal = getattr(self, "n_jobs", None), self.min_recourse
        if goal is None and self.max_auc_loss is None:
            goal = MIN_RECOURSE
        validation = Validation(
            training.encoder.matrix(rest), desired[hold_out], weights.people[hold_out],
            training.encoder.axes, training.cost, self.budget, goal, n_jobs,
        )  # fmt: skip

        def attempt(weight: float) -> Trial:
            return validation.trial(weight, self._trial_ensemble(training, weight))

        # Of errors, which class weights change, to a person without recourse, which they do not.
        growing, unweighted = training.weights.growing, training.weights.people
        unit = impurity_of_all(desired[grow_on], growing, self.criterion)
        unit *= float(growing.sum() / unweighted.sum())
        return choose_weight(
            attempt, unit, min_recourse=goal, max_auc_loss=self.max_auc_loss, n_people=len(rest)
        )

    def _split_seed(self) -> int:
        """A seed for who is held out, without moving a generator that was handed in."""
        state = self.random_state
        return int(state) if is_number(state, whole=True) else 0

    def _trial_ensemble(self, training: TrainingSet, weight: float) -> TreeEnsemble:
        raise NotImplementedError

    def _read_people(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Check X and y as scikit-learn does; frames keep their own types."""
        if is_frame(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            y = column_or_1d(np.asarray(y), warn=True)
            if len(y) != read_table(X).n_rows:
                raise InvalidData(f"X has {read_table(X).n_rows} rows but y has {len(y)}.")
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        return X, y

    def _read_target(self, y: np.ndarray) -> np.ndarray:
        """Set classes_ and desired_; returns 1 for the desired class, 0 for the other."""
        if y.dtype.kind not in "biuSU":
            check_classification_targets(y)
        self.classes_ = np.sort(pd.unique(y))
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
        self.desired_ = self._desired_class()
        return (y == self.desired_).astype(np.uint8)

    def _desired_class(self) -> Any:
        wanted = self.desired
        if wanted is None and self.actions is not None:
            wanted = self.actions.desired
        if wanted is None:
            return self.classes_[1]
        if wanted not in self.classes_.tolist():
            raise InvalidSpec(
                f"desired is {wanted!r}, which is not a class of the target; "
                f"its classes are {listing(self.classes_.tolist())}."
            )
        return self.classes_[self.classes_.tolist().index(wanted)]

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

    def _rules(self, training: TrainingSet, recourse_weight: float) -> Rules:
        """Growing rules in numbers of people and axes, checked."""
        if self.criterion not in CRITERIA:
            raise InvalidSpec(
                f"criterion must be one of {listing(CRITERIA)}, got {self.criterion!r}."
            )
        weights, axes = training.weights.growing, training.grid.axes
        n_people = len(weights)
        share = self.min_weight_fraction_leaf
        if not (is_number(share) and 0 <= share <= 0.5):
            raise InvalidSpec(
                f"min_weight_fraction_leaf must be a share of at most a half, got {share!r}."
            )
        if self.max_depth is not None:
            at_least("max_depth", self.max_depth, 1, whole=True)
        return Rules(
            recourse_weight=recourse_weight,
            criterion=self.criterion,
            max_depth=self.max_depth,
            min_samples_split=_number("min_samples_split", self.min_samples_split, 2, n_people),
            min_samples_leaf=_number("min_samples_leaf", self.min_samples_leaf, 1, n_people),
            min_weight_leaf=share * float(weights.sum()),
            min_impurity_decrease=at_least("min_impurity_decrease", self.min_impurity_decrease, 0),
            max_features=_features(self.max_features, len(axes)),
            monotonic=_directions(self.monotonic_cst, training.encoder, axes),
        )

    def _check_max_risk(self) -> None:
        risk = self.max_risk
        if risk is not None and not (is_number(risk) and 0 < risk <= 1):
            raise InvalidSpec(f"max_risk must lie above 0 and be at most 1, got {risk!r}.")
        if risk is not None and self.monotonic_cst is not None:
            raise InvalidSpec(
                f"monotonic_cst needs max_risk to be None, got {risk!r}: relabelling flips single "
                "leaves, whatever their order."
            )

    def _check_table(self, X: Any) -> Any:
        """New people, refused as scikit-learn does if their columns are not those of training."""
        check_is_fitted(self)
        if is_frame(X):
            return validate_data(self, X, reset=False, skip_check_array=True)
        return validate_data(self, X, reset=False, dtype=np.float64)

    def _matrix(self, X: Any) -> np.ndarray:
        """Encoded matrix of new people."""
        X = self._check_table(X)
        matrix: np.ndarray = self.encoder_.matrix(X, kinds=False)
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
            ``method``, ``time_limit``, ``n_jobs``, ``progress`` and so on. Costs, rules and
            budget are those of training where nothing else is said.

        Returns
        -------
        Recourse
        """
        self._check_table(X)
        return find_recourse(self, X, **options)

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


def is_number(value: Any, *, whole: bool = False) -> bool:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, (bool, np.bool_))


def at_least(name: str, value: Any, least: float, *, whole: bool = False) -> Any:
    if not is_number(value, whole=whole) or not value >= least or not np.isfinite(value):
        kind = "a whole number" if whole else "a number"
        raise InvalidSpec(f"{name} must be {kind} of {least} or more, got {value!r}.")
    return value


def _number(name: str, value: Any, least: int, n_people: int) -> int:
    """A number of people, given as such or as a share of all."""
    if is_number(value, whole=True) and value >= least:
        return int(value)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(least, int(np.ceil(value * n_people)))
    raise InvalidSpec(
        f"{name} must be a whole number of {least} or more, or a share between 0 and 1, "
        f"got {value!r}."
    )


def _features(value: Any, n_axes: int) -> int | None:
    """How many features to look at per split, by scikit-learn's rules."""
    if value is None:
        return None
    if value == "sqrt":
        return max(1, int(np.sqrt(n_axes)))
    if value == "log2":
        return max(1, int(np.log2(n_axes)))
    if is_number(value, whole=True) and value >= 1:
        return min(int(value), n_axes)
    if isinstance(value, float) and 0.0 < value <= 1.0:
        return max(1, int(value * n_axes))
    raise InvalidSpec(
        "max_features must be None, 'sqrt', 'log2', a whole number of 1 or more, or a share "
        f"between 0 and 1, got {value!r}."
    )


def _directions(wanted: Any, encoder: Encoder, axes: Sequence[Axis]) -> tuple[int, ...]:
    """Direction of each axis from ``monotonic_cst``; empty if nothing is constrained."""
    if wanted is None:
        return ()
    names = encoder.feature_names
    if isinstance(wanted, dict):
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise InvalidSpec(
                f"monotonic_cst names {listing(unknown)}; the columns are {listing(names)}."
            )
        by_name = wanted
    else:
        given = np.asarray(wanted).tolist()
        if not isinstance(given, list) or len(given) != len(names):
            raise InvalidSpec(
                f"monotonic_cst must have one entry for each of the {len(names)} features or be "
                f"a dict by their names, got {wanted!r}."
            )
        by_name = dict(zip(names, given, strict=True))
    for name, value in by_name.items():
        if value not in (-1, 0, 1):
            raise InvalidSpec(
                f"monotonic_cst must be -1, 0 or 1 for each feature, got {value!r} for {name!r}."
            )
    asked = {name for name, value in by_name.items() if value != 0}
    for axis in encoder.axes:
        own = asked.intersection(axis.feature.columns or (axis.feature.name,))
        if own and axis.is_categorical:
            raise InvalidSpec(
                f"monotonic_cst must be 0 for {listing(sorted(own))}: categories have no order."
            )
    directions = tuple(int(by_name.get(axis.feature.name, 0)) for axis in axes)
    return directions if any(directions) else ()


def attainment(
    ensemble: TreeEnsemble, encoder: Encoder, cost: Any, budget: float, matrix: np.ndarray
) -> Attainment:
    """Who of some encoded people attains which leaf of a single tree within a budget."""
    splits = ensemble.feature >= 0
    grid = Grid.from_splits(encoder.axes, ensemble.feature[splits], ensemble.threshold[splits])
    nobody = np.zeros(len(matrix), np.uint8)
    people = people_on(grid, cost, matrix.T, nobody, budget, with_reach=True)
    return Attainment(ensemble.on_grid(grid)[0], people)

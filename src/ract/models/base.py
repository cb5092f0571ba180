"""What all learners share: scikit-learn's conventions at the public edge."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ract._utils.errors import InvalidData
from ract._utils.renamed import current_state, refuse_old_parameters
from ract._utils.signature import made_on_first_look, takes_keywords_of
from ract._utils.status import Status
from ract._utils.typing import ColumnLike, Label, TableLike
from ract.data.actions import budget_for
from ract.data.costs import FittedCost
from ract.data.encoder import Encoder
from ract.data.frames import is_frame, refuse_loose_people, take_rows
from ract.models.cuts import CutRule, warn_if_few_refused
from ract.models.fit_state import FitState
from ract.models.monotonic import (
    auc_apart,
    cheap_directions,
    directions_of_actions,
)
from ract.models.out_of_core import read_stored
from ract.models.parameters import (
    LearnerParameters,
    Monotonic,
    check_parameters,
    split_seed,
)
from ract.models.table import (
    FEW_ROWS,
    MOST_ROWS,
    Prepared,
    Source,
    TableSpec,
    TrainingRows,
    as_classes,
    is_stored,
    read_in_memory,
    used_columns,
)
from ract.recourse import for_models
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import People
from ract.trees.training import TrainingSet

if TYPE_CHECKING:
    from ract.recourse import LastingCurve, Reasons, Recourse

# For each person's search while strengths are measured; one that needs more counts as no plan.
CALIBRATION_SECONDS = 1.0
# What a replicate of the learner goes without, where it has it.
ALONE = {"lasting": None, "n_jobs": None, "verbose": 0, "oob_score": False}


class RecourseClassifierMixin(LearnerParameters, ClassifierMixin):
    """Reading tables and targets, predicting, and measuring recourse risk."""

    # What every fitted learner knows.
    classes_: np.ndarray
    desired_: Label
    ensemble_: TreeEnsemble
    encoder_: Encoder
    cost_: FittedCost
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = True
        return tags

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as in scikit-learn."""
        refuse_old_parameters(type(self).__name__, params, self._get_param_names())
        return super().set_params(**params)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(current_state(type(self), state))

    @property
    def _needs_reach(self) -> bool:
        return bool(self.recourse_weight != 0)

    @property
    def budget_(self) -> float:
        """Most that a plan may cost: what was given, or the default for the action space."""
        return budget_for(self.actions) if self.budget is None else float(self.budget)

    @property
    def cut_rule(self) -> CutRule:
        """How the cut of the score that decides is chosen."""
        return CutRule.of(self)

    @property
    def _measures_afterwards(self) -> bool:
        """Whether a fit needs many rows in memory once the trees are grown."""
        return self.lasting is not None or self.cut_rule.needs_scores

    @property
    def table_spec(self) -> TableSpec:
        """What reading a training table depends on."""
        return TableSpec(
            self.actions,
            self.cost,
            self.budget_,
            self.max_bins,
            self.desired,
            self.class_weight,
            self._needs_reach,
            MOST_ROWS if self._measures_afterwards else FEW_ROWS,
            self._n_threads,
            getattr(self, "verbose", 0) > 0,
        )

    @property
    def _n_threads(self) -> int | None:
        return getattr(self, "n_jobs", None)

    def check_parameters(self) -> None:
        """Refuse parameters that are invalid, alone or together."""
        check_parameters(self)
        CutRule.of(self)

    def prepare(
        self, X: Source, y: ColumnLike, sample_weight: ColumnLike | None = None
    ) -> Prepared:
        """Read, encode, bin and price a table, once for as many fits as wanted.

        Parameters are those of ``fit``.
        """
        self.check_parameters()
        if is_stored(X):
            return read_stored(self.table_spec, X, y, sample_weight)
        table, labels = self._checked_table(X, y)
        names = getattr(self, "feature_names_in_", None)
        return read_in_memory(self.table_spec, table, labels, sample_weight, names)

    def fit_prepared(self, prepared: Prepared) -> Self:
        """Fit on a table that was prepared, by this estimator or one that reads tables alike."""
        self.check_parameters()
        self.choose_monotonic(prepared.training)
        return self._finish(self._grown(prepared), prepared.in_memory)

    def _grown(self, prepared: Prepared) -> FitState:
        """Grow a model."""
        raise NotImplementedError

    def _finish(self, state: FitState, rows: TrainingRows) -> Self:
        """Measure what is measured once a model is grown, and make this estimator that model."""
        y = as_classes(rows.desired, state.classes, state.desired)
        curve = self._lasting_curve(rows.X, y, rows.weights.sample)
        replace(state, lasting=curve, monotonic=getattr(self, "monotonic_", None)).write_to(self)
        decided = np.empty(len(y), np.bool_)
        for first in range(0, len(y), MOST_ROWS):  # a large table is not held twice
            block = np.arange(first, min(first + MOST_ROWS, len(y)))
            matrix = state.encoder.matrix(take_rows(rows.X, block))
            decided[block] = state.ensemble.decide(matrix, n_jobs=self._n_threads)
        warn_if_few_refused(decided, rows.weights.people)
        return self

    def choose_monotonic(self, training: TrainingSet) -> None:
        """Decide on the constraints that ``monotonic`` leaves open, as ``monotonic_``.

        Parameters
        ----------
        training : TrainingSet
            On whose people they are chosen.
        """
        choice = self.monotonic
        relabels = getattr(self, "min_recourse", None) is not None
        if choice is None and training.encoder.space.is_limited and not relabels:
            choice = "auto"
        if hasattr(self, "monotonic_"):
            del self.monotonic_
        if not isinstance(choice, str):
            return
        self.monotonic_: dict[str, int] = {}
        if choice == "none":
            return
        wanted = directions_of_actions(training.encoder)
        if choice == "auto":
            wanted = cheap_directions(wanted, auc_apart(self, training))
        self.monotonic_ = wanted

    @property
    def directions(self) -> Monotonic:
        """The constraints that hold: as given, or as they were chosen."""
        return getattr(self, "monotonic_", self.monotonic)

    @property
    def quick_parameters(self) -> dict[str, int]:
        """Parameters of a model that is only asked how well it ranks."""
        return {}

    def scores_in_cells(self, training: TrainingSet, people: People) -> np.ndarray:
        """Scores of people, in the cells of a training set, by a model grown on it."""
        raise NotImplementedError

    def weight_unit(self, desired: np.ndarray, weights: np.ndarray) -> float:
        """Middle of the recourse weights that are tried when searching for a goal."""
        raise NotImplementedError

    def ensemble_on(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        """The trees that decide, grown with other than the estimator's weight and floor."""
        raise NotImplementedError

    def calibrate(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike | None = None,
        *,
        robust_to: Sequence[str] = ("same",),
        adoption: float = 0.0,
    ) -> Any:
        """Measure how strong plans must be to last, as a fit with ``lasting`` does.

        Parameters
        ----------
        X, y, sample_weight
            As in ``fit``; the table that the model was fitted on.
        robust_to : sequence of {"same", "boosting", "linear"}
            The learners that must accept a plan, for it to last, as in ``ract.calibrate``.
        adoption : float
            Share of the refused who follow their plan before the learner is trained again.
        """
        check_is_fitted(self)
        curve = self._lasting_curve(X, y, sample_weight, robust_to, adoption)
        if curve is not None:
            self.lasting_: LastingCurve = curve
        return self

    def as_replicate(self) -> Any:
        """The learner for a part of the people, by which it is measured what lasts."""
        known = self.get_params(deep=False)
        return clone(self).set_params(**{k: v for k, v in ALONE.items() if k in known})

    def _lasting_curve(
        self,
        X: TableLike,
        y: ColumnLike,
        sample_weight: ColumnLike | None,
        robust_to: Sequence[str] = ("same",),
        adoption: float = 0.0,
    ) -> LastingCurve | None:
        """How strong plans must be to last, if that was asked for."""
        if self.lasting is None:
            return None
        try:
            curve = for_models.calibrate(
                self.as_replicate(),
                X,
                y,
                lasting=self.lasting,
                robust_to=robust_to,
                adoption=adoption,
                sample_weight=sample_weight,
                random_state=split_seed(self.random_state),
                n_jobs=self._n_threads,
                progress=self.table_spec.show,
                time_limit=CALIBRATION_SECONDS,
            )
        except InvalidData:  # too few people
            curve = for_models.LastingCurve((), 0.9, self.lasting)
        if curve.strength_for(self.lasting) is None:
            message = str(curve).replace("\n", " ")
            warnings.warn(message, for_models.LastingWarning, stacklevel=5)
        return curve

    def _checked_table(self, X: Source, y: ColumnLike) -> tuple[TableLike, np.ndarray]:
        """Check X and y as scikit-learn does; frames keep their own types."""
        X = used_columns(X, self.actions)
        if is_frame(X):
            X, y = validate_data(self, X, y, skip_check_array=True)
            return X, column_or_1d(np.asarray(y), warn=True)
        checked: tuple[np.ndarray, np.ndarray] = validate_data(
            self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_all_finite="allow-nan"
        )
        return checked

    def _check_table(self, X: TableLike, *, values: bool = True) -> TableLike:
        """New people, refused as scikit-learn does if their columns are not those of training.

        values: whether theirs are looked at too; else who goes on with them reads the table.
        """
        check_is_fitted(self)
        refuse_loose_people(X)
        if not values:
            return X
        how = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        X = used_columns(X, self.actions)
        checked: TableLike = validate_data(
            self, X, reset=False, **({"skip_check_array": True} if is_frame(X) else how)
        )
        return checked

    def _matrix(self, X: TableLike, *, undeclared: bool = True) -> np.ndarray:
        """Encoded matrix of new people.

        undeclared: whether values may be missing where training had none; a decision takes them.
        """
        X = self._check_table(X)
        return self.encoder_.matrix(X, kinds=False, undeclared=undeclared)

    def _as_probabilities(self, share: np.ndarray) -> np.ndarray:
        """Probabilities of both classes from those of the desired one."""
        second = share if self.classes_[1] == self.desired_ else 1 - share
        return np.column_stack([1 - second, second])

    def predict(self, X: TableLike) -> np.ndarray:
        """Class of each person.

        Parameters
        ----------
        X : frame or array
        """
        matrix = self._matrix(X)
        decided = self.ensemble_.decide(matrix, n_jobs=self._n_threads)
        return as_classes(decided, self.classes_, self.desired_)

    def decision_function(self, X: TableLike) -> np.ndarray:
        """The score that decides minus its cut: above 0 for the second of the ``classes_``.

        Parameters
        ----------
        X : frame or array
        """
        matrix = self._matrix(X)
        ahead = self.ensemble_.ahead(matrix, n_jobs=self._n_threads)
        return ahead if self.classes_[1] == self.desired_ else -ahead

    def decision_path(self, X: TableLike) -> Any:
        """Nodes that each person passes, of all trees, as a sparse matrix (people x nodes)."""
        matrix = self._matrix(X)
        return self.ensemble_.decision_path(matrix)

    def apply(self, X: TableLike) -> np.ndarray:
        """Leaf of each person in each tree, as nodes of ``ensemble_`` (people x trees)."""
        matrix = self._matrix(X)
        return self.ensemble_.apply(matrix)

    @made_on_first_look(
        lambda: takes_keywords_of(for_models.find_recourse, for_models.PROBLEM_KEYWORDS)
    )
    def recourse(self, X: TableLike, **options: Any) -> Recourse:
        """What each person can do to get the desired class.

        Parameters
        ----------
        X : frame or array
            People.
        **options
            The keywords of ``ract.find_recourse`` and of ``RecourseProblem``. Costs, rules and
            budget are those of training where nothing else is said. A model that was fitted with
            ``lasting`` gives plans that last so, unless ``strength`` or ``lasting`` is given.

            Where the action space limits changes relative to the person (``limits="size"``), plans
            are those that letters carry, unless options say otherwise: at most three changes,
            proved to hold for everyone who does more, and as strong as they can be.
            ``ract.find_recourse`` answers the bare question.

        Returns
        -------
        Recourse
        """
        self._check_table(X, values=options.get("strict", False))
        return for_models.recourse_of(self, X, options)

    @made_on_first_look(
        lambda: takes_keywords_of(for_models.find_reasons, for_models.PROBLEM_KEYWORDS)
    )
    def reasons(self, X: TableLike, **options: Any) -> Reasons:
        """Why each refused person was refused.

        Parameters
        ----------
        X : frame or array
            People.
        **options
            The keywords of ``ract.find_reasons`` and of ``RecourseProblem``; ``reference`` is
            needed unless the model comes from a file that keeps one.

        Returns
        -------
        Reasons
        """
        self._check_table(X, values=options.get("strict", False))
        return for_models.find_reasons(self, X, **options)

    def recourse_risk(self, X: TableLike, budget: float | None = None) -> float:
        """Share of people without an action to the desired class within the budget, exact.

        Parameters
        ----------
        X : frame or array
        budget : float, optional
            That of training by default.
        """
        matrix = self._matrix(X, undeclared=False)
        refused = matrix[~self.ensemble_.decide(matrix, n_jobs=self._n_threads)]
        budget = self.budget_ if budget is None else budget
        search = for_models.ExactSearch(self.ensemble_, self.encoder_.axes, self.cost_)
        answers = search.attains(refused, budget, for_models.Limits(n_jobs=self._n_threads))
        return float((answers != Status.FOUND).sum() / len(matrix))

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of each class."""
        raise NotImplementedError

    def predict_log_proba(self, X: TableLike) -> np.ndarray:
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

"""Recourse-aware gradient boosting."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ract._core.booster import Boosted, BoostRules, CellRows, Patience, boost
from ract._core.cooperation import Cooperation, Job, cooperate
from ract._estimator import Prepared, RecourseClassifierMixin
from ract._parameters import (
    at_least,
    features_per_split,
    is_number,
    monotonic_directions,
    number_of_people,
)
from ract._progress import track
from ract._training import TrainingSet
from ract.actions import ActionSpace
from ract.calibration import check_lasting
from ract.costs import Cost
from ract.ensemble import TreeEnsemble, logit, sigmoid
from ract.errors import InvalidData, InvalidSpec, listing
from ract.metrics.replicates import PART
from ract.recourse.common.problem import check_categories

# "auto" stops early from this many people on, as in scikit-learn.
MANY_PEOPLE = 10_000
# The middle of the weights that "auto" tries: a point counts at most so much of a person.
UNIT = 0.25


class RecourseBoostingClassifier(RecourseClassifierMixin, BaseEstimator):
    """Gradient boosting in which refused people have a way back that lasts.

    Trees add up to the log-odds of the desired class, each a Newton step of log loss on cells of
    the features, as in scikit-learn's ``HistGradientBoostingClassifier``. With a weight on
    recourse, plain boosters on parts of the people (replicates) say where each person could get
    to, and a few boosters (members) learn from the people and, at these points, to accept. The mean
    of the members' scores decides, and the replicates give the probabilities.

    Parameters
    ----------
    actions, desired, cost, budget, exact_costs
        As in ``RecourseTreeClassifier``.
    recourse_weight : float or "auto"
        The most that a point which somebody could get to counts, beside a person who counts 1. 0 is
        a plain booster. "auto" finds the weight that a goal needs, as in
        ``RecourseTreeClassifier``.
    min_recourse, max_auc_loss, lasting, keep_reference
        As in ``RecourseTreeClassifier``.
    learning_rate : float
        What the values of leaves are multiplied by.
    max_iter : int
        Number of trees; of each replicate and member, where recourse has a weight.
    max_leaf_nodes, max_depth : int, optional
        Limits of a tree; None for no limit. The leaf that gains most is split next.
    min_samples_leaf : int or float
        People in a leaf, as a number or as a share of all. Points do not count.
    l2_regularization : float
    max_features : float, int, "sqrt", "log2" or None
        Features looked at for each split, drawn anew.
    subsample : float
        Share of the people that each tree is grown on.
    max_cells : int
        A feature with more distinct values than this is cut at quantiles.
    n_replicates : int
        Plain boosters that say where people could get to. With none, a single booster asks itself:
        as much recourse today, in a fraction of the time, but it seldom lasts.
    n_members : int
        Boosters whose mean decides, if there are replicates.
    anchor_strength : float
        The probability of the desired class, from one half on, to which points are lifted.
    early_stopping : bool or "auto"
        Stop when the loss of held-out people has not fallen for ``n_iter_no_change`` trees: of a
        share ``validation_fraction``; for a replicate, of the people it does not see. "auto" does
        so with more than 10000 people.
    validation_fraction : float
    n_iter_no_change : int
    tol : float
        By how much the loss has to fall.
    class_weight : dict or "balanced", optional
        As in scikit-learn: what errors weigh. A point weighs as its person would with the desired
        class. Costs and budgets are those of the people, whatever their class.
    only_actionable : bool
        As in ``RecourseTreeClassifier``.
    monotonic_cst : array-like of int (features,) or dict, optional
        1 for a feature that may only raise the score, -1 for one that may only lower it, 0 for no
        constraint. In the order of the columns, or by their names; not for categorical features.
        Members are constrained, besides, where all replicates agree on the direction of a feature
        that may change.
    warm_start : bool
        Keep the trees of the last fit, which must have been on the same people, and add those that
        are missing to ``max_iter``; the model is that of growing all at once. Not with replicates:
        with more trees they choose other points, on which every tree of a member depends.
    n_jobs : int, optional
        Threads, as in joblib: for replicates and members, for the rows of a single booster where
        there are many, and for predicting. The model is the same for any number.
    verbose : int
        Above 0, show a progress bar with the time left.
    random_state : int, RandomState or None
        For who is in which part, and for drawing people and features.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees that decide: for the desired class where their sum is 0 or more.
    probability_ensemble_ : TreeEnsemble or None
        Those of the replicates, whose mean log-odds are the probabilities; None if it is
        ``ensemble_`` that gives them.
    n_iter_ : int
        Trees, of each member.
    validation_loss_ : array or None
        Mean loss of held-out people before the first tree and after each; None where nobody was
        held out for the model as a whole.
    classes_, desired_, encoder_, cost_, feature_importances_
        As in ``RecourseTreeClassifier``.
    recourse_weight_, weight_search_, lasting_, reference_
        As in ``RecourseTreeClassifier``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseBoostingClassifier(loans.actions, max_iter=20, random_state=0)
    >>> model.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> model.ensemble_.n_trees, model.ensemble_.cutoff
    (100, 0.0)
    """

    def __init__(
        self,
        actions: ActionSpace | None = None,
        *,
        desired: Any = None,
        cost: str | Cost = "percentile",
        budget: float = 0.3,
        exact_costs: bool = False,
        recourse_weight: float | Literal["auto"] = 0.25,
        min_recourse: float | None = None,
        max_auc_loss: float | None = None,
        lasting: float | None = None,
        keep_reference: bool = False,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 8,
        max_depth: int | None = None,
        min_samples_leaf: int | float = 50,
        l2_regularization: float = 1.0,
        max_features: Any = 0.6,
        subsample: float = 0.8,
        max_cells: int = 256,
        n_replicates: int = 6,
        n_members: int = 5,
        anchor_strength: float = 0.82,
        early_stopping: bool | Literal["auto"] = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        class_weight: Any = None,
        only_actionable: bool = False,
        monotonic_cst: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.actions = actions
        self.desired = desired
        self.cost = cost
        self.budget = budget
        self.exact_costs = exact_costs
        self.recourse_weight = recourse_weight
        self.min_recourse = min_recourse
        self.max_auc_loss = max_auc_loss
        self.lasting = lasting
        self.keep_reference = keep_reference
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_cells = max_cells
        self.n_replicates = n_replicates
        self.n_members = n_members
        self.anchor_strength = anchor_strength
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.class_weight = class_weight
        self.only_actionable = only_actionable
        self.monotonic_cst = monotonic_cst
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RecourseBoostingClassifier:
        """Grow the trees.

        Parameters
        ----------
        X : frame or array (people x features), path or pyarrow data set
            A Parquet file, or a folder of them, is read twice in batches and need not fit in
            memory; ``y`` and ``sample_weight`` are then names of its columns.
        y : array (people,)
        sample_weight : array (people,), optional
            How much each person counts, for errors, costs and recourse alike.
        """
        self._check_parameters()
        kept = self._kept_trees()
        before = None if kept is None else (self._task, kept)
        prepared = self._prepare(X, y, sample_weight)
        self._learn(prepared, before)
        return self._measure(prepared.kept, X, y, sample_weight)

    def _learn(self, prepared: Prepared, before: Any = None) -> RecourseBoostingClassifier:
        """Grow the trees on a table that was read."""
        self._check_parameters()
        self._adopt(prepared)
        if self.recourse_weight == "auto":  # searches: better refused now
            check_categories(self.encoder_.axes)
        training = prepared.training
        self.recourse_weight_, self.min_leaf_share_ = self._chosen_weight(prepared.in_memory)
        self._n_people = len(prepared.growing)
        self._monotonic = monotonic_directions(
            self.monotonic_cst, training.encoder, training.grid.axes
        )
        if before is not None and before[0] != self._task:
            task = before[0]
            raise InvalidData(
                f"warm_start needs the people of the last fit: {task[0]} of them, with classes "
                f"{listing(task[1])}, {listing([task[2]])} desired, and columns "
                f"{listing(task[3])}; and the same monotonic_cst."
            )
        kept = None if before is None else before[1]
        members, replicates = self._boosted(training, self.recourse_weight_, kept)
        self.ensemble_ = _mean_of(members, training)
        self.probability_ensemble_ = _mean_of(replicates, training) if replicates else None
        self.n_iter_ = max(map(len, members))
        losses = members[0].losses
        self.validation_loss_ = np.array(losses) if losses else None
        return self

    def _check_parameters(self) -> None:
        check_lasting(self.lasting)
        at_least("max_iter", self.max_iter, 1, whole=True)
        at_least("l2_regularization", self.l2_regularization, 0)
        at_least("n_replicates", self.n_replicates, 0, whole=True)
        at_least("n_members", self.n_members, 1, whole=True)
        at_least("n_iter_no_change", self.n_iter_no_change, 1, whole=True)
        at_least("tol", self.tol, 0)
        if self.max_leaf_nodes is not None:
            at_least("max_leaf_nodes", self.max_leaf_nodes, 2, whole=True)
        if self.max_depth is not None:
            at_least("max_depth", self.max_depth, 1, whole=True)
        for name, value, top in (
            ("learning_rate", self.learning_rate, np.inf),
            ("subsample", self.subsample, 1),
            ("validation_fraction", self.validation_fraction, 1),
        ):
            if not (is_number(value) and 0 < value <= top and np.isfinite(value)):
                end = "" if np.isinf(top) else f" and up to {top}"
                raise InvalidSpec(f"{name} must be a number above 0{end}, got {value!r}.")
        strength = self.anchor_strength
        if not (is_number(strength) and 0.5 <= strength < 1):
            raise InvalidSpec(
                f"anchor_strength must be a probability of at least a half, got {strength!r}."
            )
        if self.early_stopping not in (True, False, "auto"):
            raise InvalidSpec(
                f"early_stopping must be True, False or 'auto', got {self.early_stopping!r}."
            )
        if self.warm_start and (
            self.recourse_weight == "auto" or (self.recourse_weight != 0 and self.n_replicates > 0)
        ):
            raise InvalidSpec(
                "warm_start needs recourse_weight=0, or n_replicates=0 with a number as the "
                "weight: replicates with more trees choose other points, on which every tree of a "
                f"member depends; got {self.recourse_weight!r} and {self.n_replicates!r}."
            )

    def _kept_trees(self) -> TreeEnsemble | None:
        """The trees of the last fit, if this one adds to them."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return None
        if self.probability_ensemble_ is not None:
            raise InvalidSpec("warm_start needs a last fit without replicates.")
        n_trees = self.ensemble_.n_trees
        if self.max_iter < n_trees:
            raise InvalidSpec(
                f"max_iter is {self.max_iter}, but with warm_start the {n_trees} trees of the last "
                "fit are kept and there cannot be fewer."
            )
        if self.max_iter == n_trees:
            warnings.warn(
                f"There are {n_trees} trees already; with warm_start, raise max_iter to grow more.",
                stacklevel=3,
            )
        return self.ensemble_

    @property
    def _task(self) -> tuple[int, list[Any], Any, tuple[str, ...], tuple[int, ...]]:
        """What the trees were grown for; those of different tasks do not add up."""
        classes, columns = self.classes_.tolist(), self.encoder_.column_names
        return self._n_people, classes, self.desired_, columns, self._monotonic

    def _boost_rules(self, training: TrainingSet) -> BoostRules:
        axes = training.grid.axes
        return BoostRules(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            max_depth=self.max_depth,
            min_samples_leaf=number_of_people(
                "min_samples_leaf", self.min_samples_leaf, 1, len(training.weights.growing)
            ),
            l2_regularization=self.l2_regularization,
            max_features=features_per_split(self.max_features, len(axes)),
            subsample=self.subsample,
            directions=monotonic_directions(self.monotonic_cst, training.encoder, axes),
        )

    def _boosted(
        self, training: TrainingSet, weight: float, kept: TreeEnsemble | None = None
    ) -> tuple[list[Boosted], list[Boosted]]:
        """Members and replicates; without a weight, a plain booster alone."""
        rules, rng = self._boost_rules(training), check_random_state(self.random_state)
        people, weights = training.people, training.weights
        growing = np.ascontiguousarray(weights.growing)
        rows = CellRows.of(np.ascontiguousarray(people.cells.T), people.desired, growing)
        stops = self.early_stopping is True or (
            self.early_stopping == "auto" and rows.n_people > MANY_PEOPLE
        )
        patience = Patience(rows, self.n_iter_no_change, self.tol) if stops else None
        how: dict[str, Any] = {
            "n_threads": effective_n_jobs(self.n_jobs),
            "watch": partial(
                track, total=self.max_iter, description="Boosting", show=self.verbose > 0
            ),
        }
        if kept is not None:
            how["before"] = Boosted.of_trees(kept.on_grid(training.grid), kept.base, people)
        if weight > 0:
            cooperation = Cooperation(
                weight, logit(self.anchor_strength), self.n_replicates, self.n_members
            )
            # A point counts as its person would with the desired class.
            wanted = int(people.desired.argmax())
            of_class = weights.growing[wanted] / weights.people[wanted]
            return cooperate(
                people, rows, weights.people * of_class, rules, cooperation, rng,
                patience=patience, run=self._in_threads, **how,
            )  # fmt: skip
        # Those of kept trees are drawn too, so that adding trees gives the same model as growing
        # it at once.
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=rules.max_iter)]
        if patience is not None:
            inside, outside = train_test_split(
                np.arange(rows.n_people), test_size=self.validation_fraction,
                stratify=people.desired, random_state=seeds[0],
            )  # fmt: skip
            patience = replace(patience, rows=rows.take(np.sort(outside)))
            rows = rows.take(np.sort(inside))
        return [boost(people, rows, rules, seeds, patience=patience, **how)], []

    def _in_threads(self, jobs: Sequence[Job]) -> list[Any]:
        done = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(job)() for job in jobs
        )
        return list(track(done, len(jobs), "Boosting", show=self.verbose > 0))

    def _trial_ensemble(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        return _mean_of(self._boosted(training, weight)[0], training)

    def _as_replicate(self) -> Any:
        # On fewer people, leaves of as many would make coarser trees, which agree more with each
        # other than the trees that the promise is about.
        fewest = self.min_samples_leaf
        if is_number(fewest, whole=True):
            fewest = max(1, round(PART * fewest))
        return self._as_chosen().set_params(min_samples_leaf=fewest)

    def _unit_of_weights(self, desired: np.ndarray, weights: np.ndarray) -> float:
        return UNIT

    def predict(self, X: Any, *, threshold: float | None = None) -> np.ndarray:
        """Class of each person: the desired one where the trees that decide are for it.

        Parameters
        ----------
        X : frame or array
        threshold : float, optional
            The probability, of the score that decides, from which on the desired class is given;
            one half by default. ``recourse(X, threshold=...)`` finds plans for the same decision.
        """
        if threshold is None:
            return super().predict(X)
        check_is_fitted(self)
        if not (is_number(threshold) and 0 < threshold < 1):
            raise InvalidSpec(
                f"threshold must be a probability between 0 and 1, got {threshold!r}."
            )
        decides = self.ensemble_.at_threshold(threshold)
        return self._as_classes(decides.decide(self._matrix(X), n_jobs=self.n_jobs))

    def deciding_score(self, X: Any) -> np.ndarray:
        """The log-odds by which each person is decided: the desired class from 0 on.

        Parameters
        ----------
        X : frame or array
        """
        return self.ensemble_.score(self._matrix(X), n_jobs=self.n_jobs)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class, held on the decision's side of one half.

        By the replicates, which have learned from people alone, where there are some.

        Parameters
        ----------
        X : frame or array
        """
        matrix = self._matrix(X)
        decides, gives = self.ensemble_, self.probability_ensemble_ or self.ensemble_
        share = sigmoid(gives.score(matrix, n_jobs=self.n_jobs))
        return self._as_probabilities(share, decides.decide(matrix, n_jobs=self.n_jobs))

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each person in each tree, as nodes of ``ensemble_`` (people x trees)."""
        return self.ensemble_.apply(self._matrix(X))


def _mean_of(models: Sequence[Boosted], training: TrainingSet) -> TreeEnsemble:
    """The trees of boosters whose mean decides."""
    scale = 1 / len(models)
    trees = [tree for model in models for tree in model.cell_trees(training.people, scale)]
    votes = TreeEnsemble.from_cell_trees(trees, training.grid, votes_needed=1)
    base = float(np.mean([model.base for model in models]))
    label = (votes.value > 0).astype(np.uint8)  # which class a leaf favours by itself
    return replace(votes, label=label, combine="sum", cutoff=0.0, base=base)

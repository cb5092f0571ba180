"""Recourse-aware gradient boosting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import check_random_state

from ract._utils.progress import in_threads, track
from ract._utils.typing import ColumnLike, TableLike
from ract._utils.validation import (
    ABOVE_0,
    FRACTION,
    INNER_SHARE,
    NONE,
    POSITIVE_SHARE,
    at_least,
    one_of,
    whole,
)
from ract.models.base import RecourseClassifierMixin
from ract.models.fit_state import BoostingState
from ract.models.parameters import (
    MAX_FEATURES,
    MaxFeatures,
    ThreadParameters,
    features_per_split,
    monotonic_directions,
    number_of_people,
    parameter,
    split_seed,
    with_parameters,
)
from ract.models.table import Prepared, Source
from ract.trees.advice import Cooperation, Cut, Job
from ract.trees.booster import Boosted, BoostRules, CellRows, Patience, boost
from ract.trees.cooperation import cooperate
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import People, from_cell_trees
from ract.trees.log_odds import logit, sigmoid
from ract.trees.training import TrainingSet

# "auto" stops early from this many people on, as in scikit-learn.
MANY_PEOPLE = 10_000
# The middle of the weights that are tried for a goal: a point counts at most so much of a person.
UNIT = 0.25
# Fits by which the cut of a booster without replicates is chosen, if people's scores decide it.
N_FOLDS = 3
# By how much the loss of held-out people has to fall.
TOL = 1e-7


@with_parameters
class RecourseBoostingClassifier(RecourseClassifierMixin, ThreadParameters, BaseEstimator):
    """Gradient boosting, trained so that refused people have plans that last.

    The sum of the trees is the log-odds of the desired class. Each tree is a Newton step of log
    loss on binned features, as in scikit-learn's ``HistGradientBoostingClassifier``. With a weight
    on recourse, plain boosters on parts of the people (replicates) find the best point that each
    person can reach, and a few boosters (members) learn from the people and, in addition, to accept
    these points. The mean of the members' scores decides, and the replicates give the
    probabilities. If the action space limits changes relative to the person (``limits="size"``), a
    point differs from its person only in the three or four features that together help refused
    people most, so that short plans are enough.

    Parameters
    ----------
    actions, desired, cost, budget, lasting
        As in ``RecourseTreeClassifier``.
    recourse_weight : float
        The largest weight of a point, where a person has the weight 1. 0 gives a plain booster.
        ``TunedRecourseClassifierCV`` finds the weight that a goal needs. If the action space limits
        changes, the weight in use (``recourse_weight_``) is doubled where three features bring
        refused people more than half of the way, and halved while members lose more than .01 of
        AUC compared with plain boosters, on people whom they have not seen.
    learning_rate : float
        Factor by which the values of leaves are multiplied.
    max_iter : int
        Number of trees; with a weight on recourse, of each replicate and member.
    max_leaf_nodes : int, optional
        Largest number of leaves of a tree; None for no limit. The leaf with the largest gain is
        split next.
    min_samples_leaf : int or float
        People in a leaf, as a number or as a share of all. Points do not count.
    l2_regularization : float
    max_features : float, int, "sqrt", "log2" or None
        Number or share of features that are drawn for each split.
    subsample : float
        Share of the people on which each tree is grown; of a member, at most one half where the
        weight is doubled.
    max_bins : int
        A feature with more distinct values than this is cut at quantiles.
    n_replicates : int
        Number of plain boosters that choose points; the mean of five members decides. With 0, a
        single booster chooses the points itself: this gives as much recourse today, in a fraction
        of the time, but plans seldom last.
    early_stopping : bool or "auto"
        Stop when the loss of held-out people has not fallen for ten trees. They are a share
        ``validation_fraction`` of the people; for a replicate, the people whom it does not see.
        "auto" does so with more than 10000 people.
    validation_fraction : float
    class_weight : dict or "balanced", optional
        As in scikit-learn: the weight of errors. A point has the mean weight of a person. Costs and
        budgets do not depend on it.
    monotonic : {"auto", "all", "none"}, array-like of int (features,) or dict, optional
        Monotonic constraints: by feature, in the order of the columns or by name, 1 if raising the
        feature may only raise the score, -1 if it may only lower it, 0 for no constraint; not for
        categorical features. "all" takes the directions of the action space, "auto" those that
        together cost at most .005 of AUC, "none" none. The default is "auto" if the space limits
        changes relative to the person. In addition, members are constrained where all replicates
        agree on the direction of a feature that may change.
    threshold : float, optional
        Decide for the desired class from this probability on, by the score that decides; one half
        by default. While growing, recourse is about the same decision.
    approval_rate : float, optional
        Choose the threshold so that about this share of people gets the desired class, by members
        that have not seen them.
    max_bad_rate : float, optional
        Choose the lowest threshold at which, in the same way, at most this share of those who get
        the desired class are undesired.
    n_jobs : int, optional
        Threads, as in joblib: for replicates and members, for the rows of a single booster where
        there are many, and for predicting. The model is the same for any number.
    verbose : int
        Above 0, show a progress bar with the time left.
    random_state : int, RandomState or None
        For dividing people into parts, and for drawing people and features.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        The trees that decide: for the desired class if their sum is at least the cut-off, the
        log-odds of ``threshold_``.
    threshold_ : float
        Only with ``threshold``, ``approval_rate`` or ``max_bad_rate``.
    probability_ensemble_ : TreeEnsemble or None
        The trees of the replicates, whose mean log-odds give the probabilities; None if
        ``ensemble_`` gives them.
    n_iter_ : int
        Number of trees of each member.
    validation_loss_ : array or None
        Mean loss of held-out people before the first tree and after each tree; None if nobody was
        held out for the model as a whole.
    classes_, desired_, encoder_, cost_, feature_importances_
        As in ``RecourseTreeClassifier``.
    recourse_weight_, lasting_, reference_
        As in ``RecourseTreeClassifier``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> model = RecourseBoostingClassifier(loans.actions, max_iter=20, random_state=0)
    >>> model.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> model.ensemble_.n_trees, model.ensemble_.cutoff
    (100, 0.0)
    """

    recourse_weight: float = parameter(at_least(0), default=0.25)
    learning_rate: float = parameter(ABOVE_0, default=0.1)
    max_iter: int = parameter(whole(1), default=100)
    max_leaf_nodes: int | None = parameter(NONE, whole(2), default=8)
    min_samples_leaf: int | float = parameter(whole(1), FRACTION, default=50)
    l2_regularization: float = parameter(at_least(0), default=1.0)
    max_features: MaxFeatures = parameter(*MAX_FEATURES, default=0.6)
    subsample: float = parameter(POSITIVE_SHARE, default=0.8)
    n_replicates: int = parameter(whole(0), default=6)
    early_stopping: bool | Literal["auto"] = parameter(one_of(True, False, "auto"), default=False)
    validation_fraction: float = parameter(INNER_SHARE, default=0.1)

    # Trees without a loss that falls, after which growing stops early.
    patience: ClassVar[int] = 10
    # Boosters whose mean decides, where there are replicates.
    n_members: ClassVar[int] = 5
    # With limits relative to the person, in how many features points may differ from their people
    # where three are not enough: which features people need differs.
    n_focus: ClassVar[int] = 4
    # The probability of the desired class to which points that people could get to are lifted.
    anchor_strength: ClassVar[float] = 0.82

    def fit(self, X: Source, y: ColumnLike, sample_weight: ColumnLike | None = None) -> Self:
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
        return self.fit_prepared(self.prepare(X, y, sample_weight))

    def _grown(self, prepared: Prepared) -> BoostingState:
        training, weight = prepared.training, float(self.recourse_weight)
        members, replicates, cut, weight = self._boosted(training, weight)
        losses = members[0].losses
        return BoostingState(
            **prepared.state,
            ensemble=_mean_of(members, training, cut),
            probability_ensemble=_mean_of(replicates, training, 0.0) if replicates else None,
            recourse_weight=weight,
            threshold=float(sigmoid(cut)) if self.cut_rule else None,
            n_iter=max(map(len, members)),
            validation_loss=np.array(losses) if losses else None,
        )

    def _boost_rules(self, training: TrainingSet) -> BoostRules:
        axes, n_people = training.grid.axes, len(training.weights.growing)
        return BoostRules(
            max_iter=self.max_iter,
            learning_rate=self.learning_rate,
            max_leaf_nodes=self.max_leaf_nodes,
            min_samples_leaf=number_of_people(self.min_samples_leaf, n_people),
            l2_regularization=self.l2_regularization,
            max_features=features_per_split(self.max_features, len(axes)),
            subsample=self.subsample,
            directions=monotonic_directions(self.directions, training.encoder, axes),
        )

    def _boosted(
        self, training: TrainingSet, weight: float
    ) -> tuple[list[Boosted], list[Boosted], float, float]:
        """Members, replicates, the log-odds that the desired class needs, and the weight used."""
        if not self.cut_rule or (weight > 0 and self.n_replicates > 0):
            return self._boosted_at(training, weight, 0.0)
        # A plain booster tells about where the cut will be, so that recourse can be about it.
        start = self._cut_apart(training, 0.0, 0.0) if weight > 0 else 0.0
        members, replicates, _, used = self._boosted_at(training, weight, start)
        return members, replicates, self._cut_apart(training, weight, start), used

    def _cut_apart(self, training: TrainingSet, weight: float, start: float) -> float:
        """The cut by boosters that were grown without the person, in three folds."""
        if self.threshold is not None:
            return logit(self.threshold)
        people = training.people
        codes, scores = np.ascontiguousarray(people.cells.T), np.empty(len(people.desired))
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=split_seed(self.random_state))
        for inside, outside in folds.split(codes, people.desired):
            part = training.take(inside)
            [model], *_ = self._boosted_at(part, weight, start)
            scores[outside] = model.scores(np.ascontiguousarray(codes[outside]))
        return self.cut_rule.choose(scores, people.desired, training.weights.people)

    def _boosted_at(
        self, training: TrainingSet, weight: float, start: float
    ) -> tuple[list[Boosted], list[Boosted], float, float]:
        """Members, replicates, their cut and weight; without a weight, a plain booster alone.

        start: where the cut of a booster without replicates will be, about.
        """
        rules, rng = self._boost_rules(training), check_random_state(self.random_state)
        people, weights = training.people, training.weights
        growing = np.ascontiguousarray(weights.growing)
        rows = CellRows.of(np.ascontiguousarray(people.cells.T), people.desired, growing)
        stops = self.early_stopping is True or (
            self.early_stopping == "auto" and rows.n_people > MANY_PEOPLE
        )
        patience = Patience(rows, self.patience, TOL) if stops else None
        how: dict[str, Any] = {
            "n_threads": effective_n_jobs(self.n_jobs),
            "watch": partial(
                track, total=self.max_iter, description="Boosting", show=self.verbose > 0
            ),
        }
        if weight > 0:
            cooperation = Cooperation(
                weight,
                margin=logit(self.anchor_strength) + start,
                n_replicates=self.n_replicates,
                n_members=self.n_members,
                cut=self._cut_of_scores(training),
                n_focus=self.n_focus if training.encoder.space.is_limited else None,
            )
            # A point counts as a person does on average, whatever classes weigh.
            scale = 1.0 if self.class_weight is None else growing.sum() / weights.people.sum()
            how |= {"patience": patience, "run": self._in_threads}
            return cooperate(people, rows, weights.people * scale, rules, cooperation, rng, **how)
        seeds = [int(seed) for seed in rng.randint(2**31 - 1, size=rules.max_iter)]
        if patience is not None:
            everyone, share = np.arange(rows.n_people), self.validation_fraction
            inside, outside = train_test_split(
                everyone, test_size=share, stratify=people.desired, random_state=seeds[0]
            )
            patience = replace(patience, rows=rows.take(np.sort(outside)))
            rows = rows.take(np.sort(inside))
        return [boost(people, rows, rules, seeds, patience=patience, **how)], [], 0.0, weight

    def _cut_of_scores(self, training: TrainingSet) -> Cut | None:
        """Chooses the cut of members and replicates from log-odds; None for one half."""
        rule, people, weights = self.cut_rule, training.people, training.weights
        if rule.threshold is not None:
            needed = logit(rule.threshold)
            return lambda _: needed
        if not rule:
            return None
        return lambda scores: rule.choose(scores, people.desired, weights.people)

    def _in_threads(self, jobs: Sequence[Job]) -> list[Any]:
        done = in_threads(jobs, self.n_jobs)
        return list(track(done, len(jobs), "Boosting", show=self.verbose > 0))

    def scores_in_cells(self, training: TrainingSet, people: People) -> np.ndarray:
        """Scores of people by a booster of the training set without a weight."""
        [model], *_ = self._boosted_at(training, 0.0, 0.0)
        return model.scores(np.ascontiguousarray(people.cells.T))

    def ensemble_on(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        """Grow the deciding trees with another recourse weight than the estimator's."""
        members, _, cut, _ = self._boosted(training, weight)
        return _mean_of(members, training, cut)

    def weight_unit(self, desired: np.ndarray, weights: np.ndarray) -> float:
        """Middle of the recourse weights that are tried when searching for a goal."""
        return UNIT

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of each class.

        If there are replicates they give it, since they learned from people only.

        Parameters
        ----------
        X : frame or array
        """
        matrix = self._matrix(X)
        trees = self.probability_ensemble_ or self.ensemble_
        return self._as_probabilities(sigmoid(trees.score(matrix, n_jobs=self.n_jobs)))


def _mean_of(models: Sequence[Boosted], training: TrainingSet, cut: float) -> TreeEnsemble:
    """The trees of boosters whose mean decides."""
    scale = 1 / len(models)
    trees = [tree for model in models for tree in model.cell_trees(training.people, scale)]
    votes = from_cell_trees(trees, training.grid, votes_needed=1)
    base = float(np.mean([model.base for model in models]))
    label = (votes.value > 0).astype(np.uint8)  # which class a leaf favours by itself
    return replace(votes, label=label, combine="sum", cutoff=cut, base=base)

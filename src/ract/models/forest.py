"""The recourse-aware forest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ract._utils.progress import in_threads, track
from ract._utils.status import Status
from ract._utils.typing import ColumnLike, TableLike
from ract._utils.validation import FRACTION, NONE, YES_OR_NO, whole
from ract.models.fit_state import ForestState
from ract.models.labelled import LabelledTreesMixin
from ract.models.lifted import LESS, MOST_LOST, PER_WEIGHT, LiftedPoints
from ract.models.out_of_bag import GrownTree, out_of_bag, shares_out_of_bag
from ract.models.parameters import (
    MAX_FEATURES,
    MaxFeatures,
    ThreadParameters,
    number_drawn,
    parameter,
    split_seed,
    with_parameters,
)
from ract.models.table import Prepared, Source
from ract.recourse import for_models
from ract.trees.afford import affordable_weight, auc
from ract.trees.cover import own_leaves, relabelled
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import GrowRules, People, bootstrap_counts, from_cell_trees, grow_tree
from ract.trees.log_odds import logit
from ract.trees.training import TrainingSet

# Plain trees that tell about where a cut will be, before the forest is grown for it.
N_PILOT = 20


@with_parameters
class RecourseForestClassifier(LabelledTreesMixin, ThreadParameters, BaseEstimator):
    """A forest, trained so that refused people have recourse.

    Its trees are grown like those of ``RecourseTreeClassifier``, each on a bootstrap sample and
    with a few features drawn per split. The majority of their leaf labels decides; labels are
    chosen for recourse. With a threshold the mean share of leaves decides, and if the action space
    limits changes, trees also learn from points that people could reach, which raise that share,
    and ``predict_proba`` a little. Points count less where they would cost much AUC.

    Parameters
    ----------
    actions, desired, cost, budget, recourse_weight, lasting
        As in ``RecourseTreeClassifier``.
    n_estimators : int
        Number of trees.
    criterion, min_leaf_share, max_bins, class_weight, monotonic
        As in ``RecourseTreeClassifier``.
    max_depth, min_samples_leaf, max_features
        As in scikit-learn.
    max_samples : int or float, optional
        How many people to draw for each tree, with replacement, as a number or as a share of
        all; as many as there are by default.
    min_recourse : float, optional
        Relabel the leaves of each tree until at least this share of the people on whom it was grown
        attains one of its desired leaves.
    threshold : float, optional
        Decide for the desired class from this mean share of desired people in a person's leaves
        on. By default the majority of the trees' labels decides, as in the paper. While growing,
        recourse is about the same decision.
    approval_rate : float, optional
        Choose the threshold so that about this share of people gets the desired class, by trees
        that were grown without them.
    max_bad_rate : float, optional
        Choose the lowest threshold at which, in the same way, at most this share of those who get
        the desired class are undesired.
    oob_score : bool
        Score each person by the trees that were grown without them.
    n_jobs : int, optional
        Threads for growing and predicting, as in joblib. The model is the same for any number.
    verbose : int
        Above 0, show a progress bar with the time left.
    random_state : int, RandomState or None
        For bootstrap samples and feature sampling.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        All trees; its cut-off is the number of votes needed, or ``threshold_``.
    threshold_ : float
        The mean share of leaves that is needed. Only with ``threshold``, ``approval_rate`` or
        ``max_bad_rate``.
    oob_score_ : float
        Accuracy of the decisions of trees grown without the person. Only with ``oob_score``.
    oob_decision_function_ : array (people x 2)
        Their probabilities; NaN for people in every sample and for those without weight.
    oob_recourse_ratio_ : float
        Share of people who are accepted by those trees or have an action within the budget after
        which they are, by exact search, for at most 1000 people spread over the table.
    classes_, desired_, encoder_, cost_, feature_importances_
        As in ``RecourseTreeClassifier``.
    recourse_weight_, min_leaf_share_, lasting_, reference_, grid_error_
        As in ``RecourseTreeClassifier``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> forest.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> forest.ensemble_.n_trees, forest.ensemble_.cutoff
    (20, 11)
    """

    n_estimators: int = parameter(whole(1), default=100)
    min_samples_leaf: int | float = parameter(whole(1), FRACTION, default=20)
    max_features: MaxFeatures = parameter(*MAX_FEATURES, default="sqrt")
    max_samples: int | float | None = parameter(NONE, whole(1), FRACTION, default=None)
    oob_score: bool = parameter(YES_OR_NO, default=False)

    @property
    def _measures_afterwards(self) -> bool:
        return super()._measures_afterwards or self.oob_score

    def fit(self, X: Source, y: ColumnLike, sample_weight: ColumnLike | None = None) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : frame or array (people x features), path or pyarrow data set
            A Parquet file, or a folder of them, is read twice in batches and need not fit in
            memory; ``y`` and ``sample_weight`` are then names of its columns.
        y : array (people,)
        sample_weight : array (people,), optional
            How much each person counts, for errors, costs and recourse alike. Everyone with a
            weight above 0 is as likely to be drawn for a bootstrap sample.
        """
        return self.fit_prepared(self.prepare(X, y, sample_weight))

    def _grown(self, prepared: Prepared) -> ForestState:
        if self.oob_score:  # searches: better refused now
            for_models.check_categories(prepared.training.encoder.axes)
        cut = self.first_cut(prepared.training)
        return self._state(prepared, self._trees(self.growth(prepared.training, cut)))

    def fit_grown(self, prepared: Prepared, trees: Sequence[GrownTree]) -> RecourseForestClassifier:
        """Set the trees of this forest to trees that were grown elsewhere (distributed training).

        Parameters
        ----------
        prepared : Prepared
        trees : sequence of GrownTree
            In the order of ``seeds``.
        """
        return self._finish(self._state(prepared, trees), prepared.in_memory)

    def growth(self, training: TrainingSet, cut: float | None) -> Growth:
        """Parameters of the tree grower that all trees of this forest share.

        Parameters
        ----------
        training : TrainingSet
        cut : float or None
            That of ``first_cut``.
        """
        growth = self._growth(training, float(self.recourse_weight), self._floor, cut)
        return growth if growth.points is None else self._afforded(growth, growth.points)

    def _growth(
        self, training: TrainingSet, weight: float, floor: float, cut: float | None
    ) -> Growth:
        n_drawn = number_drawn(self.max_samples, len(training.weights.growing))
        rules = self._rules(training, weight, floor, cut)
        max_risk = None if self.min_recourse is None else self._max_risk
        if not (weight > 0 and self.cut_rule and training.encoder.space.is_limited):
            return Growth(training, rules, n_drawn, max_risk)
        people, weights, needed = training.people, training.weights, self.threshold

        def cut_of(scores: np.ndarray) -> float:
            if needed is None:
                return self.cut_rule.choose(scores, people.desired, weights.people)
            return logit(needed)

        seed = split_seed(self.random_state)
        points = LiftedPoints.of(training, rules.monotonic, cut_of, seed, self.n_jobs)
        # Labels decide nothing, so that no split is refused for their sake.
        rules = replace(rules, recourse_weight=0.0, min_leaf_share=0.0, monotonic=points.directions)
        return Growth(training, rules, n_drawn, None, points.at(PER_WEIGHT * weight))

    def _afforded(self, growth: Growth, points: LiftedPoints) -> Growth:
        """The same with points that weigh no more than the AUC of a few trees can afford."""
        people = growth.training.people
        everyone = np.arange(len(people.desired))

        def scores(growth: Growth) -> np.ndarray:
            return shares_out_of_bag(self._trees(growth, N_PILOT), people, everyone)

        def held_to(directions: tuple[int, ...]) -> Growth:
            return replace(growth, rules=replace(growth.rules, monotonic=directions))

        free = auc(people.desired, scores(replace(held_to(()), points=None)))
        plain = scores(replace(growth, points=None))
        if auc(people.desired, plain) < free - MOST_LOST:
            growth = held_to(points.given)
            plain = scores(replace(growth, points=None))
        weight = affordable_weight(
            points.weight,
            lambda weight: scores(replace(growth, points=points.at(weight))),
            people.desired,
            plain,
            MOST_LOST,
            LESS,
        )
        return replace(growth, points=points.at(weight))

    def first_cut(self, training: TrainingSet) -> float | None:
        """Rough threshold of the score, from a few plain trees; None if leaf labels decide."""
        rule = self.cut_rule
        if not rule or rule.threshold is not None:
            return rule.threshold
        growth = replace(self._growth(training, 0.0, 0.0, None), max_risk=None)
        trees = self._trees(growth, N_PILOT)
        return self._chosen_cut(training, trees, np.arange(len(training.people.desired)))

    def _chosen_cut(
        self, training: TrainingSet, trees: Sequence[GrownTree], rows: np.ndarray
    ) -> float:
        """The cut that meets a rate, by trees that were grown without the person.

        rows: which of everyone with a weight the training people are.
        """
        if self.threshold is not None:
            return float(self.threshold)
        shares = shares_out_of_bag(trees, training.people, rows)
        return self.cut_rule.choose(shares, training.people.desired, training.weights.people)

    @property
    def seeds(self) -> list[int]:
        """A seed for each tree."""
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        return [int(seed) for seed in seeds]

    def _trees(self, growth: Growth, n_trees: int | None = None) -> list[GrownTree]:
        """A tree for each of the first seeds; for all of them, with a progress bar, by default."""
        seeds, show = self.seeds[:n_trees], self.verbose > 0 and n_trees is None
        grown = in_threads([partial(growth.tree, seed) for seed in seeds], self.n_jobs)
        return list(track(grown, len(seeds), "Growing trees", show=show))

    def _state(self, prepared: Prepared, trees: Sequence[GrownTree]) -> ForestState:
        cut, known, used = None, prepared.in_memory, trees[0].recourse_weight
        if self.cut_rule:
            rows = known.rows
            if isinstance(rows, slice) or len(prepared.training.people.desired) == known.n_all:
                rows = np.arange(known.n_all)
            cut = self._chosen_cut(prepared.training, trees, rows)
        state = ForestState(
            **prepared.state,
            ensemble=_deciding(trees, prepared.training, cut),
            recourse_weight=float(self.recourse_weight if used is None else used),
            min_leaf_share=self._floor,
            threshold=cut,
        )
        if not self.oob_score:
            return state
        draws = [(grown.seed, grown.n_drawn) for grown in trees]
        return self._scored_out_of_bag(state, prepared, draws)

    @property
    def quick_parameters(self) -> dict[str, int]:
        """Fewer trees."""
        return {"n_estimators": min(self.n_estimators, N_PILOT)}

    def scores_in_cells(self, training: TrainingSet, people: People) -> np.ndarray:
        """Scores of people by a forest of the training set without a weight."""
        trees = [grown.tree for grown in self._trees(self._growth(training, 0.0, 0.0, None))]
        return np.mean([tree.share[own_leaves(tree, people)] for tree in trees], axis=0)

    def ensemble_on(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        """Grow the trees with another recourse weight and floor than the estimator's."""
        about, cut = self.first_cut(training), None
        trees = self._trees(self._growth(training, weight, floor, about))
        if about is not None:
            cut = self._chosen_cut(training, trees, np.arange(len(training.people.desired)))
        return _deciding(trees, training, cut)

    def _scored_out_of_bag(
        self, state: ForestState, prepared: Prepared, draws: Sequence[tuple[int, int]]
    ) -> ForestState:
        """The state with scores of people by the trees whose sample they are not in.

        draws: seed and sample size of each tree.
        """
        known = prepared.in_memory
        matrix = state.encoder.matrix(known.X)
        bag = out_of_bag(state.ensemble, draws, matrix, known.rows, known.n_all)
        scored, needed = bag.scored, bag.n_trees // 2 + 1.0
        if not scored.all():
            warnings.warn(
                f"{(~scored).sum()} people are in every tree's sample and have no out-of-bag "
                "score; use more trees.",
                stacklevel=6,
            )
        with np.errstate(invalid="ignore"):
            share = bag.sums / bag.n_trees
            decided = bag.votes >= needed
            if state.threshold is not None:
                needed = np.full(len(scored), state.threshold)
                decided = share >= needed
            right = (decided == known.desired)[scored]
            accuracy = float(right.sum() / np.float64(len(right)))
        probabilities = None
        if known.is_everyone:
            probabilities = np.full((prepared.n_rows, 2), np.nan)
            second = share if state.classes[1] == state.desired else 1 - share
            probabilities[prepared.growing] = np.column_stack([1 - second, second])
        refused = (scored & ~decided)[bag.asked]
        asked = bag.asked[refused]
        matrix = matrix[asked]  # no more than is needed: the search takes memory too
        search = for_models.ExactSearch(state.ensemble, state.encoder.axes, state.cost)
        by_person = {"trees": bag.left_out[refused], "needed": needed[asked]}
        limits = for_models.Limits(n_jobs=self.n_jobs)
        answers = search.attains(matrix, self.budget_, limits, **by_person)
        without = int((answers != Status.FOUND).sum())
        return replace(
            state,
            oob_score=accuracy,
            oob_decision_function=probabilities,
            oob_recourse_ratio=1 - without / max(int(scored[bag.asked].sum()), 1),
        )

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Mean share of each class in a person's leaves."""
        matrix = self._matrix(X)
        sums = self.ensemble_.totals(matrix, n_jobs=self.n_jobs)[1]
        return self._as_probabilities(sums / self.ensemble_.n_trees)


def _deciding(trees: Sequence[GrownTree], training: TrainingSet, cut: float | None) -> TreeEnsemble:
    """The trees, which decide by the majority of their labels or by a cut of their mean share."""
    cells = [grown.tree for grown in trees]
    forest = from_cell_trees(cells, training.grid, len(cells) // 2 + 1)
    return forest if cut is None else forest.at_threshold(cut)


@dataclass(frozen=True)
class Growth:
    """Everything that the trees of a forest share; a seed makes the difference.

    Parameters
    ----------
    training : TrainingSet
    rules : GrowRules
    n_drawn : int
        Size of a bootstrap sample.
    max_risk : float, points : LiftedPoints, optional
    """

    training: TrainingSet
    rules: GrowRules
    n_drawn: int
    max_risk: float | None
    points: LiftedPoints | None = None

    def tree(self, seed: int) -> GrownTree:
        """Grow the tree of a seed; all it keeps is in proportion to its nodes."""
        people, weights = self.training.people, self.training.weights
        times, next_seed = bootstrap_counts(len(weights.growing), self.n_drawn, seed)
        sample = weights.sample
        plain = sample is None and (weights.growing == 1).all()
        growing = times if plain else weights.growing * times
        sample_weight = times if sample is None else sample * times
        grown_on = people
        if self.points is not None:
            grown_on, growing = self.points.beside(people, growing, sample_weight, seed)
            sample_weight = growing
        tree = grow_tree(grown_on, growing, self.rules, next_seed, sample_weight)
        if self.max_risk is not None:
            tree = relabelled(tree, people, sample_weight, self.max_risk)
        tree = replace(tree, covered=np.zeros(0, np.bool_), masses=np.zeros((0, 3)))
        used = None if self.points is None else self.points.weight / PER_WEIGHT
        return GrownTree(tree, seed, self.n_drawn, len(weights.growing), used)

"""The recourse-aware forest."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ract._core.cover import relabelled
from ract._core.grower import CellTree, Rules, draw_people, grow_tree
from ract._estimator import Prepared
from ract._labelled import LabelledTreesMixin
from ract._out_of_bag import out_of_bag
from ract._parameters import at_least, is_number
from ract._progress import track
from ract._streamed import Kept
from ract._training import TrainingSet
from ract.actions import ActionSpace
from ract.costs import Cost
from ract.ensemble import TreeEnsemble, votes_of
from ract.errors import InvalidData, InvalidSpec, listing
from ract.recourse.common.problem import check_categories
from ract.status import Status


class RecourseForestClassifier(LabelledTreesMixin, BaseEstimator):
    """A forest in which refused people have a way back.

    Its trees are grown like those of ``RecourseTreeClassifier``, each on a bootstrap sample and
    with a few features drawn per split, and decide by the majority of their leaf labels, which
    carry the recourse.

    Parameters
    ----------
    actions, desired, cost, budget, exact_costs
        As in ``RecourseTreeClassifier``.
    recourse_weight, min_recourse, max_auc_loss, lasting, keep_reference
        As in ``RecourseTreeClassifier``.
    n_estimators : int
        Number of trees.
    criterion, min_leaf_share, max_cells, class_weight, only_actionable, monotonic_cst
        As in ``RecourseTreeClassifier``.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in scikit-learn.
    min_impurity_decrease, max_features
        As in scikit-learn.
    bootstrap : bool
        Grow each tree on people drawn with replacement rather than on everyone.
    max_samples : int or float, optional
        With ``bootstrap``: how many people to draw, as a number or as a share of all; as many
        as there are by default.
    max_risk : float, optional
        Relabel the leaves of each tree until, of the people it was grown on, at most this share
        attains no desired leaf of it.
    votes_needed : int or float, optional
        How many trees must be for the desired class, as a number or as a share of all; more
        than half of them by default. ``predict`` and ``recourse`` take another share as their
        ``threshold``.
    probability : {"shares", "votes"}
        What ``predict_proba`` goes by: the mean share of desired people in a person's leaves,
        or the share of votes. Either is held on the decision's side of one half.
    oob_score : bool
        With ``bootstrap``: score each person by the trees that were grown without them.
    warm_start : bool
        Keep the trees of the last fit, which must have been on the same people, and add those
        that are missing to ``n_estimators``.
    n_jobs : int, optional
        Threads for growing and predicting, as in joblib. The model is the same for any number.
    verbose : int
        Above 0, show a progress bar with the time left.
    random_state : int, RandomState or None
        For bootstrap samples and feature sampling.

    Attributes
    ----------
    ensemble_ : TreeEnsemble
        All trees; its cut-off is the number of votes needed.
    oob_score_ : float
        Accuracy of the decisions of trees grown without the person. Only with ``oob_score``.
    oob_decision_function_ : array (people x 2)
        Their probabilities; NaN for people in every sample and for those without weight.
    oob_recourse_ratio_ : float
        Share of people whom those trees accept, or who have an action within the budget that
        makes them do so, by exact search; of at most 1000 people spread over the table.
    classes_, desired_, encoder_, cost_, feature_importances_
        As in ``RecourseTreeClassifier``.
    recourse_weight_, min_leaf_share_, weight_search_, lasting_, reference_, grid_error_
        As in ``RecourseTreeClassifier``.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> forest = RecourseForestClassifier(loans.actions, n_estimators=20, random_state=0)
    >>> forest.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> forest.ensemble_.n_trees, forest.ensemble_.cutoff
    (20, 11)
    """

    def __init__(
        self,
        actions: ActionSpace | None = None,
        *,
        n_estimators: int = 100,
        desired: Any = None,
        cost: str | Cost = "percentile",
        budget: float = 0.3,
        exact_costs: bool = False,
        recourse_weight: float | Literal["auto"] = 0.1,
        min_recourse: float | None = None,
        max_auc_loss: float | None = None,
        lasting: float | None = None,
        keep_reference: bool = False,
        criterion: Literal["gini", "entropy", "error"] = "gini",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float = 20,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_leaf_share: float | None = None,
        max_features: Any = "sqrt",
        max_cells: int = 256,
        bootstrap: bool = True,
        max_samples: int | float | None = None,
        class_weight: Any = None,
        only_actionable: bool = False,
        monotonic_cst: Any = None,
        max_risk: float | None = None,
        votes_needed: int | float | None = None,
        probability: Literal["shares", "votes"] = "shares",
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.actions = actions
        self.n_estimators = n_estimators
        self.desired = desired
        self.cost = cost
        self.budget = budget
        self.exact_costs = exact_costs
        self.recourse_weight = recourse_weight
        self.min_recourse = min_recourse
        self.max_auc_loss = max_auc_loss
        self.lasting = lasting
        self.keep_reference = keep_reference
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_leaf_share = min_leaf_share
        self.max_features = max_features
        self.max_cells = max_cells
        self.bootstrap = bootstrap
        self.max_samples = max_samples
        self.class_weight = class_weight
        self.only_actionable = only_actionable
        self.monotonic_cst = monotonic_cst
        self.max_risk = max_risk
        self.votes_needed = votes_needed
        self.probability = probability
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RecourseForestClassifier:
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
        self._check_parameters()
        kept = self._kept_trees()
        before = None if kept is None else (self._task, self.recourse_weight_)
        prepared = self._prepare(X, y, sample_weight)
        self._learn(prepared, kept, before)
        return self._measure(prepared.kept, X, y, sample_weight)

    def _learn(
        self, prepared: Prepared, kept: TreeEnsemble | None = None, before: Any = None
    ) -> RecourseForestClassifier:
        """Grow the forest on a table that was read."""
        self._check_parameters()
        self._adopt(prepared)
        if self.oob_score or self.recourse_weight == "auto":  # searches: better refused now
            check_categories(self.encoder_.axes)
        training, growing = prepared.training, prepared.growing
        if before is None or self.recourse_weight != "auto":
            self.recourse_weight_, self.min_leaf_share_ = self._chosen_weight(prepared.in_memory)
        rules = self._rules(training, self.recourse_weight_, self.min_leaf_share_)
        self._n_people, self._monotonic = len(growing), rules.monotonic
        if before is not None and before[0] != self._task:
            task = before[0]
            raise InvalidData(
                f"warm_start needs the people of the last fit: {task[0]} of them, with classes "
                f"{listing(task[1])}, {listing([task[2]])} desired, and columns "
                f"{listing(task[3])}; and the same monotonic_cst."
            )
        self._grow(training, rules, kept)
        self.__dict__.pop("oob_score_", None)
        self.__dict__.pop("oob_decision_function_", None)
        self.__dict__.pop("oob_recourse_ratio_", None)
        if self.oob_score:
            self._score_out_of_bag(prepared.in_memory, growing, len(prepared.desired))
        return self

    def _check_parameters(self) -> None:
        at_least("n_estimators", self.n_estimators, 1, whole=True)
        self._check_max_risk()
        needed = self.votes_needed
        if isinstance(needed, float):
            _check_share("votes_needed", needed)
        elif needed is not None and not (
            is_number(needed, whole=True) and 1 <= needed <= self.n_estimators
        ):
            raise InvalidSpec(
                f"votes_needed must be a whole number from 1 to {self.n_estimators}, the number "
                f"of trees, or a share of them above 0 and up to 1.0, got {needed!r}."
            )
        if self.probability not in ("shares", "votes"):
            raise InvalidSpec(f"probability must be 'shares' or 'votes', got {self.probability!r}.")
        if not self.bootstrap and self.oob_score:
            raise InvalidSpec("oob_score needs bootstrap; without it nobody is left out of a tree.")
        if not self.bootstrap and self.max_samples is not None:
            raise InvalidSpec(
                "max_samples needs bootstrap; without it everyone is in every tree, "
                f"got {self.max_samples!r}."
            )

    def _kept_trees(self) -> TreeEnsemble | None:
        """The trees of the last fit, if this one adds to them."""
        if not self.warm_start or not hasattr(self, "ensemble_"):
            return None
        n_trees = self.ensemble_.n_trees
        if self.n_estimators < n_trees:
            raise InvalidSpec(
                f"n_estimators is {self.n_estimators}, but with warm_start the {n_trees} trees "
                "of the last fit are kept and there cannot be fewer."
            )
        if self.n_estimators == n_trees:
            warnings.warn(
                f"There are {n_trees} trees already; with warm_start, raise n_estimators to "
                "grow more.",
                stacklevel=3,
            )
        return self.ensemble_

    @property
    def _task(self) -> tuple[int, list[Any], Any, tuple[str, ...], tuple[int, ...]]:
        """What the trees were grown for; those of different tasks cannot stand in one forest."""
        classes, columns = self.classes_.tolist(), self.encoder_.column_names
        return self._n_people, classes, self.desired_, columns, self._monotonic

    def _grow(self, training: TrainingSet, rules: Rules, kept: TreeEnsemble | None) -> None:
        n_kept = 0 if kept is None else kept.n_trees
        trees, new = self._new_trees(training, rules, n_kept)
        needed = int(self._needed(self.n_estimators))
        parts, draws = ([], []) if kept is None else ([kept], self._draws)
        if trees:
            parts.append(TreeEnsemble.from_cell_trees(trees, training.grid, needed))
        self.ensemble_ = TreeEnsemble.joined(parts, needed)
        self._draws: list[tuple[int, int | None]] = [*draws, *new]

    def _new_trees(
        self, training: TrainingSet, rules: Rules, n_kept: int
    ) -> tuple[list[CellTree], list[tuple[int, int | None]]]:
        """Trees beyond those that are kept, and the seed and sample size of each."""
        growth = self._growth(training, rules)
        new = [(seed, growth.n_drawn) for seed in self._seeds()[n_kept:]]
        grown = Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(
            delayed(growth.tree)(seed) for seed, _ in new
        )
        return list(track(grown, len(new), "Growing trees", show=self.verbose > 0)), new

    def _growth(self, training: TrainingSet, rules: Rules) -> Growth:
        n_people = len(training.weights.growing)
        n_drawn = _number_drawn(self.max_samples, n_people) if self.bootstrap else None
        return Growth(training, rules, n_drawn, self.max_risk)

    def _seeds(self) -> list[int]:
        """A seed for each tree, those of kept trees too.

        So adding trees to a forest gives the same one as growing it at once.
        """
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        return [int(seed) for seed in seeds]

    def _trial_ensemble(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        trees, _ = self._new_trees(training, self._rules(training, weight, floor), 0)
        return TreeEnsemble.from_cell_trees(
            trees, training.grid, int(self._needed(self.n_estimators))
        )

    def _needed(self, n_trees: Any) -> Any:
        """Votes needed of some trees: the strict majority, or as many as asked in proportion."""
        if self.votes_needed is None:
            return n_trees // 2 + 1
        if isinstance(self.votes_needed, float):
            return np.maximum(votes_of(self.votes_needed, n_trees), 1)
        return -(-self.votes_needed * n_trees // self.n_estimators)

    def _score_out_of_bag(self, kept: Kept, growing: np.ndarray | range, n_all: int) -> None:
        """Score people by the trees whose sample they are not in.

        Parameters
        ----------
        kept : Kept
        growing : int (people,)
            Rows of everyone with a weight, of so many in all.
        n_all : int
        """
        matrix = self.encoder_.matrix(kept.people)
        bag = out_of_bag(self.ensemble_, self._draws, matrix, kept.rows, kept.n_people)
        scored, needed = bag.scored, self._needed(bag.n_trees)
        if not scored.all():
            warnings.warn(
                f"{(~scored).sum()} people are in every tree's sample and have no out-of-bag "
                "score; more trees would leave everyone out of some.",
                stacklevel=3,
            )
        decided = bag.votes >= needed
        with np.errstate(invalid="ignore"):
            share = (bag.sums if self.probability == "shares" else bag.votes) / bag.n_trees
            right = (decided == kept.desired)[scored]
            self.oob_score_ = float(right.sum() / np.float64(len(right)))
        if kept.is_everyone:
            self.oob_decision_function_ = np.full((n_all, 2), np.nan)
            self.oob_decision_function_[growing] = self._as_probabilities(share, decided)
        refused = (scored & ~decided)[bag.asked]
        asked = bag.asked[refused]
        matrix = matrix[asked]  # no more than is needed: the search takes memory too
        answers = self._search().attains(
            matrix, self.budget, trees=bag.left_out[refused], needed=needed[asked],
            n_jobs=self.n_jobs,
        )  # fmt: skip
        without = int((answers != Status.FOUND).sum())
        self.oob_recourse_ratio_ = 1 - without / max(int(scored[bag.asked].sum()), 1)

    def predict(self, X: Any, *, threshold: float | None = None) -> np.ndarray:
        """Class of each person: the desired one where enough trees vote for it.

        Parameters
        ----------
        X : frame or array
        threshold : float, optional
            The share of votes from which on the desired class is given; that of training by
            default. ``recourse(X, threshold=...)`` finds plans for the same decision.
        """
        if threshold is None:
            return super().predict(X)
        check_is_fitted(self)
        decides = self.ensemble_.at_threshold(_check_share("threshold", threshold))
        return self._as_classes(decides.decide(self._matrix(X), n_jobs=self.n_jobs))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Mean share of each class in a person's leaves, or share of votes (``probability``).

        Held on the decision's side of one half, so that it always agrees with ``predict``.
        """
        matrix = self._matrix(X)
        votes, sums = self.ensemble_.totals(matrix, n_jobs=self.n_jobs)
        share = (sums if self.probability == "shares" else votes) / self.ensemble_.n_trees
        return self._as_probabilities(share, votes >= self.ensemble_.cutoff)

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each person in each tree, as nodes of ``ensemble_`` (people x trees)."""
        matrix = self._matrix(X)
        return self.ensemble_.apply(matrix)


@dataclass(frozen=True)
class Growth:
    """Everything that the trees of a forest share; a seed makes the difference.

    Parameters
    ----------
    training : TrainingSet
    rules : Rules
    n_drawn : int or None
        Size of a bootstrap sample; None grows every tree on everyone.
    max_risk : float or None
    """

    training: TrainingSet
    rules: Rules
    n_drawn: int | None
    max_risk: float | None

    def tree(self, seed: int) -> CellTree:
        """Grow the tree of a seed; all it keeps is in proportion to its nodes."""
        people, all_weights, rules = self.training.people, self.training.weights, self.rules
        weights = all_weights.growing
        if self.n_drawn is None:
            sample_weight = all_weights.people
        else:
            times, seed = draw_people(len(weights), self.n_drawn, seed)
            sample = all_weights.sample
            weights = times if sample is None and (weights == 1).all() else weights * times
            sample_weight = times if sample is None else sample * times
            share = rules.min_weight_leaf / all_weights.growing.sum()
            rules = replace(rules, min_weight_leaf=share * weights.sum())
        tree = grow_tree(people, weights, rules, seed, sample_weight)
        if self.max_risk is not None:
            tree = relabelled(tree, people, sample_weight, self.max_risk)
        return replace(tree, covered=np.zeros(0, np.bool_), masses=np.zeros((0, 3)))


def _check_share(name: str, share: Any) -> float:
    if not (is_number(share) and 0 < share <= 1):
        raise InvalidSpec(f"{name} must be a share above 0 and up to 1, got {share!r}.")
    return float(share)


def _number_drawn(max_samples: Any, n_people: int) -> int:
    """Size of a bootstrap sample, by scikit-learn's rules."""
    if max_samples is None:
        return n_people
    if is_number(max_samples, whole=True) and 1 <= max_samples <= n_people:
        return int(max_samples)
    if isinstance(max_samples, float) and 0.0 < max_samples <= 1.0:
        return max(round(n_people * max_samples), 1)
    raise InvalidSpec(
        f"max_samples must be a whole number from 1 to {n_people}, the people with a weight, or "
        f"a share between 0 and 1, got {max_samples!r}."
    )

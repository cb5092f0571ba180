"""The recourse-aware classification tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ract._core.attain import Attainment
from ract._core.cover import exact_cover, greedy_cover, relabelled
from ract._core.grower import CellTree, Rules, grow_tree
from ract._estimator import Prepared
from ract._frames import read_table, take_rows
from ract._labelled import LabelledTreesMixin
from ract._parameters import is_number
from ract._streamed import is_stored
from ract._training import TrainingSet, people_on, space_for_part
from ract.actions import ActionSpace
from ract.costs import Cost
from ract.encoding import Encoder
from ract.ensemble import TreeEnsemble
from ract.errors import InvalidSpec
from ract.grid import Grid
from ract.guarantee import Guarantee, relabel


class RecourseTreeClassifier(LabelledTreesMixin, BaseEstimator):
    """A classification tree in which refused people have a way back.

    Grown top down like CART, but each split and its labels weigh, beside the errors, the people
    whom it leaves without an affordable action towards the desired class (Algorithm 1 of the
    paper). Leaves can then be relabelled until at most a stated share of people is without
    recourse (Algorithm 3), with a guarantee for people yet unseen.

    Parameters
    ----------
    actions : ActionSpace, optional
        What people may change. Without one everything may change freely.
    desired : label, optional
        The class that people want; by default the action space's, or else the second class.
    cost : str or Cost
        Effort of an action: "percentile", "kernel-percentile", "range", "std", "mad", or an
        object of your own whose norm is "max".
    budget : float
        Largest acceptable cost of an action.
    exact_costs : bool
        Whether percentile costs keep every training value, and with them model files. By
        default they are learned from groups of at least five people, and show no one's values.
    recourse_weight : float or "auto"
        Weight of a person without recourse against a misclassified one. 0 is a plain model and
        skips all work on recourse. "auto" finds the weight that a goal needs, in about three
        trials on part of the people, measured on the rest. With ``lasting`` it aims at plans
        that last, and chooses ``min_leaf_share`` too, in at most ten trials.
    min_recourse : float, optional
        Goal of "auto", 0.95 if none is given: the most accurate model with at least this share
        of people who are accepted or have an action within the budget; with ``lasting``, one
        that a model of other people accepts too.
    max_auc_loss : float, optional
        The goal the other way round: the most recourse at an AUC at most this much below that
        of no weight.
    lasting : float, optional
        Measure how strong plans must be to last with this probability when the model is trained
        again on other people, by ten fits on two fifths of the people each (``ract.calibrate``).
        ``recourse`` then gives such plans.
    keep_reference : bool
        Keep the rows of at most 100 training people at the margin of acceptance, in model files
        too, so that ``reasons`` can compare others with them.
    criterion : {"gini", "entropy", "error"}
        What a split lowers, beside the number of people without recourse. "error" is the
        paper's, with its authors' tie rules.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf
        As in scikit-learn.
    min_impurity_decrease, max_features
        As in scikit-learn.
    min_leaf_share : float, optional
        A leaf may be labelled desired only if at least this share of its people is, by weight,
        whatever recourse that would bring; splits are chosen with this in mind. 0 sets no
        floor, and None sets none either, unless ``recourse_weight`` is "auto" and ``lasting`` is
        given, which choose one. ``max_risk`` goes before it: relabelling flips every leaf that
        its limit needs.
    max_cells : int
        A feature with more distinct values than this is cut at quantiles.
    class_weight : dict or "balanced", optional
        As in scikit-learn: what errors weigh. Costs, budgets and recourse are those of the
        people, whatever their class.
    only_actionable : bool
        Use only features that may change (the paper's baseline OAF).
    monotonic_cst : array-like of int (features,) or dict, optional
        1 for a feature that may only help: raising it never turns a desired decision into an
        undesired one and never lowers the desired class's probability. -1 for one that may only
        harm, 0 for no constraint. In the order of the columns, or by their names; not for
        categorical features, and not together with ``max_risk``, which flips single leaves.
    max_risk : float, optional
        Relabel leaves until at most this share of people is without recourse.
    confidence : float, optional
        With ``max_risk``: hold people out and make the limit hold, with this confidence, for
        the population that they were drawn from, each held-out person counting once. Without
        it the limit holds for the training people.
    calibration : float
        Share of people held out when ``confidence`` is given.
    bound : {"sequence", "pac"}
        How the guarantee is obtained: by testing a fixed sequence of nested relabellings with
        an exact binomial bound (tighter), or by the paper's Proposition 3.
    relabelling : {"greedy", "exact"}
        How leaves are chosen for ``max_risk`` without ``confidence``.
    random_state : int, RandomState or None
        For feature sampling and for who is held out.

    Attributes
    ----------
    classes_ : array of shape (2,)
    desired_ : label
    ensemble_ : TreeEnsemble
    encoder_ : Encoder
        With the completed action space in ``encoder_.space``.
    cost_ : FittedCost
    recourse_risk_ : float
        Share of the training people without recourse, exact. Only when recourse had a weight
        or ``max_risk`` was given; use ``recourse_risk`` otherwise.
    recourse_weight_ : float
        The weight that was used.
    min_leaf_share_ : float
        The floor that was used; 0 for none.
    weight_search_ : WeightSearch
        With "auto": the trials, the goal and whether it was met; ``weight_search_.to_frame()``.
    reference_ : float array (people x encoded columns)
        People at the margin of acceptance, encoded. Only with ``keep_reference``.
    lasting_ : LastingCurve
        With ``lasting``: how likely plans last, by their strength; ``print`` says it in words.
    guarantee_ : Guarantee or None
    grid_error_ : float
        Of a fit on stored people: by what share of them the rank of a threshold may be off.
    feature_importances_ : array
        Share of splits by feature.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> tree = RecourseTreeClassifier(loans.actions, recourse_weight=0.1, max_depth=4)
    >>> tree.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> plain = RecourseTreeClassifier(loans.actions, recourse_weight=0, max_depth=4)
    >>> risk = plain.fit(loans.frame, loans.target).recourse_risk(loans.frame)
    >>> tree.recourse_risk_ < risk
    True
    """

    def __init__(
        self,
        actions: ActionSpace | None = None,
        *,
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
        min_samples_leaf: int | float = 1,
        min_weight_fraction_leaf: float = 0.0,
        min_impurity_decrease: float = 0.0,
        min_leaf_share: float | None = None,
        max_features: Any = None,
        max_cells: int = 256,
        class_weight: Any = None,
        only_actionable: bool = False,
        monotonic_cst: Any = None,
        max_risk: float | None = None,
        confidence: float | None = None,
        calibration: float = 0.3,
        bound: Literal["sequence", "pac"] = "sequence",
        relabelling: Literal["greedy", "exact"] = "greedy",
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
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.min_leaf_share = min_leaf_share
        self.max_features = max_features
        self.max_cells = max_cells
        self.class_weight = class_weight
        self.only_actionable = only_actionable
        self.monotonic_cst = monotonic_cst
        self.max_risk = max_risk
        self.confidence = confidence
        self.calibration = calibration
        self.bound = bound
        self.relabelling = relabelling
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RecourseTreeClassifier:
        """Grow the tree.

        Parameters
        ----------
        X : frame or array (people x features), path or pyarrow data set
            A Parquet file, or a folder of them, is read twice in batches and need not fit in
            memory; ``y`` and ``sample_weight`` are then names of its columns.
        y : array (people,)
        sample_weight : array (people,), optional
            How much each person counts, for errors, costs and recourse alike.
        """
        self._check_relabelling()
        rng = check_random_state(self.random_state)
        kept = None
        if self.confidence is None or is_stored(X):
            prepared = self._prepare(X, y, sample_weight)
            kept = prepared.kept
            self._learn(prepared, rng=rng)
        else:
            self._learn_and_calibrate(X, y, sample_weight, rng)
        return self._measure(kept, X, y, sample_weight)

    def _learn_and_calibrate(
        self, X: Any, y: Any, sample_weight: Any, rng: np.random.RandomState
    ) -> RecourseTreeClassifier:
        """Grow the tree on some people and relabel its leaves by others."""
        # Not stratified: the bounds are for people drawn at random.
        X, y = self._read_people(X, y)
        desired = self._read_target(y)
        weights = self._read_weights(sample_weight, y)
        growing, held_out = train_test_split(
            np.arange(len(y)), test_size=self.calibration, random_state=rng
        )
        growing, held_out = (rows[weights.growing[rows] > 0] for rows in (growing, held_out))
        space = space_for_part(self.actions, read_table(X), read_table(take_rows(X, growing)))
        setting = replace(self._setting, actions=space)
        prepared = self._prepare_rows(X, desired, weights, growing, setting)
        return self._learn(prepared, (take_rows(X, held_out), desired[held_out]), rng)

    def _learn(
        self,
        prepared: Prepared,
        calibrated: tuple[Any, np.ndarray] | None = None,
        rng: np.random.RandomState | None = None,
    ) -> RecourseTreeClassifier:
        """Grow the tree on a table that was read."""
        self._adopt(prepared)
        self._check_relabelling()
        rng = check_random_state(self.random_state) if rng is None else rng
        training = prepared.training
        self.recourse_weight_, self.min_leaf_share_ = self._chosen_weight(prepared.in_memory)
        rules = self._rules(training, self.recourse_weight_, self.min_leaf_share_)
        tree = self._grown(training, rules, seed=int(rng.randint(2**31 - 1)))
        self.guarantee_: Guarantee | None = None
        if self.max_risk is not None:
            tree = self._relabelled(tree, training, self.max_risk, calibrated)
        self._store(tree, training)
        return self

    def _grown(self, training: TrainingSet, rules: Rules, seed: int) -> CellTree:
        weights = training.weights
        return grow_tree(training.people, weights.growing, rules, seed, weights.people)

    def _trial_ensemble(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        tree = self._grown(training, self._rules(training, weight, floor), self._split_seed())
        if self.max_risk is not None:
            tree = self._relabelled(tree, training, self.max_risk, None)
        return TreeEnsemble.from_cell_trees([tree], training.grid, votes_needed=1)

    def _relabelled(
        self,
        tree: CellTree,
        training: TrainingSet,
        max_risk: float,
        calibrated: tuple[Any, np.ndarray] | None,
    ) -> CellTree:
        """The tree with leaves flipped until the risk is at most max_risk (Algorithm 3)."""
        if calibrated is None or self.confidence is None:
            cover = greedy_cover if self.relabelling == "greedy" else exact_cover
            return relabelled(tree, training.people, training.weights.people, max_risk, cover)
        columns = training.encoder.encode(calibrated[0])
        # Nobody has recourse by handing in a missing value, whatever it may be.
        axes = tuple(axis.without_supply() for axis in training.grid.axes)
        people = people_on(
            replace(training.grid, axes=axes), training.cost, columns, calibrated[1], self.budget,
            with_reach=True,
        )  # fmt: skip
        labels, self.guarantee_ = relabel(
            tree, training.people, training.weights.people, people,
            max_risk=max_risk, confidence=self.confidence, method=self.bound,
        )  # fmt: skip
        return replace(tree, label=labels)

    def _store(self, tree: CellTree, training: TrainingSet) -> None:
        self.ensemble_ = TreeEnsemble.from_cell_trees([tree], training.grid, votes_needed=1)
        self.__dict__.pop("recourse_risk_", None)
        if self._needs_reach:
            covered = tree.covered
            if self.max_risk is not None:
                covered = Attainment(tree, training.people).desired_reached(tree.label) > 0
            people = training.weights.people
            self.recourse_risk_ = float(people[~covered].sum() / people.sum())

    def _check_relabelling(self) -> None:
        self._check_max_risk()
        risk, confidence = self.max_risk, self.confidence
        if confidence is not None:
            if risk is None:
                raise InvalidSpec("confidence needs max_risk: the share of people it speaks of.")
            if risk == 1:
                raise InvalidSpec("confidence needs a max_risk below 1; everything meets 1.")
            if not (is_number(confidence) and 0 < confidence < 1):
                raise InvalidSpec(f"confidence must lie between 0 and 1, got {confidence!r}.")
            share = self.calibration
            if not (isinstance(share, (float, np.floating)) and 0 < share < 1):
                raise InvalidSpec(f"calibration must be a share between 0 and 1, got {share!r}.")
        if self.bound not in ("sequence", "pac"):
            raise InvalidSpec(f"bound must be 'sequence' or 'pac', got {self.bound!r}.")
        if self.relabelling not in ("greedy", "exact"):
            raise InvalidSpec(f"relabelling must be 'greedy' or 'exact', got {self.relabelling!r}.")

    def predict_proba(self, X: Any) -> np.ndarray:
        """Share of each class in a person's leaf, held on the decision's side of one half."""
        leaf = self.apply(X)
        return self._as_probabilities(self.ensemble_.value[leaf], self.ensemble_.label[leaf] == 1)

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each person, as a node of ``ensemble_``."""
        matrix = self._matrix(X)
        return self.ensemble_.apply(matrix)[:, 0]

    def desired_reached(self, X: Any, budget: float | None = None) -> np.ndarray:
        """How many desired leaves each person can reach within the budget.

        Parameters
        ----------
        X : frame or array
        budget : float, optional
            That of training by default.
        """
        matrix = self._matrix(X, undeclared=False)
        budget = self.budget if budget is None else budget
        ensemble, axes = self.ensemble_, self.encoder_.axes
        splits = ensemble.feature >= 0
        grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        nobody = np.zeros(len(matrix), np.uint8)  # classes play no part
        people = people_on(grid, self.cost_, matrix.T, nobody, budget, with_reach=True)
        return Attainment(ensemble.on_grid(grid)[0], people).desired_reached(ensemble.label)

    def recourse_risk(self, X: Any, budget: float | None = None) -> float:
        """Share of people without an action to the desired class within the budget, exact."""
        return float(np.mean(self.desired_reached(X, budget) == 0))

    def get_depth(self) -> int:
        """Depth of the tree."""
        check_is_fitted(self)
        return int(self.ensemble_.depth.max())

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return len(self.ensemble_.leaves)


def attainment(
    ensemble: TreeEnsemble, encoder: Encoder, cost: Any, budget: float, matrix: np.ndarray
) -> Attainment:
    """Who of some encoded people attains which leaf of a single tree within a budget."""
    splits = ensemble.feature >= 0
    grid = Grid.from_splits(encoder.axes, ensemble.feature[splits], ensemble.threshold[splits])
    nobody = np.zeros(len(matrix), np.uint8)
    people = people_on(grid, cost, matrix.T, nobody, budget, with_reach=True)
    return Attainment(ensemble.on_grid(grid)[0], people)

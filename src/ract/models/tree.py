"""The recourse-aware classification tree."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, Self, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidSpec
from ract._utils.typing import ColumnLike, TableLike
from ract._utils.validation import INNER_SHARE, NONE, one_of
from ract.data.frames import read_table, take_rows
from ract.data.grid import Grid
from ract.models.fit_state import TreeState
from ract.models.guarantee import Guarantee, relabel
from ract.models.labelled import LabelledTreesMixin
from ract.models.parameters import desired_label, parameter, split_seed, with_parameters
from ract.models.table import Prepared, Source, binary_classes, is_stored, prepare_rows, weights_of
from ract.trees.cover import Attainment, exact_cover, greedy_cover, own_leaves, relabelled
from ract.trees.ensemble import TreeEnsemble
from ract.trees.grower import CellTree, GrowRules, People, from_cell_trees, grow_tree, to_cell_trees
from ract.trees.training import TrainingSet, people_on, space_for_part

# How leaves are chosen for relabelling, without confidence and with it.
PLAIN, CONFIDENT = ("greedy", "exact"), ("sequence", "pac")
# A table of people, and who of them has the desired class.
HeldOut: TypeAlias = "tuple[TableLike, np.ndarray]"
# Fits by which a cut is chosen that depends on people's scores.
N_FOLDS = 5


@with_parameters
class RecourseTreeClassifier(LabelledTreesMixin, BaseEstimator):
    """A classification tree, trained so that refused people have recourse.

    It is grown top down like CART, but each split and its labels also take into account how many
    people are left without an affordable action towards the desired class (Algorithm 1 of the
    paper). Leaves can then be relabelled until at most a stated share of people is without recourse
    (Algorithm 3), with a guarantee for unseen people.

    Parameters
    ----------
    actions : ActionSpace, optional
        What people may change. Without one everything may change freely.
    desired : label, optional
        The class that people want; needed unless the action space names it.
    cost : str or Cost
        Effort of an action: "percentile", "relative", "kernel-percentile", "range", "std", "mad",
        or an object, such as ``PercentileCost(exact=True)`` or one of your own whose norm is
        "max".
    budget : float, optional
        Largest acceptable cost of an action. By default .3, or 1 if the action space limits changes
        relative to the person, since limits take the place of a budget.
    recourse_weight : float
        How many misclassified people a person without recourse counts for. 0 gives a plain model
        and skips all work on recourse. ``TunedRecourseClassifierCV`` finds the weight that a goal
        needs.
    lasting : float, optional
        Measure how strong plans must be to last with this probability when the model is trained
        again on other people, by ten fits on two fifths of the people each (``ract.calibrate``).
        ``recourse`` then gives such plans.
    criterion : {"gini", "entropy", "error"}
        What splits lower in addition to the number of people without recourse. "error" is the
        criterion of the paper; of equal splits the first wins.
    max_depth, min_samples_leaf, max_features
        As in scikit-learn.
    min_leaf_share : float, optional
        A leaf may be labelled desired only if at least this share of its people is, by weight, even
        if it would give recourse; splits take this into account. None sets no floor.
        ``min_recourse`` takes precedence: relabelling may flip any leaf.
    max_bins : int
        A feature with more distinct values than this is cut at quantiles.
    class_weight : dict or "balanced", optional
        As in scikit-learn: the weight of errors. Costs, budgets and recourse do not depend on it.
    monotonic : {"auto", "all", "none"}, array-like of int (features,) or dict, optional
        Monotonic constraints. "all": doing more of what the action space allows never harms,
        whatever this costs in accuracy. For features that may only be raised, raising them never
        turns a desired decision into an undesired one and never lowers the probability of the
        desired class; for those that may only be lowered, lowering them never does. "auto" keeps
        the constraints that together cost at most 0.005 of AUC, on people held out inside the
        training data. Or by feature, in the order of the columns or by name: 1 if raising the
        feature never harms, -1 if lowering it never harms, 0 for no constraint. Not for categorical
        features, and not together with ``min_recourse``, which flips single leaves.
    min_recourse : float, optional
        Relabel leaves until at least this share of people is accepted or has recourse.
    confidence : float, optional
        With ``min_recourse``: hold people out and make the limit hold, with this confidence, for
        the population that they were drawn from, each held-out person counting once. Without
        it the limit holds for the training people.
    validation_fraction : float
        Share of people held out when ``confidence`` is given.
    relabelling : {"auto", "greedy", "exact", "sequence", "pac"}
        How leaves are chosen for ``min_recourse``. Without ``confidence``: greedily, or at the
        least cost ("exact"). With it: by testing a fixed sequence of nested relabellings with an
        exact binomial bound, or by the paper's Proposition 3 ("pac"). "auto" is "greedy" and
        "sequence", which is tighter than "pac".
    threshold : float, optional
        Decide for the desired class from this share of desired people in a leaf on. By default
        labels decide, as in the paper. While growing, recourse is about the same decision.
    approval_rate : float, optional
        Choose the threshold so that about this share of people gets the desired class, by shares
        of leaves that were grown without them (five folds).
    max_bad_rate : float, optional
        Choose the lowest threshold at which, in the same way, at most this share of those who get
        the desired class are undesired.
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
        or ``min_recourse`` was given; use ``recourse_risk`` otherwise.
    recourse_weight_ : float
        The weight that was used.
    min_leaf_share_ : float
        The floor that was used; 0 for none.
    reference_ : float array (people x encoded columns)
        People at the margin of acceptance, encoded. Only from a file that keeps them.
    threshold_ : float
        The share of a leaf that is needed. Only with ``threshold``, ``approval_rate`` or
        ``max_bad_rate``.
    lasting_ : LastingCurve
        With ``lasting``: how likely plans last, by their strength; ``print`` says it in words.
    monotonic_ : dict
        Features and their directions, where ``monotonic`` is "auto", "all" or "none".
    guarantee_ : Guarantee or None
    grid_error_ : float
        Only after a fit on Parquet or Dask: the share of people by which the rank of a threshold
        may be wrong.
    feature_importances_ : array
        Share of splits by feature.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from ract import load_loans
    >>> loans = load_loans(n_people=1000)
    >>> tree = RecourseTreeClassifier(loans.actions, recourse_weight=0.1, max_depth=4)
    >>> tree.fit(loans.frame, loans.target).predict(loans.frame.head(3))
    array(['approved', 'approved', 'refused'], dtype=object)
    >>> plain = RecourseTreeClassifier(loans.actions, recourse_weight=0, max_depth=4)
    >>> risk = plain.fit(loans.frame, loans.target).recourse_risk(loans.frame)
    >>> tree.recourse_risk_ < risk
    True
    """

    confidence: float | None = parameter(NONE, INNER_SHARE, default=None)
    validation_fraction: float = parameter(INNER_SHARE, default=0.3)
    relabelling: Literal["auto", "greedy", "exact", "sequence", "pac"] = parameter(
        one_of("auto", *PLAIN, *CONFIDENT), default="auto"
    )

    def fit(self, X: Source, y: ColumnLike, sample_weight: ColumnLike | None = None) -> Self:
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
        if self.confidence is None:
            return self.fit_prepared(self.prepare(X, y, sample_weight))
        self.check_parameters()
        if is_stored(X):
            raise InvalidSpec(
                "confidence needs the whole table in memory, to hold people out; leave it out and "
                "certify the model on other people."
            )
        rng = check_random_state(self.random_state)
        prepared, held_out = self._prepare_apart(X, y, sample_weight, rng)
        seed = int(rng.randint(2**31 - 1))
        self.choose_monotonic(prepared.training)
        return self._finish(self._state(prepared, seed, held_out), prepared.in_memory)

    def _prepare_apart(
        self,
        X: Source,
        y: ColumnLike,
        sample_weight: ColumnLike | None,
        rng: np.random.RandomState,
    ) -> tuple[Prepared, HeldOut]:
        """A part of the people to grow the tree on, and the others, by whom it is relabelled."""
        table, labels = self._checked_table(X, y)
        spec, classes = self.table_spec, binary_classes(labels)
        wanted = desired_label(self.desired, self.actions, classes)
        weights = weights_of(sample_weight, labels, self.class_weight)
        # Not stratified: the bounds are for people drawn at random.
        growing, held_out = train_test_split(
            np.arange(len(labels)), test_size=self.validation_fraction, random_state=rng
        )
        growing, held_out = (rows[weights.growing[rows] > 0] for rows in (growing, held_out))
        part = read_table(take_rows(table, growing))
        space = space_for_part(self.actions, read_table(table), part)
        spec = replace(spec, actions=space)
        names = getattr(self, "feature_names_in_", None)
        prepared = prepare_rows(spec, table, labels, classes, wanted, weights, growing, names)
        desired = (labels[held_out] == wanted).astype(np.uint8)
        return prepared, (take_rows(table, held_out), desired)

    def _grown(self, prepared: Prepared) -> TreeState:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        return self._state(prepared, seed, None)

    def _state(self, prepared: Prepared, seed: int, held_out: HeldOut | None) -> TreeState:
        """Grow the tree and relabel its leaves, by those who are held out if there are some."""
        training, weight, floor = prepared.training, float(self.recourse_weight), self._floor
        tree, cut = self._cut_tree(training, weight, floor, seed)
        guarantee = None
        if held_out is not None:
            tree, guarantee = self._guaranteed(tree, training, held_out)
        elif self.min_recourse is not None:
            tree = self._relabelled(tree, training)
        return TreeState(
            **prepared.state,
            ensemble=from_cell_trees([tree], training.grid, votes_needed=1),
            recourse_weight=weight,
            min_leaf_share=floor,
            threshold=cut,
            guarantee=guarantee,
            recourse_risk=self._risk(tree, training),
        )

    def scores_in_cells(self, training: TrainingSet, people: People) -> np.ndarray:
        """Scores of people by a tree of the training set without a weight."""
        rules = self._rules(training, 0.0, 0.0, None)
        tree = _grow(training, rules, split_seed(self.random_state))
        return tree.share[own_leaves(tree, people)]

    def ensemble_on(self, training: TrainingSet, weight: float, floor: float) -> TreeEnsemble:
        """Grow the tree with another recourse weight and floor than the estimator's."""
        tree, _ = self._cut_tree(training, weight, floor, split_seed(self.random_state))
        if self.min_recourse is not None:
            tree = self._relabelled(tree, training)
        return from_cell_trees([tree], training.grid, votes_needed=1)

    def _cut_tree(
        self, training: TrainingSet, weight: float, floor: float, seed: int
    ) -> tuple[CellTree, float | None]:
        """The tree, its leaves labelled by the cut if there is one, and the cut."""
        rule = self.cut_rule
        if not rule:
            return _grow(training, self._rules(training, weight, floor, None), seed), None

        def chosen(rules: GrowRules) -> float:
            if rule.threshold is not None:
                return rule.threshold
            scores = _shares_apart(training, rules, seed, split_seed(self.random_state))
            return rule.choose(scores, training.people.desired, training.weights.people)

        # A plain tree tells about where the cut will be, so that recourse can be about it.
        about = chosen(self._rules(training, 0.0, 0.0, None))
        rules = self._rules(training, weight, floor, about)
        tree, cut = _grow(training, rules, seed), chosen(rules)
        return replace(tree, label=(tree.share >= cut).astype(np.uint8)), cut

    def _relabelled(self, tree: CellTree, training: TrainingSet) -> CellTree:
        """The tree with leaves flipped until enough people have recourse (Algorithm 3)."""
        cover = exact_cover if self.relabelling == "exact" else greedy_cover
        return relabelled(tree, training.people, training.weights.people, self._max_risk, cover)

    def _guaranteed(
        self, tree: CellTree, training: TrainingSet, held_out: HeldOut
    ) -> tuple[CellTree, Guarantee]:
        """The tree with leaves flipped until enough people have recourse, by held-out people."""
        columns = training.encoder.encode(held_out[0])
        # Nobody has recourse by supplying a missing value, whatever it may be.
        axes = tuple(axis.without_supply() for axis in training.grid.axes)
        grid = replace(training.grid, axes=axes)
        people = people_on(grid, training.cost, columns, held_out[1], self.budget_, with_reach=True)
        assert self.confidence is not None
        labels, guarantee = relabel(
            tree,
            training.people,
            training.weights.people,
            people,
            max_risk=self._max_risk,
            confidence=self.confidence,
            method="pac" if self.relabelling == "pac" else "sequence",
        )
        return replace(tree, label=labels), guarantee

    def _risk(self, tree: CellTree, training: TrainingSet) -> float | None:
        """Share of the training people without recourse, where reach is known."""
        if not self._needs_reach:
            return None
        covered = tree.covered
        if self.min_recourse is not None or self.cut_rule:
            covered = Attainment(tree, training.people).desired_reached(tree.label) > 0
        people = training.weights.people
        return float(people[~covered].sum() / people.sum())

    def check_parameters(self) -> None:
        """Refuse parameters that are invalid, alone or together."""
        super().check_parameters()
        if self.confidence is not None and not self.min_recourse:
            raise InvalidSpec(
                "confidence needs min_recourse above 0: the share of people it speaks of, got "
                f"{self.min_recourse!r}."
            )
        fits = ("auto", *(PLAIN if self.confidence is None else CONFIDENT))
        if self.relabelling not in fits:
            state = "without" if self.confidence is None else "with"
            raise InvalidSpec(
                f"relabelling must be one of {', '.join(map(repr, fits))} {state} confidence, got "
                f"{self.relabelling!r}."
            )

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Share of each class in a person's leaf."""
        leaf = self.apply(X)
        return self._as_probabilities(self.ensemble_.value[leaf])

    def apply(self, X: TableLike) -> np.ndarray:
        """Leaf of each person, as a node of ``ensemble_``."""
        return super().apply(X)[:, 0]

    def desired_reached(self, X: TableLike, budget: float | None = None) -> np.ndarray:
        """How many desired leaves each person can reach within the budget.

        Parameters
        ----------
        X : frame or array
        budget : float, optional
            That of training by default.
        """
        matrix = self._matrix(X, undeclared=False)
        budget = self.budget_ if budget is None else budget
        ensemble, axes = self.ensemble_, self.encoder_.axes
        splits = ensemble.feature >= 0
        grid = Grid.from_splits(axes, ensemble.feature[splits], ensemble.threshold[splits])
        nobody = np.zeros(len(matrix), np.uint8)  # classes play no part
        people = people_on(grid, self.cost_, matrix.T, nobody, budget, with_reach=True)
        return Attainment(to_cell_trees(ensemble, grid)[0], people).desired_reached(ensemble.label)

    def recourse_risk(self, X: TableLike, budget: float | None = None) -> float:
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


def _shares_apart(training: TrainingSet, rules: GrowRules, seed: int, fold_seed: int) -> np.ndarray:
    """Everyone's share of desired people in a leaf of a tree that was grown without them."""
    desired, weights = training.people.desired, training.weights
    n_folds = max(2, min(N_FOLDS, int(np.bincount(desired, minlength=2).min())))
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=fold_seed)
    shares = np.empty(len(desired))
    for _, held_out in folds.split(desired, desired):
        growing, people = weights.growing.copy(), weights.people.copy()
        growing[held_out] = people[held_out] = 0
        tree = grow_tree(training.people, growing, rules, seed, people)
        shares[held_out] = tree.share[own_leaves(tree, training.people)[held_out]]
    return shares


def _grow(training: TrainingSet, rules: GrowRules, seed: int) -> CellTree:
    weights = training.weights
    return grow_tree(training.people, weights.growing, rules, seed, weights.people)

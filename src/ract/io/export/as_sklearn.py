"""Genuine scikit-learn estimators with the same decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.io.export.source import Source, label_kind

UNDEFINED = -2  # scikit-learn's column and threshold of a leaf


def to_sklearn(model: object, people: TableLike | None = None) -> ClassifierMixin:
    """A scikit-learn tree, forest or booster that decides as a model does.

    It is for drawing, for SHAP, and for converters that support scikit-learn. A tree becomes a
    DecisionTreeClassifier with the same probabilities; a forest becomes a RandomForestClassifier
    whose leaves contain their votes, so that ``predict_proba`` gives shares of votes (a little less
    for an even number of trees, so that half of the votes is not enough). An imported forest that
    compares mean shares keeps these shares. Trees whose values add up become a
    GradientBoostingClassifier, whose probabilities are the logistic curve of the deciding score.
    With text columns it is a Pipeline of a ColumnTransformer and one of these.

    scikit-learn rounds people to single precision. Decisions are equal for everyone whose numbers
    are exact in single precision, such as whole numbers up to 16,777,216; for others they are the
    decisions on the rounded numbers. Missing numbers (NaN) go where they go in the model; a model
    of text columns with missing values is refused, and a sum with missing values, which
    scikit-learn's booster of such trees does not take.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model
        A model that compares a mean with another cut-off than one half is refused.
    people : frame or array, optional
        People who are counted in the nodes that they pass, for tools that weight branches by their
        samples; each leaf counts at least one. Without them every leaf counts one.

    Returns
    -------
    DecisionTreeClassifier, RandomForestClassifier, GradientBoostingClassifier or Pipeline

    Examples
    --------
    >>> from ract import RecourseForestClassifier
    >>> X = np.arange(40.0).reshape(20, 2)
    >>> forest = RecourseForestClassifier(n_estimators=5, desired=True, random_state=0)
    >>> forest = forest.fit(X, X[:, 0] > 15)
    >>> exported = to_sklearn(forest)
    >>> type(exported).__name__, bool((exported.predict(X) == forest.predict(X)).all())
    ('RandomForestClassifier', True)
    """
    source = Source.of(model)
    source.refuse_singles("scikit-learn")
    source.refuse_missing_categories("scikit-learn")
    ensemble = source.ensemble
    estimator = _unfitted(source)
    whole = estimator
    place = source.encoder.feature_of_column
    if source.categorical:
        prepare, place = _preparation(source)
        whole = Pipeline([("prepare", prepare), ("model", estimator)])
    whole.fit(_two_rows(source), source.classes)
    counts = _counts(source, people)
    alone = isinstance(estimator, DecisionTreeClassifier)
    trees = [estimator] if alone else np.ravel(estimator.estimators_)
    values = _values(source, counts)
    for tree, part in zip(trees, ensemble.slices, strict=True):
        _set_tree(tree, source, part, place, counts, values)
    return whole


def _unfitted(source: Source) -> Any:
    """The estimator of scikit-learn that decides by such trees."""
    ensemble, n_trees = source.ensemble, source.ensemble.n_trees
    if ensemble.combine == "sum":
        if source.has_missing:
            raise InvalidSpec(
                "This model adds up trees that know missing values, which scikit-learn's "
                "GradientBoostingClassifier does not take; export with to_onnx or to_json."
            )
        return GradientBoostingClassifier(
            n_estimators=n_trees, learning_rate=1.0, init="zero", random_state=0
        )
    if ensemble.combine == "mean" and ensemble.against is None:
        raise InvalidSpec(
            f"This model compares a mean with {ensemble.cutoff:g}, which scikit-learn's "
            "forests do not; export with to_onnx or to_json."
        )
    if n_trees == 1:
        return DecisionTreeClassifier(random_state=0)
    return RandomForestClassifier(n_trees, bootstrap=False, random_state=0)


def _values(source: Source, counts: np.ndarray) -> np.ndarray:
    """What scikit-learn keeps of each node (nodes x outputs): shares of classes, or a score."""
    ensemble = source.ensemble
    if ensemble.combine == "sum":
        # The first tree takes what the sum starts from. A tie wins, for the first class too.
        start = ensemble.base - ensemble.cutoff
        value = ensemble.value.copy()
        value[ensemble.slices[0]] += start
        value = _summed_up(source, value * counts) / counts
        if source.k == 1:
            return value[:, None]
        return np.nextafter(-value, -np.inf)[:, None]
    both = np.empty((len(counts), 2))
    if ensemble.combine == "mean" and ensemble.against is not None:
        each = (ensemble.value, ensemble.against)
        of_desired, other = (_summed_up(source, one * counts) / counts for one in each)
    else:
        alone = ensemble.n_trees == 1
        desired = source.held_shares() if alone else _votes_as_shares(source)
        of_desired = _summed_up(source, desired * counts) / counts
        other = 1 - of_desired
    both[:, source.k], both[:, 1 - source.k] = of_desired, other
    return both


def _two_rows(source: Source) -> Any:
    """Two rows of the model's table, so that fitting sets columns and classes."""
    first = {feature.name: feature.categories[0] for feature in source.categorical}
    columns = {name: [first.get(name, 0.0)] * 2 for name in source.encoder.feature_names}
    frame = pd.DataFrame(columns)
    return frame if source.named else frame.to_numpy()


def _preparation(source: Source) -> tuple[ColumnTransformer, np.ndarray]:
    """One-hot encoding of text columns, and where each encoded column ends up."""
    encoder = source.encoder
    words = [feature.name for feature in source.categorical]
    categories = []
    for feature in source.categorical:
        text = label_kind(feature.categories, f"Feature {feature.name!r}") == "text"
        # scikit-learn wants numbers in their order.
        categories.append(list(feature.categories) if text else sorted(feature.categories))
    plain = [name for name in encoder.feature_names if name not in words]
    prepare = ColumnTransformer(
        [
            ("words", OneHotEncoder(categories=categories, sparse_output=False), words),
            ("numbers", "passthrough", plain),
        ],
        sparse_threshold=0,
    )
    made: list[Any] = [(f, c) for f, values in zip(words, categories, strict=True) for c in values]
    position = {key: k for k, key in enumerate([*made, *plain])}
    place = []
    for axis in encoder.axes:
        feature = axis.feature
        if feature.name in words:
            place += [position[feature.name, category] for category in feature.categories]
        else:
            place += [position[name] for name in feature.table_columns]
    return prepare, np.array(place)


def _votes_as_shares(source: Source) -> np.ndarray:
    """What a leaf gives the desired class, so that a mean above one half is enough votes.

    A vote counts 1 and none counts 0 where more than half of an odd number decides. Otherwise one
    of the two is shifted until one half lies midway between the last number of votes that is too
    few and the first that is enough: nothing depends on how a tie is broken or rounded.
    """
    ensemble = source.ensemble
    middle = (int(ensemble.cutoff) - 0.5) / ensemble.n_trees
    vote = 1.0 if middle <= 0.5 else 0.5 / middle
    none = (0.5 - middle) / (1 - middle) if middle <= 0.5 else 0.0
    return np.where(ensemble.label == 1, vote, none)


def _counts(source: Source, people: TableLike | None) -> np.ndarray:
    """How many people pass each node."""
    ensemble = source.ensemble
    n_nodes = len(ensemble.feature)
    if people is None:
        counts = np.zeros(n_nodes, np.int64)
    else:
        leaves = ensemble.apply(source.encoder.matrix(people))
        counts = np.bincount(leaves.ravel(), minlength=n_nodes)
    counts[ensemble.leaves] = np.maximum(counts[ensemble.leaves], 1)
    return _summed_up(source, counts.astype(np.float64)).astype(np.int64)


def _summed_up(source: Source, at_leaves: np.ndarray) -> np.ndarray:
    """Sums over the leaves below each node."""
    ensemble = source.ensemble
    total = np.where(ensemble.feature < 0, at_leaves, 0.0)
    for node in np.flatnonzero(ensemble.feature >= 0)[::-1]:  # children come after their parents
        total[node] = total[ensemble.left[node]] + total[ensemble.right[node]]
    return total


def _set_tree(
    tree: Any,
    source: Source,
    part: slice,
    place: np.ndarray,
    counts: np.ndarray,
    values: np.ndarray,
) -> None:
    """Give a fitted scikit-learn tree other nodes: the one place that knows how they are kept."""
    ensemble = source.ensemble
    values, leaf = values[part], ensemble.feature[part] < 0
    kind, arguments, state = tree.tree_.__reduce__()
    nodes = np.zeros(len(leaf), dtype=state["nodes"].dtype)
    for name, child in (("left_child", ensemble.left), ("right_child", ensemble.right)):
        nodes[name] = np.where(leaf, -1, child[part] - part.start)
    nodes["feature"] = np.where(leaf, UNDEFINED, place[ensemble.feature[part]])
    nodes["threshold"] = np.where(leaf, UNDEFINED, _singles(ensemble.threshold[part]))
    nodes["missing_go_to_left"] = ensemble.sends_left[part] & ~leaf
    nodes["n_node_samples"] = counts[part]
    nodes["weighted_n_node_samples"] = counts[part]
    nodes["impurity"] = 2 * values[:, 0] * values[:, 1] if values.shape[1] == 2 else 0.0
    depth = int(ensemble.depth[part].max())
    fresh = kind(*arguments)
    fresh.__setstate__(
        state
        | {"max_depth": depth, "node_count": len(leaf), "nodes": nodes, "values": values[:, None]}
    )
    tree.tree_ = fresh


def _singles(threshold: np.ndarray) -> np.ndarray:
    """The largest singles that are not above some doubles: singles compare alike with both."""
    with np.errstate(over="ignore"):
        single = threshold.astype(np.float32)
    above = single.astype(np.float64) > threshold
    single[above] = np.nextafter(single[above], np.float32(-np.inf))
    return single.astype(np.float64)

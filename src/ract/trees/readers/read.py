"""From a fitted model and a table of people to an encoder and a TreeEnsemble on its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import Label, TableLike
from ract._utils.validation import POSITIVE_SHARE, check_value
from ract.data.actions import ActionSpace, Feature, warn_of_unrestricted
from ract.data.encoder import Encoder
from ract.data.frames import is_frame, read_table
from ract.trees.readers.agree import check_decisions, check_scores
from ract.trees.readers.from_catboost import read_catboost
from ract.trees.readers.from_lightgbm import read_lightgbm
from ract.trees.readers.from_own import own_ensemble, read_own
from ract.trees.readers.from_sklearn import preparation_of, read_sklearn
from ract.trees.readers.from_xgboost import read_xgboost
from ract.trees.readers.layout import lay_out
from ract.trees.readers.model import FittedTrees, OwnModel, TreeModel, is_own, takes_threshold
from ract.trees.readers.pullback import pull_back
from ract.trees.readers.reading import SUPPORTED, LibraryTrees
from ract.trees.readers.scoring import comparable, cut_at, ensemble_of, ensembles_among
from ract.trees.readers.seen import Seen
from ract.trees.readers.steps import TracedColumn, first_columns, follow, unwrapped
from ract.trees.readers.wrappers import Cut, WrapperRule, wrapper_rule


def read_model(
    model: object,
    people: TableLike,
    actions: ActionSpace | None = None,
    *,
    desired: Label | None = None,
    threshold: float | None = None,
    two_classes: bool = True,
) -> TreeModel:
    """Read a fitted classifier of trees, or a regressor with a threshold, exactly.

    Scores and decisions are those of the model's own library for every table that the model
    takes, down to the last bit: thresholds are carried back through the steps of a pipeline
    and the library's rounding, and scores are added up in the library's order and precision.
    (A scikit-learn forest that predicts in several threads adds up in no fixed order; the
    scores here are those of one thread.) Decisions on up to 1000 of the people are compared with
    the model's own ``predict``, and a model that differs is refused.

    Parameters
    ----------
    model : fitted classifier
        scikit-learn's DecisionTreeClassifier, ExtraTreeClassifier, RandomForestClassifier,
        ExtraTreesClassifier, GradientBoostingClassifier or HistGradientBoostingClassifier,
        LightGBM's LGBMClassifier or Booster, XGBoost's XGBClassifier, XGBRFClassifier or
        Booster, CatBoost's CatBoostClassifier, or a model of ract, alone or at the end of a
        Pipeline whose steps work column by column, or in a GridSearchCV; all but models of ract
        also in a CalibratedClassifierCV (of one model), a FixedThresholdClassifier or a
        TunedThresholdClassifierCV.
    people : frame or array
        A complete table like the one that the model was trained on; kinds, bounds and categories
        are inferred from it.
    actions : ActionSpace, optional
        By default those of a model of ract; for other models kinds are inferred from the table and
        every feature may change. If nothing was declared, an ``AssumedActions`` warning says so. A
        column that a model takes as categories is categorical. Bounds that a step of the pipeline
        rejects (Box-Cox takes nothing below zero) are moved to where it takes values.
    desired : label, optional
        The class that people want: that of the action space, or else the second one.
    threshold : float, optional
        Decide by a probability of the desired class of at least this, not by the model's
        own rule; of a forest of ract by at least this share of votes, of a booster of ract by
        that of the score that decides. Of a regressor, decide by a prediction of at least this,
        or of at most this where desired is "at most".
    two_classes : bool
        Refuse a model of more classes, and regressors.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> people = np.random.default_rng(0).normal(size=(100, 3))
    >>> income_is_high = people[:, 0] > 0.1
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(people, income_is_high)
    >>> model = read_model(forest, people, ActionSpace([Feature("x0")]))
    >>> bool((model.score(people) == forest.predict_proba(people)[:, 1]).all())
    True
    """
    if not isinstance(model, type) and hasattr(model, "get_params"):
        check_is_fitted(model)
    if desired is None and actions is not None:
        desired = actions.desired
    alone: tuple[list[TransformerMixin], Any] = [], model
    steps, last = alone if is_own(model) else unwrapped(model)
    rule, is_ours = WrapperRule() if last is model else wrapper_rule(model), is_own(last)
    if is_ours:
        _check_own(last, rule, desired, threshold, alone=not steps)
        if not steps:
            return _own(last, people, actions, threshold)
        desired = last.desired_
    reading = read_own(last) if is_ours else _read(last, None if steps else people)
    if two_classes:
        _refuse_others(reading, type(last).__name__)
    several, plain = reading.scores is not None, rule == WrapperRule()
    if (several or reading.regresses) and not plain:
        raise InvalidSpec(f"{type(model).__name__} is supported around models of two classes.")
    reading = reading if is_ours else rule.applied(reading)
    k = _position(desired, reading.classes)
    cut = rule.cut
    if reading.regresses:
        cut = cut_at(threshold, k)
    elif threshold is not None:
        cut = Cut(reading.classes[k], _checked(threshold))
    reading = reading if several else comparable(reading, k, cut)
    names, framed = read_table(people).names, is_frame(people)
    columns = _columns(steps, last, reading, names, framed)
    encoder = _encoder(people, actions, names, columns)
    _check_categories(encoder, columns)
    preparation = preparation_of(last)
    seen = Seen(
        encoder, people, columns, reading, steps if preparation is None else [*steps, preparation]
    )
    layout = lay_out(reading, pull_back(seen))
    if several:
        ensembles = ensembles_among(reading, layout, k, None if cut is None else cut.least)
    else:
        ours = own_ensemble(last, layout) if is_ours else ensemble_of(reading, layout, k, cut)
        ensembles = (ours,)
    result = TreeModel(
        encoder=seen.tightened(),
        ensemble=ensembles[0],
        classes=reading.classes,
        desired=reading.classes[k],
        n_features=len(names),
        link=None if several else reading.link,
        also=ensembles[1:],
        compares_rounded=reading.compares_rounded,
    )
    if not is_ours:
        check_scores(result, seen, k, type(last).__name__)
    check_decisions(model, result, seen.people, seen.matrix, threshold)
    return result


def _check_own(
    model: FittedTrees,
    rule: WrapperRule,
    desired: Label | None,
    threshold: float | None,
    *,
    alone: bool,
) -> None:
    """Refuse to turn one of ract's own models into another one."""
    if rule != WrapperRule() or (threshold is not None and not (alone and takes_threshold(model))):
        raise InvalidSpec(
            f"{type(model).__name__} decides by a rule of its own and takes no threshold; a forest "
            "or booster of ract does, and a model of another library when it is read."
        )
    if desired is not None and desired != model.desired_:
        raise InvalidSpec(
            f"desired is {desired!r}, but the model was trained for "
            f"{np.asarray(model.desired_).item()!r}."
        )


def _own(
    model: FittedTrees, people: TableLike, actions: ActionSpace | None, threshold: float | None
) -> TreeModel:
    encoder, ensemble = model.encoder_, model.ensemble_
    if threshold is not None:
        ensemble = ensemble.at_threshold(_checked(threshold))
    if actions is None:
        if getattr(model, "actions", encoder.space) is None:  # an imported model has none
            warn_of_unrestricted(encoder.space)
    else:
        encoder = Encoder(people, actions)
        if encoder.column_names != model.encoder_.column_names:
            raise InvalidSpec(
                f"The action space encodes the table as {listing(encoder.column_names)}, the model "
                f"was trained on {listing(model.encoder_.column_names)}."
            )
    return OwnModel(
        encoder, ensemble, model.classes_, model.desired_, model.n_features_in_, model=model
    )


def _read(model: Any, people: TableLike | None) -> LibraryTrees:
    """The reading of the library that a model comes from."""
    libraries = {kind.__module__.split(".")[0] for kind in type(model).__mro__}
    is_booster, reading = type(model).__name__ == "Booster", None
    if "lightgbm" in libraries and (is_booster or hasattr(model, "booster_")):
        reading = read_lightgbm(model, people)
    elif "xgboost" in libraries and (is_booster or hasattr(model, "get_booster")):
        reading = read_xgboost(model, people)
    elif "catboost" in libraries and hasattr(model, "classes_"):
        reading = read_catboost(model, people)
    elif "sklearn" in libraries:
        reading = read_sklearn(model)
    if reading is None:
        raise InvalidSpec(f"{type(model).__name__} cannot be read; supported are {SUPPORTED}.")
    return reading


def _columns(
    steps: Sequence[TransformerMixin],
    model: BaseEstimator,
    reading: LibraryTrees,
    names: Sequence[str],
    framed: bool,
) -> list[TracedColumn]:
    """Where each column that the model sees comes from in the user's table."""
    if steps:
        columns = first_columns(steps, names, framed)
        for step in steps:
            columns = follow(step, columns)
    else:
        if reading.n_columns != len(names):
            raise InvalidData(
                f"The model was trained on {reading.n_columns} columns, the table has {len(names)}."
            )
        if framed and reading.names is not None and reading.names != tuple(names):
            raise InvalidData(
                f"The model was trained on the columns {listing(reading.names, 30)}, in this "
                f"order; the table has {listing(names, 30)}."
            )
        columns = [TracedColumn(j) for j in range(len(names))]
    if preparation_of(model) is not None:  # puts the columns that it takes as categories first
        is_category = np.asarray(model.is_categorical_)
        columns = [columns[j] for j in np.argsort(~is_category, kind="stable")]
        categorical = set(range(int(is_category.sum())))
    else:
        categorical = reading.categorical
    return [
        replace(column, by_category=True, known=reading.known.get(j, column.known))
        if j in categorical
        else column
        for j, column in enumerate(columns)
    ]


def _encoder(
    people: TableLike,
    actions: ActionSpace | None,
    names: Sequence[str],
    columns: Sequence[TracedColumn],
) -> Encoder:
    """An encoder that takes as categories whatever the model does."""
    table = read_table(people)
    space = ActionSpace.infer(table, limits=None) if actions is None else actions
    completed = space.complete(table)
    features = {feature.name: feature for feature in space}
    in_groups = {column for feature in space for column in feature.columns}
    for name in dict.fromkeys(names[column.position] for column in columns if column.by_category):
        if name in in_groups:
            continue
        given = features.get(name, Feature(name, change="fixed"))
        if completed[name].kind in ("categorical", "binary"):
            continue
        if actions is not None and given.kind is not None:
            raise InvalidSpec(
                f"Feature {name!r} is declared {given.kind!r}, but the model takes its values as "
                "categories; declare it 'categorical'."
            )
        given = given if actions is not None else given.blank()
        features[name] = replace(given, kind="categorical")
    return Encoder(table, space.with_features(features.values()))


def _check_categories(encoder: Encoder, columns: Sequence[TracedColumn]) -> None:
    """Refuse categories on which a step would raise an error."""
    features = {feature.name: feature for feature in encoder.space}
    for column in columns:
        feature = features.get(encoder.feature_names[column.position])
        if column.known is None or feature is None:
            continue
        unknown = [value for value in feature.categories if value not in column.known]
        if unknown:
            raise InvalidData(
                f"Feature {feature.name!r} has {listing(unknown)}, on which the model was not "
                f"trained; it takes {listing(column.known, 20)}."
            )


def _refuse_others(reading: LibraryTrees, name: str) -> None:
    """Refuse what is no classifier of two classes."""
    if reading.scores is not None:
        classes = listing(reading.classes.tolist())
        raise InvalidSpec(
            f"{name} has {len(reading.classes)} class(es), {classes}; two are needed here. One "
            "among several is a target for find_recourse, recourse_status and find_levers."
        )
    if reading.regresses:
        raise InvalidSpec(
            f"{name} predicts a number; a classifier is needed here. A number is a target for "
            "find_recourse, recourse_status and find_levers, with a threshold."
        )


def _position(desired: Label | None, classes: np.ndarray) -> int:
    if desired is None and len(classes) > 2:
        raise InvalidSpec(
            f"The model has {len(classes)} classes, {listing(classes.tolist())}; say which one "
            "people want (desired)."
        )
    if desired is None:
        return 1
    if desired not in classes.tolist():
        raise InvalidSpec(
            f"desired is {desired!r}, which is not a class of the model; "
            f"its classes are {listing(classes.tolist())}."
        )
    return classes.tolist().index(desired)


def _checked(threshold: float) -> float:
    check_value("threshold", threshold, POSITIVE_SHARE)
    return float(threshold)

"""Reading model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ract._utils.errors import InvalidFile
from ract.data.csv import TableFormat
from ract.io import values
from ract.io.checked import checked_ensemble
from ract.io.contents import Contents, read_contents
from ract.io.judge import checked_judge
from ract.io.parameters import FITTED_NUMBERS, checked_parameters
from ract.models.boosting import RecourseBoostingClassifier
from ract.models.fit_state import BoostingState, FitState, ForestState, TreeState
from ract.models.forest import RecourseForestClassifier
from ract.models.guarantee import Guarantee
from ract.models.imported import ImportedClassifier
from ract.models.judge import OutcomeJudge
from ract.models.tree import RecourseTreeClassifier
from ract.recourse.calibration import LastingCurve, Point
from ract.recourse.plain_judges import NAMES

_FILE: dict[str, values.Check] = {
    "certificates": values.tuple_of(values.record),
    "summary": values.record,
}
_MANIFEST: dict[str, values.Check] = {"ract": values.text, "fingerprint": values.text}
_BAD_CURVE = "the numbers on how long its plans last are invalid"


@dataclass(frozen=True)
class ModelFile:
    """The contents of a model file.

    Parameters
    ----------
    model : fitted classifier of ract, or ImportedClassifier
    kind : {"tree", "forest", "boosting", "imported"}
    ract : str
        The version that wrote it.
    fingerprint : str
        That of the model when it was written.
    summary : dict
        About the training, in words and figures.
    certificates : tuple of dicts
    judge : OutcomeJudge or None
        Kept on request.
    table : TableFormat
        How tables for the model are written.
    """

    model: Any
    kind: str
    ract: str
    fingerprint: str
    summary: dict[str, Any]
    certificates: tuple[dict[str, Any], ...]
    judge: OutcomeJudge | None = None
    table: TableFormat = field(default_factory=TableFormat)


def load_model(source: str | Path) -> Any:
    """Load the model of a model file, with the predictions and recourse of the one that was saved.

    Nothing from the file is executed. A file that is damaged, is no model file, or has a newer
    format is refused with an ``InvalidFile`` that says so.

    Parameters
    ----------
    source : path
    """
    return read_model_file(source).model


def load_judge(source: str | Path) -> OutcomeJudge:
    """Load the outcome judge that a model file contains.

    Parameters
    ----------
    source : path

    Raises
    ------
    InvalidFile
        If the file contains none.

    Examples
    --------
    >>> import tempfile
    >>> from ract import OutcomeJudge, save_model
    >>> from ract.io import load_judge
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree(300, max_depth=3)
    >>> judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame, loans.target)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/loans.ract", judge=judge)
    ...     kept = load_judge(f"{folder}/loans.ract")
    >>> kept.bar(0.6) == judge.bar(0.6)
    True
    """
    judge = read_model_file(source).judge
    if judge is None:
        raise InvalidFile(
            f"{source} contains no judge; fit one on the training table with ract.OutcomeJudge, "
            "and store it with save_model(..., judge=judge)."
        )
    return judge


def read_model_file(source: str | Path) -> ModelFile:
    """Read a model file: the model, and everything that is stored with it.

    Parameters
    ----------
    source : path
    """
    return read_contents(source, from_bytes)


def from_bytes(data: bytes) -> ModelFile:
    """What the content of a model file holds."""
    contents = Contents.of_bytes(data)
    build = {"tree": _tree, "forest": _forest, "boosting": _boosting, "imported": _imported}
    return ModelFile(
        model=build[contents.kind](contents),
        kind=contents.kind,
        **values.read_fields(contents.manifest, _MANIFEST),
        **values.read_fields(contents.meta, _FILE),
        judge=_judge(contents),
        table=contents.table(),
    )


def _reference(contents: Contents) -> np.ndarray | None:
    """The people whom a model has kept to compare others with."""
    matrix = contents.arrays.get("reference")
    if matrix is None:
        return None
    right = matrix.dtype == np.float64 and matrix.ndim == 2 and len(matrix) > 0
    if not right or matrix.shape[1] != contents.core.encoder.n_columns or np.isinf(matrix).any():
        raise InvalidFile("its reference people are missing or have the wrong shape")
    return matrix


def _judge(contents: Contents) -> OutcomeJudge | None:
    if "judge" not in contents.meta:
        return None
    meta = values.record(contents.meta["judge"], "judge")
    return checked_judge(meta, contents.under("judge."), contents.core)


def _imported(contents: Contents) -> ImportedClassifier:
    core = contents.core
    return ImportedClassifier(
        core.encoder,
        core.ensemble,
        core.cost,
        core.classes,
        core.desired,
        core.link,
        core.budget,
        source=values.text(contents.meta.get("source"), "source"),
        lasting_=_curve(contents),
        reference_=_reference(contents),
    )


def _fitted(contents: Contents) -> dict[str, Any]:
    return values.record(contents.meta.get("fitted"), "fitted")


def _tree(contents: Contents) -> RecourseTreeClassifier:
    guarantee = _fitted(contents).get("guarantee_")
    known = {"guarantee": None if guarantee is None else _guarantee(guarantee)}
    model = _estimator(RecourseTreeClassifier, TreeState, contents, known)
    if model.ensemble_.n_trees != 1:
        raise InvalidFile(f"it holds {model.ensemble_.n_trees} trees as one")
    return model


def _forest(contents: Contents) -> RecourseForestClassifier:
    return _estimator(RecourseForestClassifier, ForestState, contents, {})


def _boosting(contents: Contents) -> RecourseBoostingClassifier:
    checks: dict[str, values.Check] = {
        "n_iter": values.whole,
        "validation_loss": values.optional(values.tuple_of(values.finite)),
    }
    known = values.read_fields(_fitted(contents), checks)
    if known["validation_loss"] is not None:
        known["validation_loss"] = np.array(known["validation_loss"], float)
    known["probability_ensemble"] = contents.core.probability_ensemble
    return _estimator(RecourseBoostingClassifier, BoostingState, contents, known)


Estimator = TypeVar(
    "Estimator", RecourseTreeClassifier, RecourseForestClassifier, RecourseBoostingClassifier
)


def _estimator(
    kind: type[Estimator], state: type[FitState], contents: Contents, known: dict[str, Any]
) -> Estimator:
    """An estimator of ract as fitting left it; known: what only its kind has."""
    core, fitted = contents.core, _fitted(contents)
    parameters = values.record(contents.meta.get("parameters"), "parameters")
    given = checked_parameters(parameters, set(kind().get_params(deep=False)))
    if given.get("budget", core.budget) is not None:  # None stands for the default of its space
        given["budget"] = core.budget
    model = kind(**given)
    known |= {name: getattr(core, name) for name in ("classes", "desired", "encoder", "cost")}
    names_of_state = {field.name for field in fields(state)}
    for name in FITTED_NUMBERS:
        if name in fitted and name.removesuffix("_") in names_of_state:
            known[name.removesuffix("_")] = values.number(fitted[name], name)
    if "recourse_weight" not in given and "recourse_weight" in known:  # one that was searched for
        model.set_params(recourse_weight=known["recourse_weight"])
    names = np.array(core.encoder.feature_names, dtype=object)
    state(
        **known,
        ensemble=core.ensemble,
        n_features_in=len(names),
        feature_names_in=names if values.boolean(fitted.get("frame"), "frame") else None,
        lasting=_curve(contents),
        reference=_reference(contents),
    ).write_to(model)
    return model


def _curve(contents: Contents) -> LastingCurve | None:
    """How long plans last, if that was measured, with the booster that has to agree."""
    meta = contents.meta.get("lasting")
    if meta is None:
        return None
    trees, encoder = contents.under("guard."), contents.core.encoder
    curve = values.read_as(
        LastingCurve,
        meta,
        points=values.tuple_of(_point),
        rule=values.word_among("strength", "strongest"),
        robust_to=values.tuple_of(values.word_among(*NAMES)),
        guard=lambda value, _: checked_ensemble(value, trees, encoder),
    )
    strengths = [point.strength for point in curve.points]
    shares = 0 < curve.confidence < 1 and 0 <= curve.adoption <= 1
    if not shares or not curve.robust_to or strengths != sorted(strengths):
        raise InvalidFile(_BAD_CURVE)
    return curve


def _point(meta: object, _: str) -> Point:
    """How plans of one strength last; what planners count adds up to what the point counts."""
    point = values.read_as(
        Point,
        meta,
        spread=values.tuple_of(values.numeric(infinite=True, nan=True)),
        by_planner=values.tuple_of(values.tuple_of(values.whole)),
    )
    pairs, in_order = point.by_planner, 0 <= point.last <= point.plans <= point.refused
    right = in_order and len(point.spread) == 2 and point.error >= 0
    right = right and all(len(pair) == 2 and 0 <= pair[1] <= pair[0] for pair in pairs)
    counted = [point.plans, point.last]
    if not right or (pairs and [sum(column) for column in zip(*pairs, strict=True)] != counted):
        raise InvalidFile(_BAD_CURVE)
    return point


def _guarantee(meta: object) -> Guarantee:
    if isinstance(meta, Mapping) and "max_risk" in meta:  # of version 0.2
        meta = {**meta, "min_recourse": round(1 - values.finite(meta["max_risk"], "max_risk"), 12)}
    return values.read_as(Guarantee, meta, method=values.word_among("pac", "sequence"))

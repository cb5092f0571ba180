"""Reading model files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ract.boosting import RecourseBoostingClassifier
from ract.calibration import LastingCurve, Point
from ract.errors import InvalidFile
from ract.forest import RecourseForestClassifier
from ract.guarantee import Guarantee
from ract.imported import ImportedClassifier
from ract.judge import OutcomeJudge
from ract.persist.contents import Contents, read_contents
from ract.persist.kept_judge import checked_judge
from ract.persist.parameters import FITTED_NUMBERS, checked_parameters
from ract.persist.values import entry, number, value_of
from ract.tables import TableFormat
from ract.tree import RecourseTreeClassifier


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Parameters
    ----------
    model : fitted classifier of ract, or ImportedClassifier
    kind : {"tree", "forest", "boosting", "imported"}
    ract : str
        The version that wrote it.
    fingerprint : str
        That of the model when it was written.
    summary : dict
        About the training, for people to read.
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
    """The model of a model file: predictions and recourse are those of the model that was saved.

    Nothing from the file is run. A file that is damaged, foreign, or written by a newer format
    is refused with an ``InvalidFile`` that says so.

    Parameters
    ----------
    source : path
    """
    return read_model_file(source).model


def load_judge(source: str | Path) -> OutcomeJudge:
    """The judge of outcomes that a model file has kept.

    Parameters
    ----------
    source : path

    Raises
    ------
    InvalidFile
        If it has kept none.

    Examples
    --------
    >>> import tempfile
    >>> from ract import OutcomeJudge, RecourseTreeClassifier, load_judge, save_model
    >>> from ract.datasets import load_loans
    >>> loans = load_loans(n_people=300)
    >>> model = RecourseTreeClassifier(loans.actions, max_depth=3).fit(loans.frame, loans.target)
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
            f"{source} has kept no judge; fit one on the training table with ract.OutcomeJudge, "
            "and keep it with save_model(..., judge=judge)."
        )
    return judge


def read_model_file(source: str | Path) -> ModelFile:
    """A model file with all that stands in it beside the model.

    Parameters
    ----------
    source : path
    """
    return read_contents(source, from_bytes)


def from_bytes(data: bytes) -> ModelFile:
    """What the content of a model file holds."""
    contents = Contents.of_bytes(data)
    build = {
        "tree": _tree, "forest": _forest, "boosting": _boosting, "imported": _imported,
    }[contents.kind]  # fmt: skip
    manifest, meta = contents.manifest, contents.meta
    certificates = entry(meta, "certificates", list)
    if not all(isinstance(record, dict) for record in certificates):
        raise InvalidFile("a certificate in it is not a record")
    model: Any = build(contents)
    curve = _lasting(meta.get("lasting"))
    if curve is not None:
        if contents.kind == "imported":
            model = replace(model, lasting_=curve)
        else:
            model.lasting_ = curve
    reference = _reference(contents, model.encoder_.n_columns)
    if reference is not None:
        if contents.kind == "imported":
            model = replace(model, reference_=reference)
        else:
            model.reference_ = reference
    return ModelFile(
        model,
        contents.kind,
        entry(manifest, "ract", str),
        entry(manifest, "fingerprint", str),
        entry(meta, "summary", dict),
        tuple(certificates),
        _judge(contents),
        contents.table(),
    )


def _reference(contents: Contents, n_columns: int) -> np.ndarray | None:
    """The people whom a model has kept to compare others with."""
    held = contents.arrays.get("reference")
    if held is None:
        return None
    right = held.dtype == np.float64 and held.ndim == 2 and held.shape[1] == n_columns
    if not right or not len(held) or np.isinf(held).any():
        raise InvalidFile("its reference people are missing or have the wrong shape")
    return held


def _judge(contents: Contents) -> OutcomeJudge | None:
    if "judge" not in contents.meta:
        return None
    judge = entry(contents.meta, "judge", dict)
    return checked_judge(judge, contents.under("judge."), contents.core())


def _imported(contents: Contents) -> ImportedClassifier:
    return ImportedClassifier(**contents.core(), source=entry(contents.meta, "source", str))


def _tree(contents: Contents) -> RecourseTreeClassifier:
    model = _own(RecourseTreeClassifier, contents)
    if model.ensemble_.n_trees != 1:
        raise InvalidFile(f"it holds {model.ensemble_.n_trees} trees as one")
    guarantee = contents.meta["fitted"].get("guarantee_")
    model.guarantee_ = None if guarantee is None else _guarantee(guarantee)
    return model


def _forest(contents: Contents) -> RecourseForestClassifier:
    model, fitted = _own(RecourseForestClassifier, contents), contents.meta["fitted"]
    draws, n_trees = contents.arrays.get("draws"), model.ensemble_.n_trees
    if draws is None or draws.dtype != np.int64 or draws.shape != (n_trees, 2):
        raise InvalidFile("it does not say how each of its trees was drawn")
    model._draws = [(seed, None if n < 0 else n) for seed, n in draws.tolist()]
    _set_task(model, fitted)
    if model.probability not in ("shares", "votes"):
        raise InvalidFile(f"its parameter probability is {model.probability!r:.60}")
    return model


def _boosting(contents: Contents) -> RecourseBoostingClassifier:
    model, fitted = _own(RecourseBoostingClassifier, contents), contents.meta["fitted"]
    _set_task(model, fitted)
    model.n_iter_ = entry(fitted, "n_iter", int)
    losses = fitted.get("validation_loss")
    model.validation_loss_ = None
    if losses is not None:
        held = entry(fitted, "validation_loss", list)
        model.validation_loss_ = np.array([number({"loss": one}, "loss") for one in held], float)
    return model


def _set_task(model: Any, fitted: dict[str, Any]) -> None:
    """What trees can be added to a model for (``warm_start``)."""
    model._n_people = entry(fitted, "n_people", int)
    model._monotonic = tuple(entry(fitted, "monotonic", list))


def _own(kind: Any, contents: Contents) -> Any:
    """An estimator of ract as fitting left it."""
    core, meta = contents.core(), contents.meta
    fitted, encoder = entry(meta, "fitted", dict), core["encoder_"]
    given = checked_parameters(entry(meta, "parameters", dict), set(kind().get_params(deep=False)))
    model = kind(**given | {"budget": core.pop("budget")})
    for name, value in core.items():
        setattr(model, name, value)
    model.n_features_in_ = len(encoder.feature_names)
    if entry(fitted, "frame", bool):
        model.feature_names_in_ = np.array(encoder.feature_names, dtype=object)
    model.min_leaf_share_ = 0.0  # of files from before there was a floor
    for name in FITTED_NUMBERS:
        if name in fitted:
            setattr(model, name, number(fitted, name, infinite=True))
    return model


def _lasting(meta: Any) -> LastingCurve | None:
    """How long plans last, if that was measured."""
    if meta is None:
        return None
    points = []
    for held in entry(meta, "points", list):
        counts = {name: entry(held, name, int) for name in ("refused", "plans", "last")}
        spread = tuple(float(value_of(end)) for end in entry(held, "spread", list))
        if not 0 <= counts["last"] <= counts["plans"] <= counts["refused"] or len(spread) != 2:
            raise InvalidFile("the numbers on how long its plans last are invalid")
        strength, expected = float(number(held, "strength")), float(number(held, "expected"))
        error = float(number(held, "error"))
        if not error >= 0:
            raise InvalidFile("the numbers on how long its plans last are invalid")
        points.append(Point(strength, expected, **counts, spread=spread, error=error))
    lasting = None if meta.get("lasting") is None else number(meta, "lasting")
    confidence, strengths = number(meta, "confidence"), [point.strength for point in points]
    if not 0 < confidence < 1 or strengths != sorted(strengths):
        raise InvalidFile("the numbers on how long its plans last are invalid")
    return LastingCurve(tuple(points), confidence, lasting)


def _guarantee(meta: Any) -> Guarantee:
    kinds: dict[str, Any] = {
        "method": str, "met": bool, "n_people": int, "flipped": int, "needed": (int, type(None)),
    }  # fmt: skip
    given: dict[str, Any] = {
        name: entry(meta, name, kinds[name]) if name in kinds else number(meta, name)
        for name in (field.name for field in fields(Guarantee))
    }
    if given["method"] not in ("pac", "sequence"):
        raise InvalidFile(f"its guarantee is of kind {given['method']!r:.60}")
    return Guarantee(**given)

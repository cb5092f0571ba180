"""Writing model files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ract._utils.errors import InvalidSpec
from ract._utils.files import write_whole
from ract._utils.typing import TableLike
from ract._utils.version import __version__
from ract.data.csv import TableFormat
from ract.io.archive import json_bytes, pack_members, to_npy
from ract.io.judge import judge_parts
from ract.io.parameters import FITTED_NUMBERS, parameters_meta
from ract.models.boosting import RecourseBoostingClassifier
from ract.models.forest import RecourseForestClassifier
from ract.models.imported import ImportedClassifier
from ract.models.judge import OutcomeJudge
from ract.models.tree import RecourseTreeClassifier
from ract.models.tuned import TunedRecourseClassifierCV
from ract.recourse.calibration import LastingCurve
from ract.recourse.reasons.shapley import choose_reference
from ract.trees.fingerprint import ensemble_parts, json_value, model_fingerprint, model_parts
from ract.trees.readers.model import FittedTrees, is_own

KINDS: dict[type, str] = {
    RecourseTreeClassifier: "tree",
    RecourseForestClassifier: "forest",
    RecourseBoostingClassifier: "boosting",
    ImportedClassifier: "imported",
}


def save_model(
    model: object,
    target: str | Path,
    *,
    summary: Mapping[str, Any] | None = None,
    certificates: Iterable[Mapping[str, Any]] = (),
    judge: OutcomeJudge | None = None,
    table: TableFormat | None = None,
    keep_reference: TableLike | None = None,
) -> None:
    """Write a model file atomically.

    It contains the action space, encoding, cost tables, trees and parameters as data; nothing in it
    is ever executed. Out-of-bag probabilities of single people, the number of threads, and a
    generator given as ``random_state`` are not stored.

    Parameters
    ----------
    model : fitted classifier of ract, or ImportedClassifier
    target : path
        Usually ending in ``.ract``.
    summary : mapping, optional
        JSON values about the training, for people to read.
    certificates : iterable of mappings, optional
        Records in JSON values.
    judge : OutcomeJudge, optional
        A fitted judge of ract's own forests to store with the model, for ``ract.io.load_judge``.
    table : TableFormat, optional
        How tables are written, for commands that read tables for this model.
    keep_reference : frame or array, optional
        People like those of training. The rows of at most 100 of them, at the margin of acceptance,
        are stored, so that ``reasons`` of the stored model can compare others with them. A model
        that was loaded from such a file keeps its reference people.

    Examples
    --------
    >>> import tempfile
    >>> from ract import load_model
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree(300, max_depth=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/loans.ract")
    ...     again = load_model(f"{folder}/loans.ract")
    >>> bool((again.predict_proba(loans.frame) == model.predict_proba(loans.frame)).all())
    True
    """
    write_whole(target, model_bytes(model, summary, certificates, judge, table, keep_reference))


def model_bytes(
    model: object,
    summary: Mapping[str, Any] | None = None,
    certificates: Iterable[Mapping[str, Any]] = (),
    judge: OutcomeJudge | None = None,
    table: TableFormat | None = None,
    keep_reference: TableLike | None = None,
) -> bytes:
    """The content of a model file."""
    if isinstance(model, TunedRecourseClassifierCV):
        check_is_fitted(model)
        model = model.estimator_
    kind = KINDS.get(type(model))
    if kind is None:
        raise InvalidSpec(
            f"A {type(model).__name__} cannot be stored; RecourseTreeClassifier, "
            "RecourseForestClassifier and RecourseBoostingClassifier can, and others after "
            "ract.import_model(model, people)."
        )
    if kind != "imported":
        check_is_fitted(model)
    assert is_own(model)
    parts = model_parts(model)
    curve = getattr(model, "lasting_", None)
    meta: dict[str, Any] = {
        "model": parts.meta,
        "class_type": model.classes_.dtype.str,
        "lasting": _lasting(curve),
        "summary": _json(summary or {}, "summary"),
        "certificates": [_json(record, "A certificate") for record in certificates],
    }
    if table is not None and table != TableFormat():
        meta["table"] = table.to_record()
    arrays, nested = dict(parts.arrays), {}
    if isinstance(model, ImportedClassifier):
        meta["source"] = model.source
    else:
        meta |= {"parameters": parameters_meta(model), "fitted": _fitted(model)}
    reference = getattr(model, "reference_", None)
    if keep_reference is not None:
        reference = choose_reference(model.ensemble_, model.encoder_.matrix(keep_reference)).matrix
    if reference is not None:
        arrays["reference"] = reference
    if curve is not None and curve.guard is not None:
        nested["guard"] = ensemble_parts(curve.guard)
        meta["lasting"]["guard"] = nested["guard"].meta
    if judge is not None:
        check_is_fitted(judge)
        nested["judge"] = judge_parts(judge, model)
        meta["judge"] = nested["judge"].meta
    for start, part in nested.items():
        arrays |= {f"{start}.{name}": array for name, array in part.arrays.items()}
    head = {"ract": __version__, "kind": kind, "fingerprint": model_fingerprint(model)}
    members = {f"{name}.npy": to_npy(array) for name, array in arrays.items()}
    return pack_members({"model.json": json_bytes(meta), **members}, head)


def _fitted(model: FittedTrees) -> dict[str, Any]:
    """What fitting found out beside the model itself."""
    meta: dict[str, Any] = {"frame": hasattr(model, "feature_names_in_")}
    for name in FITTED_NUMBERS:
        if np.isfinite(getattr(model, name, np.nan)):
            meta[name] = json_value(getattr(model, name), name)
    if isinstance(model, RecourseTreeClassifier):
        given = None if model.guarantee_ is None else asdict(model.guarantee_)
        meta["guarantee_"] = given and {k: json_value(v, k) for k, v in given.items()}
    if isinstance(model, RecourseBoostingClassifier):
        meta["n_iter"] = model.n_iter_
        meta["validation_loss"] = json_value(model.validation_loss_, "validation_loss_")
    return meta


def _lasting(curve: LastingCurve | None) -> dict[str, Any] | None:
    """How long plans last, as JSON values."""
    if curve is None:
        return None
    points = [{k: json_value(v, k) for k, v in asdict(point).items()} for point in curve.points]
    names = ("confidence", "lasting", "rule", "robust_to", "adoption")
    return {"points": points} | {name: json_value(getattr(curve, name), name) for name in names}


def _json(values: Mapping[str, Any], what: str) -> Any:
    """JSON values as they will be read back."""
    try:
        return json.loads(json.dumps(dict(values), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise InvalidSpec(f"{what} must be a dict of JSON values: {error}.") from None

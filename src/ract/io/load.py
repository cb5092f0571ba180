"""Reading model files."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ract._utils.errors import InvalidFile
from ract.data.csv import TableFormat
from ract.data.encoder import Encoder
from ract.io.checked import checked_ensemble
from ract.io.contents import Contents, read_contents
from ract.io.judge import checked_judge
from ract.io.parameters import FITTED_NUMBERS, checked_parameters
from ract.io.values import entry, number, value_of
from ract.models.boosting import RecourseBoostingClassifier
from ract.models.fit_state import BoostingState, FitState, ForestState, TreeState
from ract.models.forest import RecourseForestClassifier
from ract.models.guarantee import Guarantee
from ract.models.imported import ImportedClassifier
from ract.models.judge import OutcomeJudge
from ract.models.tree import RecourseTreeClassifier
from ract.recourse.calibration import LastingCurve, Point
from ract.recourse.plain_judges import NAMES


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
    core = contents.core()
    return ImportedClassifier(
        **core,
        source=entry(contents.meta, "source", str),
        lasting_=_curve(contents, core["encoder_"]),
        reference_=_reference(contents, core["encoder_"].n_columns),
    )


def _tree(contents: Contents) -> RecourseTreeClassifier:
    guarantee = entry(contents.meta, "fitted", dict).get("guarantee_")
    known = {"guarantee": None if guarantee is None else _guarantee(guarantee)}
    model = _estimator(RecourseTreeClassifier, TreeState, contents, known)
    if model.ensemble_.n_trees != 1:
        raise InvalidFile(f"it holds {model.ensemble_.n_trees} trees as one")
    return model


def _forest(contents: Contents) -> RecourseForestClassifier:
    return _estimator(RecourseForestClassifier, ForestState, contents, {})


def _boosting(contents: Contents) -> RecourseBoostingClassifier:
    fitted = contents.meta["fitted"]
    losses = None
    if fitted.get("validation_loss") is not None:
        held = entry(fitted, "validation_loss", list)
        losses = np.array([number({"loss": one}, "loss") for one in held], float)
    known = {"n_iter": entry(fitted, "n_iter", int), "validation_loss": losses}
    return _estimator(RecourseBoostingClassifier, BoostingState, contents, known)


Estimator = TypeVar(
    "Estimator", RecourseTreeClassifier, RecourseForestClassifier, RecourseBoostingClassifier
)


def _estimator(
    kind: type[Estimator], state: type[FitState], contents: Contents, known: dict[str, Any]
) -> Estimator:
    """An estimator of ract as fitting left it; known: what only its kind has."""
    core, meta = contents.core(), contents.meta
    fitted, encoder = entry(meta, "fitted", dict), core["encoder_"]
    given = checked_parameters(entry(meta, "parameters", dict), set(kind().get_params(deep=False)))
    budget = core.pop("budget")
    if given.get("budget", budget) is not None:  # None stands for the default of its space
        given["budget"] = budget
    model = kind(**given)
    known |= {name.removesuffix("_"): value for name, value in core.items()}
    fields_of = {field.name for field in fields(state)}
    for name in FITTED_NUMBERS:
        if name in fitted and name.removesuffix("_") in fields_of:
            known[name.removesuffix("_")] = number(fitted, name, infinite=True)
    if "recourse_weight" not in given and "recourse_weight" in known:  # one that was searched for
        model.set_params(recourse_weight=known["recourse_weight"])
    names = np.array(encoder.feature_names, dtype=object)
    state(
        **known,
        n_features_in=len(names),
        feature_names_in=names if entry(fitted, "frame", bool) else None,
        lasting=_curve(contents, encoder),
        reference=_reference(contents, encoder.n_columns),
    ).write_to(model)
    return model


def _curve(contents: Contents, encoder: Encoder) -> LastingCurve | None:
    """How long plans last, if that was measured, with the booster that has to agree."""
    meta = contents.meta.get("lasting")
    curve = _lasting(meta)
    if curve is None or meta is None or "guard" not in meta:
        return curve
    guard = checked_ensemble(entry(meta, "guard", dict), contents.under("guard."), encoder)
    return replace(curve, guard=guard)


def _lasting(meta: Any) -> LastingCurve | None:
    """The numbers on how long plans last."""
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
        seen = _by_planner(held.get("by_planner", []), counts)
        points.append(Point(strength, expected, **counts, spread=spread, error=error,
                            by_planner=seen))  # fmt: skip
    lasting = None if meta.get("lasting") is None else number(meta, "lasting")
    confidence, strengths = number(meta, "confidence"), [point.strength for point in points]
    if not 0 < confidence < 1 or strengths != sorted(strengths):
        raise InvalidFile("the numbers on how long its plans last are invalid")
    rule = meta.get("rule", "strength")  # version 0.2 knew no other
    if rule not in ("strength", "strongest"):
        raise InvalidFile("the numbers on how long its plans last are invalid")
    robust_to = meta.get("robust_to", ["same"])
    known = isinstance(robust_to, list) and all(
        isinstance(name, str) and name in NAMES for name in robust_to
    )
    if not known or not robust_to:
        raise InvalidFile("it names unknown learners by which plans were judged")
    adoption = number(meta, "adoption") if "adoption" in meta else 0.0
    if not 0 <= adoption <= 1:
        raise InvalidFile("the numbers on how long its plans last are invalid")
    return LastingCurve(tuple(points), confidence, lasting, rule, tuple(robust_to), adoption)


def _by_planner(pairs: Any, counts: dict[str, int]) -> tuple[tuple[int, int], ...]:
    """How many plans each planner has and how many of them last; version 0.2 did not keep it."""
    is_right = isinstance(pairs, list) and all(
        isinstance(pair, list) and [type(n) for n in pair] == [int, int] and 0 <= pair[1] <= pair[0]
        for pair in pairs
    )
    sums = [sum(column) for column in zip(*pairs, strict=True)] if is_right else []
    if not is_right or (pairs and sums != [counts["plans"], counts["last"]]):
        raise InvalidFile("the numbers on how long its plans last are invalid")
    return tuple((pair[0], pair[1]) for pair in pairs)


def _guarantee(meta: Any) -> Guarantee:
    kinds: dict[str, Any] = {
        "method": str, "met": bool, "n_people": int, "flipped": int, "needed": (int, type(None)),
    }  # fmt: skip
    if isinstance(meta, dict) and "max_risk" in meta:  # of version 0.2
        meta = meta | {"min_recourse": round(1 - number(meta, "max_risk"), 12)}
    given: dict[str, Any] = {
        name: entry(meta, name, kinds[name]) if name in kinds else number(meta, name)
        for name in (field.name for field in fields(Guarantee))
    }
    if given["method"] not in ("pac", "sequence"):
        raise InvalidFile(f"its guarantee is of kind {given['method']!r:.60}")
    return Guarantee(**given)

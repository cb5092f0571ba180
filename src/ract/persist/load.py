"""Reading model files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ract.errors import InvalidFile
from ract.forest import RecourseForestClassifier
from ract.guarantee import Guarantee
from ract.imported import ImportedClassifier
from ract.interop.curves import curve_of
from ract.persist.archive import MOST_BYTES, parsed, unpack
from ract.persist.arrays import from_npy
from ract.persist.checked import (
    checked_classes,
    checked_cost,
    checked_desired,
    checked_encoder,
    checked_ensemble,
)
from ract.persist.parameters import FITTED_NUMBERS, checked_parameters
from ract.persist.values import entry, number
from ract.tree import RecourseTreeClassifier

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds.

    Parameters
    ----------
    model : RecourseTreeClassifier, RecourseForestClassifier or ImportedClassifier
    kind : {"tree", "forest", "imported"}
    ract : str
        The version that wrote it.
    fingerprint : str
        That of the model when it was written.
    summary : dict
        About the training, for people to read.
    certificates : tuple of dicts
    """

    model: Any
    kind: str
    ract: str
    fingerprint: str
    summary: dict[str, Any]
    certificates: tuple[dict[str, Any], ...]


def load_model(source: str | Path) -> Any:
    """The model of a model file: predictions and recourse are those of the model that was saved.

    Nothing from the file is run. A file that is damaged, foreign, or written by a newer format
    is refused with an ``InvalidFile`` that says so.

    Parameters
    ----------
    source : path
    """
    return read_model_file(source).model


def read_model_file(source: str | Path) -> ModelFile:
    """A model file with all that stands in it beside the model.

    Parameters
    ----------
    source : path
    """
    path = Path(source)
    if path.stat().st_size > MOST_BYTES:
        raise InvalidFile(f"{path} is larger than any model file.")
    try:
        return from_bytes(path.read_bytes())
    except InvalidFile as error:
        raise InvalidFile(f"{path} cannot be read as a model: {error}.") from None


def from_bytes(data: bytes) -> ModelFile:
    """What the content of a model file holds."""
    manifest, members = unpack(data)
    meta = parsed(members.pop("model.json", b""), "model.json")
    arrays = {name.removesuffix(".npy"): from_npy(held, name) for name, held in members.items()}
    kind = entry(manifest, "kind", str)
    build = {"tree": _tree, "forest": _forest, "imported": _imported}.get(kind)
    if build is None:
        raise InvalidFile(f"it holds a model of kind {kind!r:.60}, which is unknown")
    certificates = entry(meta, "certificates", list)
    if not all(isinstance(record, dict) for record in certificates):
        raise InvalidFile("a certificate in it is not a record")
    return ModelFile(
        build(meta, arrays),
        kind,
        entry(manifest, "ract", str),
        entry(manifest, "fingerprint", str),
        entry(meta, "summary", dict),
        tuple(certificates),
    )


def _core(meta: Mapping[str, Any], arrays: Arrays) -> dict[str, Any]:
    """What every model has."""
    model = entry(meta, "model", dict)
    classes = checked_classes(model, meta.get("class_type"))
    encoder = checked_encoder(entry(model, "encoder", dict))
    budget = number(model, "budget", infinite=True)
    if budget < 0:
        raise InvalidFile(f"its budget is {budget}")
    return {
        "classes_": classes,
        "desired_": checked_desired(model, classes),
        "encoder_": encoder,
        "ensemble_": checked_ensemble(
            entry(model, "ensemble", dict), _under(arrays, "ensemble."), encoder
        ),
        "cost_": checked_cost(
            entry(model, "cost", dict), _under(arrays, "cost."), encoder.n_columns
        ),
        "budget": budget,
    }


def _under(arrays: Arrays, start: str) -> dict[str, np.ndarray]:
    found = arrays.items()
    return {name.removeprefix(start): array for name, array in found if name.startswith(start)}


def _imported(meta: Mapping[str, Any], arrays: Arrays) -> ImportedClassifier:
    core = _core(meta, arrays)
    try:
        link = curve_of(meta["model"].get("link"))
    except ValueError as error:
        raise InvalidFile(f"its link is invalid: {error}") from None
    combine = core["ensemble_"].combine
    if combine != "mean" and (link is None) != (combine == "votes"):
        raise InvalidFile("its trees and its link do not fit")
    return ImportedClassifier(**core, link=link, source=entry(meta, "source", str))


def _tree(meta: Mapping[str, Any], arrays: Arrays) -> RecourseTreeClassifier:
    model = _own(RecourseTreeClassifier, meta, arrays)
    if model.ensemble_.n_trees != 1:
        raise InvalidFile(f"it holds {model.ensemble_.n_trees} trees as one")
    guarantee = meta["fitted"].get("guarantee_")
    model.guarantee_ = None if guarantee is None else _guarantee(guarantee)
    return model


def _forest(meta: Mapping[str, Any], arrays: Arrays) -> RecourseForestClassifier:
    model = _own(RecourseForestClassifier, meta, arrays)
    draws, n_trees = arrays.get("draws"), model.ensemble_.n_trees
    if draws is None or draws.dtype != np.int64 or draws.shape != (n_trees, 2):
        raise InvalidFile("it does not say how each of its trees was drawn")
    model._draws = [(seed, None if n < 0 else n) for seed, n in draws.tolist()]
    model._n_people = entry(meta["fitted"], "n_people", int)
    model._monotonic = tuple(entry(meta["fitted"], "monotonic", list))
    if model.probability not in ("shares", "votes"):
        raise InvalidFile(f"its parameter probability is {model.probability!r:.60}")
    return model


def _own(kind: Any, meta: Mapping[str, Any], arrays: Arrays) -> Any:
    """An estimator of ract as fitting left it."""
    core, fitted = _core(meta, arrays), entry(meta, "fitted", dict)
    ensemble, encoder = core["ensemble_"], core["encoder_"]
    if ensemble.combine != "votes" or core["cost_"].norm != "max":
        raise InvalidFile("its trees do not vote, or its cost is none that ract trains with")
    given = checked_parameters(entry(meta, "parameters", dict), set(kind().get_params(deep=False)))
    model = kind(**given | {"budget": core.pop("budget")})
    for name, value in core.items():
        setattr(model, name, value)
    model.n_features_in_ = len(encoder.feature_names)
    if entry(fitted, "frame", bool):
        model.feature_names_in_ = np.array(encoder.feature_names, dtype=object)
    for name in FITTED_NUMBERS:
        if name in fitted:
            setattr(model, name, number(fitted, name, infinite=True))
    return model


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

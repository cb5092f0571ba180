"""Reading model files."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ract.errors import InvalidFile
from ract.forest import RecourseForestClassifier
from ract.guarantee import Guarantee
from ract.imported import ImportedClassifier
from ract.persist.contents import Contents, read_contents
from ract.persist.parameters import FITTED_NUMBERS, checked_parameters
from ract.persist.values import entry, number
from ract.tree import RecourseTreeClassifier


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
    return read_contents(source, from_bytes)


def from_bytes(data: bytes) -> ModelFile:
    """What the content of a model file holds."""
    contents = Contents.of_bytes(data)
    build = {"tree": _tree, "forest": _forest, "imported": _imported}[contents.kind]
    manifest, meta = contents.manifest, contents.meta
    certificates = entry(meta, "certificates", list)
    if not all(isinstance(record, dict) for record in certificates):
        raise InvalidFile("a certificate in it is not a record")
    return ModelFile(
        build(contents),
        contents.kind,
        entry(manifest, "ract", str),
        entry(manifest, "fingerprint", str),
        entry(meta, "summary", dict),
        tuple(certificates),
    )


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
    model._n_people = entry(fitted, "n_people", int)
    model._monotonic = tuple(entry(fitted, "monotonic", list))
    if model.probability not in ("shares", "votes"):
        raise InvalidFile(f"its parameter probability is {model.probability!r:.60}")
    return model


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

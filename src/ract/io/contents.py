"""What every model file holds, read and checked; without the learners and searches that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract._utils.typing import Label
from ract.data.costs import FittedCost
from ract.data.csv import TableFormat
from ract.data.encoder import Encoder
from ract.io import values
from ract.io.archive import MOST_BYTES, from_npy, parsed, unpack
from ract.io.checked import checked_classes, checked_cost, checked_encoder, checked_ensemble
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import Curve, curve_of

Arrays = Mapping[str, np.ndarray]
Read = TypeVar("Read")

_MODEL: dict[str, values.Check] = {
    "classes": values.tuple_of(values.label),
    "desired": values.label,
    "budget": values.number,
    "encoder": values.record,
    "ensemble": values.record,
    "probability": values.optional(values.record),
    "cost": values.record,
    "link": values.optional(values.record),
}
# Kinds of models that ract trains: how their trees decide, and what is said of other trees.
_COMBINED = {
    "tree": (("votes",), "do not vote"),
    "forest": (("votes", "mean"), "neither vote nor have a mean"),
    "boosting": (("sum",), "do not add up"),
}


@dataclass(frozen=True)
class Core:
    """What every model has; meanings are those of the fitted attributes.

    ``probability_ensemble`` are the trees of a booster that give its probabilities, where those
    that decide do not; ``link`` is the curve of an imported model.
    """

    classes: np.ndarray
    desired: Label
    encoder: Encoder
    ensemble: TreeEnsemble
    cost: FittedCost
    budget: float
    probability_ensemble: TreeEnsemble | None = None
    link: Curve | None = None


@dataclass(frozen=True)
class Contents:
    """The parts of a model file.

    Parameters
    ----------
    kind : {"tree", "forest", "boosting", "imported"}
    manifest, meta : dict
        What the file says of itself, and of the model.
    arrays : dict of arrays
    """

    kind: str
    manifest: dict[str, Any]
    meta: dict[str, Any]
    arrays: Arrays

    @classmethod
    def of_bytes(cls, data: bytes) -> Contents:
        """The parts of a file's content."""
        manifest, members = unpack(data)
        meta = parsed(members.pop("model.json", b""), "model.json")
        arrays = {name.removesuffix(".npy"): from_npy(npy, name) for name, npy in members.items()}
        kind = values.text(manifest.get("kind"), "kind")
        if kind != "imported" and kind not in _COMBINED:
            raise InvalidFile(f"it holds a model of kind {kind!r:.60}, which is unknown")
        return cls(kind, manifest, meta, arrays)

    @cached_property
    def core(self) -> Core:
        """What every model has."""
        model = values.read_fields(values.record(self.meta.get("model"), "model"), _MODEL)
        classes = checked_classes(model["classes"], self.meta.get("class_type"))
        desired, encoder = model["desired"], checked_encoder(model["encoder"])
        if desired not in classes.tolist():
            raise InvalidFile(f"its desired class {desired!r:.60} is not among its classes")
        if model["budget"] < 0:
            raise InvalidFile(f"its budget is {model['budget']}")
        core = Core(
            classes,
            classes[classes.tolist().index(desired)],
            encoder,
            checked_ensemble(model["ensemble"], self.under("ensemble."), encoder),
            checked_cost(model["cost"], self.under("cost."), encoder),
            model["budget"],
            self._probability(model["probability"], encoder),
            self._link(model["link"]),
        )
        combine = core.ensemble.combine
        if self.kind != "imported":
            allowed, fault = _COMBINED[self.kind]
            if combine not in allowed or core.cost.norm != "max":
                raise InvalidFile(f"its trees {fault}, or its cost is none that ract trains with")
        elif combine != "mean" and (core.link is None) != (combine == "votes"):
            raise InvalidFile("its trees and its link do not fit")
        return core

    def _probability(self, meta: object, encoder: Encoder) -> TreeEnsemble | None:
        if meta is None or self.kind != "boosting":
            return None
        trees = checked_ensemble(meta, self.under("probability."), encoder)
        if trees.combine != "sum":
            raise InvalidFile("the trees of its probabilities do not add up")
        return trees

    def _link(self, meta: object) -> Curve | None:
        try:
            return curve_of(meta) if self.kind == "imported" else None
        except ValueError as error:
            raise InvalidFile(f"its link is invalid: {error}") from None

    def table(self) -> TableFormat:
        """How tables for the model are written."""
        try:
            return TableFormat.of_record(self.meta.get("table", {}))
        except InvalidSpec as error:
            raise InvalidFile(f"how its tables are written is invalid: {error}"[:-1]) from None

    def under(self, start: str) -> dict[str, np.ndarray]:
        """Arrays whose names begin so, without that beginning."""
        found = self.arrays.items()
        return {name.removeprefix(start): array for name, array in found if name.startswith(start)}


def read_contents(source: str | Path, read: Callable[[bytes], Read]) -> Read:
    """What is read from a model file; what is wrong with it comes with the file's name."""
    content = read_bytes(source)
    try:
        return read(content)
    except InvalidFile as error:
        raise InvalidFile(f"{Path(source)} cannot be read as a model: {error}.") from None


def read_bytes(source: str | Path) -> bytes:
    """The content of a model file, unless it is too large to be one."""
    path = Path(source)
    if path.stat().st_size > MOST_BYTES:
        raise InvalidFile(f"{path} is larger than any model file.")
    return path.read_bytes()

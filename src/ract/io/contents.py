"""What every model file holds, read and checked; without the learners and searches that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.csv import TableFormat
from ract.data.encoder import Encoder
from ract.io.archive import MOST_BYTES, parsed, unpack
from ract.io.arrays import from_npy
from ract.io.checked import (
    checked_classes,
    checked_cost,
    checked_desired,
    checked_encoder,
    checked_ensemble,
)
from ract.io.values import entry, number
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import curve_of

Arrays = Mapping[str, np.ndarray]
Read = TypeVar("Read")


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
        arrays = {name.removesuffix(".npy"): from_npy(held, name) for name, held in members.items()}
        kind = entry(manifest, "kind", str)
        if kind not in ("tree", "forest", "boosting", "imported"):
            raise InvalidFile(f"it holds a model of kind {kind!r:.60}, which is unknown")
        return cls(kind, manifest, meta, arrays)

    def core(self) -> dict[str, Any]:
        """What every model has."""
        model = entry(self.meta, "model", dict)
        classes = checked_classes(model, self.meta.get("class_type"))
        encoder = checked_encoder(entry(model, "encoder", dict))
        budget = number(model, "budget", infinite=True)
        if budget < 0:
            raise InvalidFile(f"its budget is {budget}")
        core = {
            "classes_": classes,
            "desired_": checked_desired(model, classes),
            "encoder_": encoder,
            "ensemble_": checked_ensemble(
                entry(model, "ensemble", dict), self.under("ensemble."), encoder
            ),
            "cost_": checked_cost(entry(model, "cost", dict), self.under("cost."), encoder),
            "budget": budget,
        }
        combine = core["ensemble_"].combine
        if self.kind == "boosting":
            core["probability_ensemble_"] = self._probability(model, encoder)
        if self.kind != "imported":
            rules, fault = {
                "tree": (("votes",), "do not vote"),
                "forest": (("votes", "mean"), "neither vote nor have a mean"),
                "boosting": (("sum",), "do not add up"),
            }[self.kind]
            if combine not in rules or core["cost_"].norm != "max":
                raise InvalidFile(f"its trees {fault}, or its cost is none that ract trains with")
            return core
        try:
            core["link"] = curve_of(model.get("link"))
        except ValueError as error:
            raise InvalidFile(f"its link is invalid: {error}") from None
        if combine != "mean" and (core["link"] is None) != (combine == "votes"):
            raise InvalidFile("its trees and its link do not fit")
        return core

    def _probability(self, model: dict[str, Any], encoder: Encoder) -> TreeEnsemble | None:
        """The trees of a booster that give its probabilities, where those that decide do not."""
        if "probability" not in model:
            return None
        given = entry(model, "probability", dict)
        trees = checked_ensemble(given, self.under("probability."), encoder)
        if trees.combine != "sum":
            raise InvalidFile("the trees of its probabilities do not add up")
        return trees

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

"""What an export starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract.data.actions import Feature
from ract.data.encoder import Encoder
from ract.models.imported import ImportedClassifier
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import CLogistic, Logistic
from ract.trees.readers.model import FittedTrees, is_own


@dataclass(frozen=True)
class Source:
    """A fitted model in the terms that every export needs.

    Parameters
    ----------
    ensemble : TreeEnsemble
    encoder : Encoder
    classes : array of two labels
    k : int
        Position of the desired class.
    gives : TreeEnsemble, optional
        Other trees whose sum are the log-odds of the probabilities.
    steepness : float, optional
        Of the logistic curve from a sum to a probability; None if there is no such curve.
    named : bool
        Whether the model was trained on named columns.
    """

    ensemble: TreeEnsemble
    encoder: Encoder
    classes: np.ndarray
    k: int
    gives: TreeEnsemble | None
    steepness: float | None
    named: bool

    @classmethod
    def of(cls, model: object) -> Source:
        """A fitted classifier of ract or an imported model."""
        if not is_own(model):
            raise InvalidSpec(
                f"{type(model).__name__} is not a fitted model of ract; only those are exported."
            )
        encoder, classes = model.encoder_, np.asarray(model.classes_)
        numbered = tuple(f"x{j}" for j in range(len(encoder.feature_names)))
        return cls(
            model.ensemble_,
            encoder,
            classes,
            classes.tolist().index(np.asarray(model.desired_).item()),
            getattr(model, "probability_ensemble_", None),
            _steepness(model),
            hasattr(model, "feature_names_in_") or encoder.feature_names != numbered,
        )

    def refuse_singles(self, what: str) -> None:
        """Refuse models whose sums are rounded to single precision after every tree."""
        if self.ensemble.single:
            raise InvalidSpec(
                f"This imported model adds up in single precision, whose rounding {what} does not "
                "keep; export it with its own library's tools."
            )

    @property
    def categorical(self) -> list[Feature]:
        """Categorical features that are one column of the table each."""
        return [
            axis.feature
            for axis in self.encoder.axes
            if axis.is_categorical and not axis.feature.columns
        ]

    @property
    def has_missing(self) -> bool:
        """Whether values of a feature may be missing."""
        return any(axis.has_missing for axis in self.encoder.axes)

    def refuse_missing_categories(self, what: str) -> None:
        """Refuse categorical features with missing values, named all at once."""
        names = [feature.name for feature in self.categorical if feature.missing is not None]
        if names:
            raise InvalidSpec(
                f"Categories are missing in {listing(names, 30)}, which {what} cannot say in one "
                "way for all tables; give those people a category of their own before training, "
                "or export with to_json."
            )

    def held_shares(self) -> np.ndarray:
        """Share of the desired class in each node, held on the side of the node's label."""
        above = np.nextafter(0.5, 1.0)
        share, label = self.ensemble.value, self.ensemble.label == 1
        return np.where(label, np.maximum(share, above), np.minimum(share, 1.0 - above))


def _steepness(model: FittedTrees) -> float | None:
    """Of the curve of a model whose probabilities are a logistic curve of its sum."""
    if model.ensemble_.combine != "sum":
        return None
    if not isinstance(model, ImportedClassifier):
        return 1.0
    return float(model.link.steepness) if isinstance(model.link, Logistic | CLogistic) else None


def label_kind(values: Iterable[object], what: str) -> str:
    """Whether some labels are all text ("text") or all numbers ("numbers")."""
    if all(isinstance(value, str) for value in values):
        return "text"
    if all(isinstance(value, (bool, int, float)) for value in values):
        return "numbers"
    raise InvalidSpec(f"{what} mixes text and numbers, which cannot be exported.")

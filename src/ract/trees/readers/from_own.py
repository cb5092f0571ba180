"""Reading ract's own models behind the steps of a pipeline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ract._utils.errors import InvalidSpec
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.curves import Logistic
from ract.trees.readers.layout import EncodedTrees
from ract.trees.readers.model import FittedTrees
from ract.trees.readers.reading import LibraryTrees


def read_own(model: FittedTrees) -> LibraryTrees:
    """The trees of a model over the columns of its own table, which must be numbers."""
    encoder, ensemble = model.encoder_, model.ensemble_
    position = encoder.feature_of_column
    codes: dict[int, np.ndarray] = {}
    for axis in encoder.axes:
        feature = axis.feature
        if not feature.is_categorical or feature.columns:
            continue
        if not all(isinstance(value, (int, np.integer)) for value in feature.categories):
            raise InvalidSpec(
                f"{type(model).__name__} takes {feature.name!r} as text after other steps; encode "
                "it as numbers before the model, or let the model encode the whole table."
            )
        for k, column in enumerate(axis.columns):
            other_codes = np.delete(np.array(feature.categories, np.int64), k)
            codes |= dict.fromkeys(np.flatnonzero(ensemble.feature == column).tolist(), other_codes)
    inner = ensemble.feature >= 0
    return LibraryTrees(
        classes=np.asarray(model.classes_),
        n_columns=len(encoder.feature_names),
        ask=lambda seen: seen[:, 0],  # decisions are compared, not scores
        column=np.where(inner, position[np.maximum(ensemble.feature, 0)], -1).astype(np.int32),
        threshold=ensemble.threshold,
        left=ensemble.left,
        right=ensemble.right,
        missing_left=np.zeros(len(inner), bool),
        value=ensemble.value,
        root=ensemble.root,
        combine="sum",
        codes=codes,
        link=Logistic() if hasattr(model, "probability_ensemble_") else None,
    )


def own_ensemble(model: FittedTrees, layout: EncodedTrees) -> TreeEnsemble:
    """A model's trees in a layout; its probabilities are means of their values."""
    ensemble = model.ensemble_
    label, value = ensemble.label[layout.node], ensemble.value[layout.node]
    against = None if ensemble.against is None else ensemble.against[layout.node]
    return replace(ensemble, **layout.trees, label=label, value=value, against=against)

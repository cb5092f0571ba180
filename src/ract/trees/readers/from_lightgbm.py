"""Reading LightGBM's classifiers, from the text of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.typing import TableLike
from ract.data.frames import is_frame
from ract.trees.readers.curves import CLogistic
from ract.trees.readers.reading import (
    REGRESSES,
    LibraryTrees,
    TreeArrays,
    category_columns,
    checked_labels,
    codes_in,
    end_to_end,
)
from ract.trees.readers.scoring import scored

if TYPE_CHECKING:
    from lightgbm import Booster, LGBMModel

# Objectives whose sum is what is predicted.
REGRESSIONS = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
# Bits of a split's decision_type.
CATEGORICAL = 1
DEFAULT_LEFT = 2
MISSING_TYPE = 12
ZERO = 4  # zero_as_missing; 8 for NaN, 0 if nothing was missing
# LightGBM's kZeroThreshold, a single. Rows of arrays and pandas frames drop values up to this size
# and so make them zero, also where a threshold is the negative of it; Arrow and CSR keep them.
NEAR_ZERO = float(np.float32(1e-35))


def read_lightgbm(model: LGBMModel | Booster, people: TableLike | None) -> LibraryTrees:
    """The trees of a fitted LGBMClassifier or of a Booster that tells classes apart.

    ``people`` is the table that the model itself is given, None after other steps.
    """
    booster = getattr(model, "booster_", model)
    head, *blocks = booster.model_to_string().split("\nend of trees")[0].split("\nTree=")
    header = _items(head)
    if not blocks:
        raise InvalidSpec("The LightGBM model has no trees.")
    n_classes = int(header["num_class"])
    link = None if _regresses(header) else CLogistic(_steepness(header))
    classes = getattr(model, "classes_", np.arange(max(2, n_classes)))
    classes = checked_labels(classes, type(model).__name__)
    averages = "average_output" in header
    if averages and n_classes > 1:
        raise InvalidSpec("LightGBM's random forests of more than two classes are not supported.")
    # Arrays of anything but floats are turned into singles on the way in.
    rounds = isinstance(people, np.ndarray) and people.dtype not in (np.float32, np.float64)
    by_arrow = is_frame(people) and not isinstance(people, pd.DataFrame)

    def ask(seen: np.ndarray) -> np.ndarray:
        # Sparse rows are compared as they are; values near zero have become zero before, or not.
        seen = csr_matrix(seen, dtype=np.float32 if rounds else np.float64)
        margin = np.asarray(booster.predict(seen, raw_score=True))
        # Those of a forest are divided only on the way to probabilities.
        return margin / len(blocks) if averages else margin

    parts = [_arrays(_items(block)) for block in blocks]
    if n_classes > 1:
        parts = [scored(part, t % n_classes, n_classes) for t, part in enumerate(parts)]
    trees = end_to_end(parts)
    decides = REGRESSES
    if link is not None:
        decides = {"classes": classes, "link": link, "chooses": lambda m: link(m) > 0.5}
    return LibraryTrees(
        n_columns=int(header["max_feature_idx"]) + 1,
        ask=ask,
        combine="mean" if averages else "sum",
        compares_rounded=n_classes > 1,
        rounds=rounds,
        near_zero=0.0 if by_arrow else NEAR_ZERO,
        labels=_labels(booster, people),
        gap=(-NEAR_ZERO, NEAR_ZERO) if trees["in_gap"].any() else None,
        **decides,
        **trees,
    )


def _items(block: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in block.splitlines() if line)
    return {key: value for key, _, value in pairs}


def _regresses(header: dict[str, str]) -> bool:
    """Whether the sum of the trees is itself what a regressor predicts."""
    objective, *settings = header.get("objective", "custom").split()
    return objective in REGRESSIONS and "sqrt" not in settings


def _steepness(header: dict[str, str]) -> float:
    objective, *settings = header.get("objective", "custom").split()
    if objective == "multiclass":
        return 1.0
    if objective != "binary" or header["num_tree_per_iteration"] != "1":
        raise InvalidSpec(
            f"The LightGBM objective is {objective!r}; allowed are 'binary', 'multiclass' and "
            f"{listing(REGRESSIONS)}."
        )
    return float(dict(setting.split(":") for setting in settings if ":" in setting)["sigmoid"])


def _labels(booster: Booster, people: TableLike | None) -> dict[int, list[Any]]:
    """Labels of the pandas category columns, which LightGBM turns into codes by their order."""
    known, columns = booster.pandas_categorical or [], category_columns(people)
    if len(columns) != len(known):
        raise InvalidData(
            f"The LightGBM model was trained with {len(known)} pandas category column(s), "
            f"the table has {len(columns)}."
        )
    return dict(zip(columns, known, strict=True))


def _arrays(tree: dict[str, str]) -> TreeArrays:
    """Inner nodes first, then leaves; LightGBM numbers leaves -1, -2, ..."""
    if tree.get("is_linear", "0") != "0":
        raise InvalidSpec("LightGBM's linear trees are not supported; train without linear_tree.")
    n_leaves = int(tree["num_leaves"])
    n_inner, no_child, never = n_leaves - 1, np.full(n_leaves, -1), np.zeros(n_leaves, bool)
    kind, threshold = _numbers(tree, "decision_type", int), _numbers(tree, "threshold", float)
    in_gap = ((kind & MISSING_TYPE) == ZERO) & ((kind & CATEGORICAL) == 0)
    arrays = {
        "column": np.append(_numbers(tree, "split_feature", int), no_child),
        "threshold": np.append(threshold, np.zeros(n_leaves)),
        "value": np.append(np.zeros(n_inner), _numbers(tree, "leaf_value", float)),
        "missing_left": np.append(_missing_left(kind, threshold), never),
        "in_gap": np.append(in_gap, never),
        "codes": _codes(tree, kind, threshold),
    }
    for side in ("left", "right"):
        child = _numbers(tree, f"{side}_child", int)
        arrays[side] = np.append(np.where(child < 0, n_inner + ~child, child), no_child)
    return arrays


def _missing_left(kind: np.ndarray, threshold: np.ndarray) -> np.ndarray:
    """Where a missing value goes; a feature that has none in training takes it for zero."""
    default_left = (kind & DEFAULT_LEFT) != 0
    missing = np.where((kind & MISSING_TYPE) == 0, threshold >= 0, default_left)
    return missing & ((kind & CATEGORICAL) == 0)


def _codes(tree: dict[str, str], kind: np.ndarray, threshold: np.ndarray) -> dict[int, np.ndarray]:
    """Categories that go left, from bits in words of 32; a split's threshold says which words."""
    codes = {}
    for node in np.flatnonzero(kind & CATEGORICAL):
        ends = _numbers(tree, "cat_boundaries", int)
        which = int(threshold[node])
        words = _numbers(tree, "cat_threshold", int)[ends[which] : ends[which + 1]]
        codes[int(node)] = codes_in(words)
    return codes


def _numbers(tree: dict[str, str], key: str, kind: type) -> np.ndarray:
    return np.array([kind(text) for text in tree.get(key, "").split()], kind)

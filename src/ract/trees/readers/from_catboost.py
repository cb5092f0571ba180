"""Reading CatBoost's classifiers, from the JSON form of the model."""

from __future__ import annotations

import importlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidSpec
from ract._utils.typing import TableLike
from ract.data.frames import read_table
from ract.trees.readers.curves import CLogistic
from ract.trees.readers.reading import LibraryTrees, TreeArrays, checked_labels, end_to_end

if TYPE_CHECKING:
    from catboost import CatBoostClassifier

# Splits of one column: at a border, or one category against the others.
BORDER, CATEGORY = "FloatFeature", "OneHotFeature"


def read_catboost(model: CatBoostClassifier, people: TableLike | None) -> LibraryTrees:
    """The trees of a fitted CatBoostClassifier.

    ``people`` is the table that the model itself is given, None after other steps.
    """
    name = type(model).__name__
    classes = checked_labels(model.classes_, name, most=2)
    chosen = list(model.get_cat_feature_indices())
    if chosen and people is None:
        raise InvalidSpec(
            f"{name} takes categories of its own after other steps; it is supported alone, or on "
            "numbers."
        )
    document = _document(model, people, chosen)
    scale, bias = document["scale_and_bias"]
    if scale != 1 or len(bias) != 1:
        raise InvalidSpec(
            f"{name} has a scale of {scale} and {len(bias)} output(s); a scale of 1 and one output "
            "are supported."
        )
    border = model.get_probability_threshold()
    if border is not None and border != 0.5:
        raise InvalidSpec(
            f"{name} has a probability threshold of {border}; give it as threshold= instead."
        )
    columns = _Columns(document["features_info"], people, chosen)
    trees = [
        _nested(tree.get("splits") or [], tree["leaf_values"])
        for tree in document.get("oblivious_trees", [])
    ]
    trees += document.get("trees", [])
    if not trees:
        raise InvalidSpec("The CatBoost model has no trees.")
    if bias[0]:  # is added last, as by a tree of one leaf
        trees.append({"value": bias[0]})
    names = tuple(model.feature_names_)
    return LibraryTrees(
        classes=classes,
        n_columns=len(names),
        ask=lambda seen: model.predict(
            columns.frame(seen, names), prediction_type="RawFormulaVal", thread_count=1
        ),
        combine="sum",
        rounds=True,
        link=CLogistic(1.0),
        chooses=lambda margin: margin > 0,
        labels=columns.labels,
        known=columns.known,
        names=None if names == tuple(map(str, range(len(names)))) else names,
        **end_to_end([columns.arrays(tree) for tree in trees]),
    )


def _document(
    model: CatBoostClassifier, people: TableLike | None, chosen: list[int]
) -> dict[str, Any]:
    """The model as its library writes it, with the hashes of the people's categories."""
    library = importlib.import_module("catboost")
    pool = library.Pool(people, cat_features=chosen) if chosen else None
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.json")
        model.save_model(str(file), format="json", pool=pool)
        document: dict[str, Any] = json.loads(file.read_text())
    return document


class _Columns:
    """The columns of a model, and its trees over them.

    labels, known : as in LibraryTrees.
    """

    def __init__(
        self, features: Mapping[str, Any], people: TableLike | None, chosen: list[int]
    ) -> None:
        numbers, words = (features.get(f"{kind}_features", []) for kind in ("float", "categorical"))
        self._number = {one["feature_index"]: one for one in numbers}
        self._word = {one["feature_index"]: one["flat_feature_index"] for one in words}
        self.known = {j: _categories(people, j) for j in chosen}
        self.labels = {j: values for j, values in self.known.items() if isinstance(values[0], str)}
        text = {one["hash"]: one["value"] for one in features.get("cat_features_hash", [])}
        self._code = {
            (j, value): self.labels[j].index(word) if j in self.labels else int(word)
            for value, word in text.items()
            for j, values in self.known.items()
            if word in map(str, values)
        }

    def _split(self, split: Mapping[str, Any]) -> dict[str, Any]:
        """Column, threshold and side of missing values; a category goes left, others right."""
        if split["split_type"] == CATEGORY:
            j = self._word[split["cat_feature_index"]]
            code = self._code.get((j, split["value"] % 2**32))
            codes = np.array([] if code is None else [code], np.int64)
            return {"column": j, "threshold": 0.0, "missing_left": False, "codes": codes}
        if split["split_type"] != BORDER:
            raise InvalidSpec(
                f"The CatBoost model splits by {split['split_type']}; only numbers and categories "
                "that are one-hot encoded (one_hot_max_size) are supported."
            )
        feature = self._number[split["float_feature_index"]]
        return {
            "column": feature["flat_feature_index"],
            "threshold": float(np.float32(split["border"])),
            "missing_left": feature["nan_value_treatment"] != "AsTrue",
        }

    def arrays(self, tree: Mapping[str, Any]) -> TreeArrays:
        """A tree of nested nodes as arrays."""
        nodes: list[dict[str, Any]] = [{}]
        waiting = [(0, tree)]
        while waiting:
            place, here = waiting.pop()
            if "split" not in here:
                if not isinstance(here["value"], (int, float)):
                    raise InvalidSpec("CatBoost's trees with several outputs are not supported.")
                nodes[place] = {"value": here["value"]}
                continue
            split = self._split(here["split"])
            names = ("right", "left") if "codes" in split else ("left", "right")
            nodes[place] = split | {"left": len(nodes), "right": len(nodes) + 1}
            waiting += [(len(nodes) + k, here[name]) for k, name in enumerate(names)]
            nodes += [{}, {}]
        return _arrays(nodes)

    def frame(self, seen: np.ndarray, names: tuple[str, ...]) -> pd.DataFrame:
        """Rows as the library takes them: categories as text or whole numbers."""
        table = pd.DataFrame(seen, columns=list(names))
        for j, known in self.known.items():
            codes = seen[:, j].astype(np.int64)
            values = np.array(known, object)[codes] if j in self.labels else codes
            table[names[j]] = values
        return table


def _nested(splits: Sequence[object], values: Sequence[float]) -> dict[str, Any]:
    """A tree whose levels have one split each, node by node; bit s of a leaf is for split s."""
    if len(values) != 2 ** len(splits):
        raise InvalidSpec("CatBoost's trees with several outputs are not supported.")
    if not splits:
        return {"value": values[0]}
    left, right = (_nested(splits[1:], values[k::2]) for k in (0, 1))
    return {"split": splits[0], "left": left, "right": right}


def _categories(people: TableLike | None, j: int) -> list[Any]:
    """The values of a column that CatBoost takes as categories."""
    table = read_table(people)
    values = pd.unique(table.labels(table.names[j])).tolist()
    for kind in (str, int):
        if all(isinstance(value, kind) and not isinstance(value, bool) for value in values):
            return values
    raise InvalidSpec(
        f"Column {table.names[j]!r}, which CatBoost takes as categories, must hold text or whole "
        f"numbers, got {type(values[0]).__name__}."
    )


def _arrays(nodes: list[dict[str, Any]]) -> TreeArrays:
    default = {"column": -1, "threshold": 0.0, "missing_left": False, "left": -1, "right": -1}
    default["value"] = 0.0
    arrays: TreeArrays = {
        name: np.array([node.get(name, other) for node in nodes]) for name, other in default.items()
    }
    arrays["value"] = arrays["value"].astype(np.float64)
    return arrays | {"codes": {k: node["codes"] for k, node in enumerate(nodes) if "codes" in node}}

"""ONNX: the whole model, from the columns of a table to class and probabilities."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec, how_to_install
from ract._utils.version import __version__
from ract.data.encoder import Axis
from ract.io.export.source import Source, label_kind
from ract.trees.ensemble import TreeEnsemble
from ract.trees.fingerprint import model_fingerprint

OPSETS = {"": 17, "ai.onnx.ml": 3}
# Trees, and what each of their leaves adds to two totals.
Part = tuple[TreeEnsemble, np.ndarray]

IR_VERSION = 8  # that of the opsets above; runtimes refuse newer ones than they know


def to_onnx(model: object) -> Any:
    """An ONNX model with the same decisions.

    It has one input of shape (people, 1) for each column of the table, under the column's name:
    text for text categories, doubles for everything else (0 and 1 for bools). Its outputs are
    ``label`` (people,) and ``probabilities`` (people, 2), in the order of the classes. Where votes
    are counted, labels are equal for everyone, since thresholds stay doubles and votes are whole
    numbers. Sums and means are added up in double precision too, but not in the same order:
    labels are equal for everyone whose score differs from the cut-off by more than the last digits.
    Probabilities are equal to single precision. Missing numbers (NaN) go where they go in the
    model; one whose categories are missing for some is refused, and one of XGBoost, which adds up
    in single precision. A category that training did not have is refused by the runtime.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(to_onnx(model), "model.onnx")`` writes it.
    """
    source = Source.of(model)
    source.refuse_singles("ONNX")
    if source.ensemble.combine == "sum" and source.steepness is None:
        raise InvalidSpec(
            "The probabilities of this imported model are not a logistic curve of its sum; export "
            "it with its own library's tools."
        )
    source.refuse_missing_categories("ONNX")
    graph = Graph()
    encoded = graph.node(
        "Concat", [graph.axis(axis) for axis in source.encoder.axes], axis=1, name="encoded"
    )
    totals = graph.trees(_parts(source), _bases(source), encoded)
    graph.decide(source, totals)
    return graph.model(source, model_fingerprint(model))


class Graph:
    """A graph in the making."""

    def __init__(self) -> None:
        try:
            self.onnx = importlib.import_module("onnx")
        except ImportError:
            raise InvalidSpec(f"ONNX needs the onnx package: {how_to_install('onnx')}.") from None
        self.helper = self.onnx.helper
        self.nodes: list[Any] = []
        self.inputs: list[Any] = []
        self.constants: list[Any] = []

    def node(
        self, kind: str, inputs: list[str], *, name: str = "", domain: str = "", **given: Any
    ) -> str:
        """Add a node; the name of its output."""
        name = name or f"{kind.lower()}{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, inputs, [name], domain=domain, **given))
        return name

    def constant(self, array: np.ndarray) -> str:
        """Add a constant; its name."""
        name = f"constant{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def input(self, name: str, *, text: bool) -> str:
        """Add an input for a column of the table."""
        kind = self.onnx.TensorProto.STRING if text else self.onnx.TensorProto.DOUBLE
        self.inputs.append(self.helper.make_tensor_value_info(name, kind, [None, 1]))
        return name

    def axis(self, axis: Axis) -> str:
        """Inputs of a feature, made into its encoded columns (people x columns)."""
        feature = axis.feature
        if feature.columns:
            return self.node("Concat", [self.input(n, text=False) for n in feature.columns], axis=1)
        if not feature.is_categorical:
            return self.input(feature.name, text=False)
        double = self.onnx.TensorProto.DOUBLE
        if label_kind(feature.categories, f"Feature {feature.name!r}") == "text":
            words, given = [self.input(feature.name, text=True)], list(feature.categories)
            made = self.node(
                "OneHotEncoder", words, domain="ai.onnx.ml", cats_strings=given, zeros=0
            )
            shape = self.constant(np.array([-1, len(feature.categories)], np.int64))
            made = self.node("Reshape", [made, shape])
        else:
            values = self.constant(np.array([feature.categories], np.float64))
            made = self.node("Equal", [self.input(feature.name, text=False), values])
        return self.node("Cast", [made], to=double)

    def trees(self, parts: list[Part], bases: np.ndarray, encoded: str) -> str:
        """What the trees of several ensembles add to two totals, from bases on (people x 2)."""
        tensor, given = self.onnx.numpy_helper.from_array, [_nodes(*part) for part in parts]
        n_trees = np.cumsum([0, *(part[0].n_trees for part in parts)])
        for nodes, first in zip(given, n_trees, strict=False):
            nodes["nodes_treeids"] += first
            nodes["target_treeids"] += first
        joined = {name: np.concatenate([nodes[name] for nodes in given]) for name in given[0]}
        doubles = {
            f"{name}_as_tensor": tensor(joined.pop(name), name)
            for name in ("nodes_values", "target_weights")
        }
        if bases.any():
            doubles["base_values_as_tensor"] = tensor(bases, "bases")
        return self.node(
            "TreeEnsembleRegressor", [encoded], domain="ai.onnx.ml", name="totals", n_targets=2,
            **{name: array.tolist() for name, array in joined.items()}, **doubles,
        )  # fmt: skip

    def decide(self, source: Source, totals: str) -> None:
        """From totals to a label, and probabilities."""
        ensemble, single = source.ensemble, np.float32
        first, second = (self.constant(np.array(k, np.int64)) for k in (0, 1))
        score = self.node("Gather", [totals, first], axis=1)
        by_votes = ensemble.combine == "votes"
        needed = self.constant(np.array(ensemble.cutoff if by_votes else 0.0, single))
        decided = self.node("GreaterOrEqual", [score, needed], name="decided")
        counted = self.node("Gather", [totals, second], axis=1)
        if source.steepness is not None:
            steepness = self.constant(np.array(source.steepness, single))
            share = self.node("Sigmoid", [self.node("Mul", [counted, steepness])])
        else:
            share = self.node("Div", [counted, self.constant(np.array(ensemble.n_trees, single))])
        other = self.node("Sub", [self.constant(np.array(1, single)), share])
        column = self.constant(np.array([1], np.int64))
        both = [other, share] if source.k == 1 else [share, other]
        both = [self.node("Unsqueeze", [one, column]) for one in both]
        self.node("Concat", both, axis=1, name="probabilities")
        wins, loses = (self.constant(np.array(k, np.int64)) for k in (source.k, 1 - source.k))
        which = self.node("Where", [decided, wins, loses])
        self.node("Gather", [self.constant(_classes(source)), which], name="label", axis=0)

    def model(self, source: Source, fingerprint: str) -> Any:
        """The finished model, checked by the onnx package."""
        types = self.onnx.TensorProto
        kind = self.helper.np_dtype_to_tensor_dtype(_classes(source).dtype)
        outputs = [
            self.helper.make_tensor_value_info("label", kind, [None]),
            self.helper.make_tensor_value_info("probabilities", types.FLOAT, [None, 2]),
        ]
        graph = self.helper.make_graph(
            self.nodes, "ract", self.inputs, outputs, initializer=self.constants
        )
        model = self.helper.make_model(
            graph,
            opset_imports=[self.helper.make_opsetid(name, v) for name, v in OPSETS.items()],
            ir_version=IR_VERSION,
            producer_name="ract",
            producer_version=__version__,
        )
        self.helper.set_model_props(model, {"fingerprint": fingerprint})
        self.onnx.checker.check_model(model)
        return model


def _parts(source: Source) -> list[Part]:
    """Trees, and what each leaf adds to the total that decides and to that of probabilities."""
    ensemble = source.ensemble
    leaves, none = ensemble.leaves, np.zeros(len(ensemble.leaves))
    value = ensemble.value[leaves]
    if ensemble.combine == "votes":
        decides = (ensemble.label[leaves] == 1).astype(np.float64)
    else:
        decides = value if ensemble.against is None else value - ensemble.against[leaves]
    if source.gives is None:
        return [(ensemble, np.column_stack([decides, value]))]
    gives = source.gives.value[source.gives.leaves]
    return [
        (ensemble, np.column_stack([decides, none])),
        (source.gives, np.column_stack([np.zeros(len(gives)), gives])),
    ]


def _bases(source: Source) -> np.ndarray:
    """What the two totals start from: the first is 0 or more for those who are accepted."""
    ensemble = source.ensemble
    if ensemble.combine == "votes":
        return np.zeros(2)
    if ensemble.combine == "sum":
        gives = ensemble if source.gives is None else source.gives
        return np.array([ensemble.base - ensemble.cutoff, gives.base])
    # A mean of shares is often just one half, and added up in another order it still is.
    largest = np.abs(ensemble.value[ensemble.leaves]).max() + abs(ensemble.cutoff)
    rounding = 4 * ensemble.n_trees**2 * np.finfo(np.float64).eps * largest
    start = ensemble.base + (ensemble.share_at_zero or 0) * ensemble.n_trees
    if ensemble.against is not None:
        return np.array([-rounding if ensemble.cutoff > 0.5 else rounding, start])
    return np.array([ensemble.base - ensemble.cutoff * ensemble.n_trees + rounding, start])


def _nodes(ensemble: TreeEnsemble, weights: np.ndarray) -> dict[str, np.ndarray]:
    """The attributes of an ensemble's trees, as arrays."""
    n = len(ensemble.feature)
    tree = np.searchsorted(ensemble.root, np.arange(n), side="right") - 1
    within, leaf, leaves = np.arange(n) - ensemble.root[tree], ensemble.feature < 0, ensemble.leaves
    left, right = (
        np.where(leaf, 0, child - ensemble.root[tree]) for child in (ensemble.left, ensemble.right)
    )
    return {
        "nodes_treeids": tree,
        "nodes_nodeids": within,
        "nodes_featureids": np.where(leaf, 0, ensemble.feature),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ"),
        "nodes_values": np.where(leaf, 0.0, ensemble.threshold),
        "nodes_truenodeids": left,
        "nodes_falsenodeids": right,
        "nodes_missing_value_tracks_true": (ensemble.sends_left & ~leaf).astype(int),
        "target_treeids": np.repeat(tree[leaves], 2),
        "target_nodeids": np.repeat(within[leaves], 2),
        "target_ids": np.tile([0, 1], len(leaves)),
        "target_weights": weights.astype(np.float64).ravel(),
    }


def _classes(source: Source) -> np.ndarray:
    labels = source.classes.tolist()
    if label_kind(labels, "The target") == "text":
        return np.array(labels, dtype=object)
    whole = all(isinstance(value, (bool, int)) for value in labels)
    return np.array(labels, np.int64 if whole else np.float64)

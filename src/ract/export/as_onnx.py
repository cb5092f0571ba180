"""ONNX: the whole model, from the columns of a table to class and probabilities."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from ract._fingerprint import model_fingerprint
from ract._version import __version__
from ract.encoding import Axis
from ract.errors import InvalidSpec
from ract.export.source import Source, kind_of

OPSETS = {"": 17, "ai.onnx.ml": 3}
IR_VERSION = 8  # that of the opsets above; runtimes refuse newer ones than they know


def to_onnx(model: Any) -> Any:
    """An ONNX model with the same decisions.

    It has one input of shape (people, 1) for each column of the table, under the column's name:
    text for text categories, doubles for everything else (0 and 1 for bools). Its outputs are
    ``label`` (people,) and ``probabilities`` (people, 2), in the order of the classes. Labels
    are equal for everyone, since thresholds stay doubles and votes are whole numbers;
    probabilities are equal to single precision. Missing numbers (NaN) go where they go in the
    model; one whose categories are missing for some is refused. A category that training did not
    have is refused by the runtime.

    Parameters
    ----------
    model : fitted tree or forest of ract, or an imported single tree

    Returns
    -------
    onnx.ModelProto
        ``onnx.save(to_onnx(model), "model.onnx")`` writes it.
    """
    source = Source.of(model)
    source.require_votes("ONNX")
    source.refuse_missing_categories("ONNX")
    graph = Graph()
    encoded = graph.node(
        "Concat", [graph.axis(axis) for axis in source.encoder.axes], axis=1, name="encoded"
    )
    totals = graph.trees(source, encoded)
    graph.decide(source, totals)
    return graph.model(source, model_fingerprint(model))


class Graph:
    """A graph in the making."""

    def __init__(self) -> None:
        try:
            self.onnx = importlib.import_module("onnx")
        except ImportError:
            raise InvalidSpec('ONNX needs the onnx package: pip install "ract[onnx]".') from None
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
        if kind_of(feature.categories, f"Feature {feature.name!r}") == "text":
            made = self.node(
                "OneHotEncoder", [self.input(feature.name, text=True)], domain="ai.onnx.ml",
                cats_strings=list(feature.categories), zeros=0,
            )  # fmt: skip
            shape = self.constant(np.array([-1, len(feature.categories)], np.int64))
            made = self.node("Reshape", [made, shape])
        else:
            values = self.constant(np.array([feature.categories], np.float64))
            made = self.node("Equal", [self.input(feature.name, text=False), values])
        return self.node("Cast", [made], to=double)

    def trees(self, source: Source, encoded: str) -> str:
        """Votes for the desired class and sum of its shares (people x 2)."""
        ensemble = source.ensemble
        n = len(ensemble.feature)
        tree = np.searchsorted(ensemble.root, np.arange(n), side="right") - 1
        within = np.arange(n) - ensemble.root[tree]
        leaf = ensemble.feature < 0
        child = {
            side: np.where(leaf, 0, getattr(ensemble, side) - ensemble.root[tree])
            for side in ("left", "right")
        }
        leaves = ensemble.leaves
        weights = np.column_stack([ensemble.label[leaves] == 1, ensemble.value[leaves]])
        tensor = self.onnx.numpy_helper.from_array
        return self.node(
            "TreeEnsembleRegressor", [encoded], domain="ai.onnx.ml", name="totals",
            n_targets=2,
            nodes_treeids=tree.tolist(),
            nodes_nodeids=within.tolist(),
            nodes_featureids=np.where(leaf, 0, ensemble.feature).tolist(),
            nodes_modes=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_values_as_tensor=tensor(np.where(leaf, 0.0, ensemble.threshold), "thresholds"),
            nodes_truenodeids=child["left"].tolist(),
            nodes_falsenodeids=child["right"].tolist(),
            nodes_missing_value_tracks_true=(source.sent_left & ~leaf).astype(int).tolist(),
            target_treeids=np.repeat(tree[leaves], 2).tolist(),
            target_nodeids=np.repeat(within[leaves], 2).tolist(),
            target_ids=np.tile([0, 1], len(leaves)).tolist(),
            target_weights_as_tensor=tensor(weights.astype(np.float64).ravel(), "weights"),
        )  # fmt: skip

    def decide(self, source: Source, totals: str) -> None:
        """From totals to a label, and probabilities on the decision's side of one half."""
        ensemble, single = source.ensemble, np.float32
        first, second = (self.constant(np.array(k, np.int64)) for k in (0, 1))
        votes = self.node("Gather", [totals, first], axis=1)
        needed = self.constant(np.array(ensemble.cutoff, single))
        decided = self.node("GreaterOrEqual", [votes, needed], name="decided")
        counted = votes if source.by_votes else self.node("Gather", [totals, second], axis=1)
        share = self.node("Div", [counted, self.constant(np.array(ensemble.n_trees, single))])
        above = np.nextafter(single(0.5), single(1))
        high = self.node("Max", [share, self.constant(np.array(above))])
        low = self.node("Min", [share, self.constant(np.array(single(1) - above))])
        held = self.node("Where", [decided, high, low])
        other = self.node("Sub", [self.constant(np.array(1, single)), held])
        column = self.constant(np.array([1], np.int64))
        both = [other, held] if source.k == 1 else [held, other]
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


def _classes(source: Source) -> np.ndarray:
    labels = source.classes.tolist()
    if kind_of(labels, "The target") == "text":
        return np.array(labels, dtype=object)
    whole = all(isinstance(value, (bool, int)) for value in labels)
    return np.array(labels, np.int64 if whole else np.float64)

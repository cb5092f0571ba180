"""Trees in words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ract._utils.typing import Label
from ract.data.encoder import Encoder
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers.model import FittedTrees


@dataclass(frozen=True)
class Words:
    """Nodes of a model in words.

    Parameters
    ----------
    ensemble : TreeEnsemble
    encoder : Encoder
    desired, undesired : label
    decimals : int
    """

    ensemble: TreeEnsemble
    encoder: Encoder
    desired: Label
    undesired: Label
    decimals: int = 2

    @classmethod
    def of(cls, model: FittedTrees, decimals: int = 2) -> Words:
        """The words of a fitted classifier."""
        check_is_fitted(model)
        undesired = model.classes_[model.classes_ != model.desired_][0]
        return cls(model.ensemble_, model.encoder_, model.desired_, undesired, decimals)

    def condition(self, node: int, *, right: bool) -> str:
        """What holds for people who go left, or right, at a node.

        People without a value of a feature that has missing values are named on their side.
        """
        column = int(self.ensemble.feature[node])
        axis = next(axis for axis in self.encoder.axes if column in axis.columns)
        feature = axis.feature
        if feature.is_categorical:
            category = (*feature.categories, "missing")[axis.columns.index(column)]
            return f"{feature.name} is {'' if right else 'not '}{category}"
        threshold = float(self.ensemble.threshold[node])
        if np.isinf(threshold):
            return f"{feature.name} is {'missing' if right else 'known'}"
        sent_left = self.ensemble.missing_left is not None and self.ensemble.missing_left[node] == 1
        also = " or missing" if axis.has_missing and sent_left != right else ""
        if feature.kind == "binary":
            return f"{feature.name} is {int(right)}{also}"
        if feature.kind == "integer":
            bound = np.floor(threshold) + right
            return f"{feature.name} {'>=' if right else '<='} {bound:,.0f}{also}"
        return f"{feature.name} {'>' if right else '<='} {threshold:,.{self.decimals}f}{also}"

    def is_desired(self, leaf: int) -> bool:
        """Whether a leaf gives the desired class."""
        return bool(self.ensemble.label[leaf] == 1)

    def is_for_recourse(self, leaf: int) -> bool:
        """Whether a leaf gives the desired class although most of its people did not have it."""
        labelled = self.ensemble.combine != "sum"
        return labelled and self.is_desired(leaf) and bool(self.ensemble.value[leaf] < 0.5)

    def leaf(self, leaf: int) -> str:
        """Class, share of the desired class, and whether the leaf is there for recourse.

        Of trees that add up, what the leaf adds to the score of the desired class.
        """
        if self.ensemble.combine == "sum":
            return f"{self.ensemble.value[leaf]:+.{self.decimals + 1}f}"
        label = self.desired if self.is_desired(leaf) else self.undesired
        mark = ", for recourse" if self.is_for_recourse(leaf) else ""
        return f"{label} ({self.ensemble.value[leaf]:.0%} {self.desired}{mark})"


def export_text(
    model: FittedTrees, *, tree: int = 0, max_depth: int = 10, decimals: int = 2
) -> str:
    """A fitted tree, or one tree of a forest or booster, as indented text.

    Leaves that give the desired class against the majority of their people are marked "for
    recourse". Leaves of a booster show what they add to the score of the desired class.

    Parameters
    ----------
    model : fitted classifier
    tree : int
        Which tree of a forest or booster.
    max_depth : int
        Deeper branches are cut off.
    decimals : int
        Of thresholds of continuous features.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> tree, loans = loans_tree(max_depth=1)
    >>> print(export_text(tree))
    |--- LatePayments <= 1
    |   |--- approved (79% approved)
    |--- LatePayments >= 2
    |   |--- refused (30% approved)
    """
    words = Words.of(model, decimals)
    ensemble = words.ensemble
    lines: list[str] = []

    def write(node: int, depth: int) -> None:
        indent = "|   " * depth + "|--- "
        if ensemble.feature[node] < 0:
            lines.append(indent + words.leaf(node))
        elif depth == max_depth:
            lines.append(indent + "...")
        else:
            for child, right in ((ensemble.left[node], False), (ensemble.right[node], True)):
                lines.append(indent + words.condition(node, right=right))
                write(int(child), depth + 1)

    write(int(ensemble.root[tree]), 0)
    return "\n".join(lines)

"""What a fit found out, written to an estimator in one place.

Growing here, growing on workers and reading a model file all end in one of these states, whose
fields are the fitted attributes without their underscore.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from ract._utils.typing import Label
from ract.data.costs import FittedCost
from ract.data.encoder import Encoder
from ract.models.guarantee import Guarantee
from ract.trees.ensemble import TreeEnsemble

if TYPE_CHECKING:
    from ract.recourse import LastingCurve

# The attribute is there only if the fit found it out.
IF_KNOWN = {"if_known": True}


@dataclass(frozen=True, kw_only=True)
class FitState:
    """What every fitted estimator has; meanings are those of its attributes."""

    classes: np.ndarray
    desired: Label
    encoder: Encoder
    cost: FittedCost
    ensemble: TreeEnsemble
    n_features_in: int
    feature_names_in: np.ndarray | None = field(default=None, metadata=IF_KNOWN)
    recourse_weight: float = 0.0
    min_leaf_share: float = 0.0
    threshold: float | None = field(default=None, metadata=IF_KNOWN)
    monotonic: dict[str, int] | None = field(default=None, metadata=IF_KNOWN)
    grid_error: float | None = field(default=None, metadata=IF_KNOWN)
    training_rows: np.ndarray | None = None
    lasting: LastingCurve | None = field(default=None, metadata=IF_KNOWN)
    reference: np.ndarray | None = field(default=None, metadata=IF_KNOWN)

    def write_to(self, estimator: object) -> None:
        """Make an estimator a fitted one; what an earlier fit left is taken away."""
        for attribute in fields(self):
            name, value = f"{attribute.name}_", getattr(self, attribute.name)
            if value is not None or not attribute.metadata.get("if_known"):
                setattr(estimator, name, value)
            elif hasattr(estimator, name):
                delattr(estimator, name)


@dataclass(frozen=True, kw_only=True)
class TreeState(FitState):
    """A fitted tree."""

    guarantee: Guarantee | None = None
    recourse_risk: float | None = field(default=None, metadata=IF_KNOWN)


@dataclass(frozen=True, kw_only=True)
class ForestState(FitState):
    """A fitted forest."""

    oob_score: float | None = field(default=None, metadata=IF_KNOWN)
    oob_decision_function: np.ndarray | None = field(default=None, metadata=IF_KNOWN)
    oob_recourse_ratio: float | None = field(default=None, metadata=IF_KNOWN)


@dataclass(frozen=True, kw_only=True)
class BoostingState(FitState):
    """A fitted booster."""

    n_iter: int
    probability_ensemble: TreeEnsemble | None = None
    validation_loss: np.ndarray | None = None

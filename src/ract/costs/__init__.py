"""How much effort an action takes.

Every cost but one is built from *levels*: a non-decreasing scale per encoded column (a
percentile, a multiple of the standard deviation, ...), on which the effort of moving from
``x`` to ``v`` is ``|level(v) - level(x)|``. The efforts of all columns are then combined by
their maximum (what training needs, the paper's assumption ii), their sum or their Euclidean
norm. The exception is the Mahalanobis distance, which does not split by column.
"""

from ract.costs.fitted import (
    FittedMahalanobis,
    LevelCost,
    LinearCost,
    require_max_norm,
    reweighted,
)
from ract.costs.named import fit_cost, make_cost
from ract.costs.percentile import LogPercentileCost, PercentileCost
from ract.costs.protocols import Cost, FittedCost, MissingCell, Supply
from ract.costs.scaled import MahalanobisCost, ScaledCost

__all__ = [
    "Cost",
    "FittedCost",
    "FittedMahalanobis",
    "LevelCost",
    "LinearCost",
    "LogPercentileCost",
    "MahalanobisCost",
    "MissingCell",
    "PercentileCost",
    "ScaledCost",
    "Supply",
    "fit_cost",
    "make_cost",
    "require_max_norm",
    "reweighted",
]

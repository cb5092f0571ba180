"""How much effort an action takes.

Every cost is built from *levels*: a non-decreasing scale per encoded column (a
percentile, a multiple of the standard deviation, ...), on which the effort of moving from
``x`` to ``v`` is ``|level(v) - level(x)|``. The efforts of all columns are then combined by
their maximum (what training needs, the paper's assumption ii) or their sum.
"""

from ract.data.costs.fitted import (
    FittedCombined,
    LevelCost,
    LinearCost,
    RelativeLevels,
    refuse_percent,
    require_max_norm,
    reweighted,
)
from ract.data.costs.named import CombinedCost, fit_cost, make_cost
from ract.data.costs.percentile import LogPercentileCost, PercentileCost
from ract.data.costs.protocols import Cost, FittedCost, MissingCell, Supply
from ract.data.costs.scaled import RelativeCost, ScaledCost
from ract.data.edge import ceiling, within

__all__ = [
    "CombinedCost",
    "Cost",
    "FittedCombined",
    "FittedCost",
    "LevelCost",
    "LinearCost",
    "LogPercentileCost",
    "MissingCell",
    "PercentileCost",
    "RelativeCost",
    "RelativeLevels",
    "ScaledCost",
    "Supply",
    "ceiling",
    "fit_cost",
    "make_cost",
    "refuse_percent",
    "require_max_norm",
    "reweighted",
    "within",
]

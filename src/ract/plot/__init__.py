"""Drawings in scikit-learn's display style, made on this machine with matplotlib."""

from ract.plot.groups import GroupDisplay
from ract.plot.people import BudgetDisplay, CostDisplay, PlanDisplay
from ract.plot.tradeoff import TradeoffDisplay
from ract.plot.tree import plot_tree

__all__ = [
    "BudgetDisplay",
    "CostDisplay",
    "GroupDisplay",
    "PlanDisplay",
    "TradeoffDisplay",
    "plot_tree",
]

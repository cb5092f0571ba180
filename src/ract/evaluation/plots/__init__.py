"""Drawings in scikit-learn's display style, made on this machine with matplotlib.

Examples
--------
>>> from matplotlib.figure import Figure
>>> from ract.models.examples import loans_tree
>>> tree, loans = loans_tree(max_depth=3)
>>> recourse = tree.recourse(loans.frame)
>>> CostDisplay.from_recourse(recourse, ax=Figure().subplots()).ax_.get_xlabel()
'cost of the cheapest plan'
>>> person = int(recourse.found.argmax())
>>> PlanDisplay.from_recourse(recourse, person, ax=Figure().subplots()).ax_.get_xlabel()
'shaded: values that are proved to be accepted too'
>>> ax = plot_tree(tree, ax=Figure().subplots())
>>> len(ax.texts) == len(tree.ensemble_.feature)
True
"""

from ract.evaluation.plots.curves import AdoptionDisplay, BookDisplay, TradeoffDisplay
from ract.evaluation.plots.plans import BudgetDisplay, CostDisplay, LeversDisplay, PlanDisplay
from ract.evaluation.plots.shares import GroupDisplay, PromisesDisplay, SendableDisplay
from ract.evaluation.plots.tree import plot_tree

__all__ = [
    "AdoptionDisplay",
    "BookDisplay",
    "BudgetDisplay",
    "CostDisplay",
    "GroupDisplay",
    "LeversDisplay",
    "PlanDisplay",
    "PromisesDisplay",
    "SendableDisplay",
    "TradeoffDisplay",
    "plot_tree",
]

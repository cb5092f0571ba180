"""What the paper's experiments consist of, as data.

Everything is taken from the paper and, where it is silent, from the code and the result files that
its authors published. ``weight`` is the paper's lambda, ``risk`` its delta, ``budget`` its epsilon.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from experiments.data import DATA, DataSetting

VANILLA, OAF, RACT = "Baseline", "Baseline (OAF)", "RACT"
METHODS = (VANILLA, OAF, RACT)
METHOD_NAMES = {VANILLA: "Vanilla", OAF: "OAF", RACT: "RACT"}

MAX_LEAVES = 1000
TREE_WEIGHTS = (0.0, 0.025, 0.05, 0.075, 0.1)
RISKS = (0.2, 0.25, 0.3, 0.35, 0.4)


@dataclass(frozen=True)
class Experiment:
    """One experiment on each of the data sets.

    Parameters
    ----------
    name, title : str
    recorded : str
        Where the authors' results are, with ``{}`` for the letter of the data set.
    model : {"forest", "tree"}
        Forests are tested in stratified folds in the order of the file, trees on random quarters.
    n_folds : int
    n_trees : tuple of int
        Sizes of forest to compare.
    max_depth : int
    budgets : tuple of float
    selected_only : bool
        Only the selected weight, not all of them.
    search : {"leaves", "causal", "exact"}
        How actions are extracted: from the first leaves, from the first leaves when effects follow
        (Table 4 of the paper), or by exact search without a budget.
    max_people : int or None
        How many refused people of a fold are searched for.
    max_nodes : int
        Of the exact search per person, after which it gives up.
    authors_reach : bool
        Whether trees are grown by the reach of the authors' first code. Before the last experiment
        they corrected it to that of the paper.
    """

    name: str
    title: str
    recorded: str
    model: Literal["forest", "tree"]
    n_folds: int
    n_trees: tuple[int, ...] = (200,)
    max_depth: int = 16
    budgets: tuple[float, ...] = (0.3,)
    selected_only: bool = False
    search: Literal["leaves", "causal", "exact"] = "leaves"
    max_people: int | None = None
    max_nodes: int = 500
    authors_reach: bool = True

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns that say which row is which."""
        first = ("Fold", "Method", "Alpha")
        if self.model == "tree":
            return (*first, "Delta", "Budget")
        return (*first, "Budget", "N_ESTIMATORS") if len(self.n_trees) > 1 else (*first, "Budget")

    def weights(self, data: DataSetting) -> tuple[float, ...]:
        """Weights of recourse to compare."""
        if self.model == "tree":
            return TREE_WEIGHTS
        return (data.forest_weight,) if self.selected_only else data.forest_weights

    def settings(self) -> dict[str, Any]:
        """Everything that results depend on, for files."""
        data = {name: asdict(setting) for name, setting in DATA.items()}
        return {**asdict(self), "data": data, "max_leaves": MAX_LEAVES}


_FORESTS = Experiment(
    "forests", "Forests: baseline comparison and trade-off", "main/{}_forest.csv", "forest", 10
)
_TREES = Experiment(
    "trees", "Trees: baseline comparison and trade-off", "main/{}_tree.csv", "tree", 30,
    n_trees=(1,), max_depth=64,
)  # fmt: skip
_OTHER_BUDGETS = (0.1, 0.2, 0.4, 0.5)

EXPERIMENTS = {
    experiment.name: experiment
    for experiment in (
        _FORESTS,
        _TREES,
        replace(
            _FORESTS, name="complexity", title="Forests: number of trees",
            recorded="complexity/{}_forest.csv", n_trees=(100, 400),
        ),
        replace(
            _FORESTS, name="budget-forests", title="Forests: budget",
            recorded="budget/{}_forest.csv", budgets=_OTHER_BUDGETS,
        ),
        replace(
            _TREES, name="budget-trees", title="Trees: budget", recorded="budget/{}_tree.csv",
            budgets=_OTHER_BUDGETS,
        ),
        replace(
            _FORESTS, name="exact", title="Forests: exact extraction",
            recorded="milo/{}_forest.csv", n_trees=(100,), max_depth=8, selected_only=True,
            search="exact", max_people=50, max_nodes=1_000_000, authors_reach=False,
        ),
        replace(
            _FORESTS, name="causal-forests", title="Forests: causal recourse",
            recorded="causal/{}_forest_causal.csv", search="causal",
        ),
        replace(
            _TREES, name="causal-trees", title="Trees: causal recourse",
            recorded="causal/{}_tree_causal.csv", search="causal",
        ),
    )
}  # fmt: skip

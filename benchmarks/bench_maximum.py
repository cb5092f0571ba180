"""The smallest maximum beside other programs: one run, the same forests, people and allowed values.

    python benchmarks/bench_maximum.py [--people 20] [--seconds 20] [--trees 20 100]

FICO, first fold, gini forests that vote, depth 8, budget 0.3. Needs ortools (``ract[solver]``);
Veritas (``pip install dtai-veritas``) and treecf (``pip install treecf``) are left out with a note
where they are not installed. All get the trees in cells, so that thresholds, bounds, directions
and whole numbers are the same for all of them, and one core. Seconds are of the processor, per
person; the first search of ours, which loads compiled code, is not counted.

Veritas and treecf do not know the cost. They are asked whether a person has enough votes inside the
box of what costs at most so much, by bisection over the costs that cells have, starting from the
budget. The second table asks for what treecf minimises itself: the number of cells moved, within
the budget's box.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import cached_property  # noqa: E402

import numpy as np  # noqa: E402
from bench_peers import treecf_trees  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402

from ract import Feature, RecourseForestClassifier  # noqa: E402
from ract._utils.status import Status  # noqa: E402
from ract.data import datasets  # noqa: E402
from ract.data.costs import LinearCost  # noqa: E402
from ract.data.encoder import Axis  # noqa: E402
from ract.recourse.common.problem import CellProblem  # noqa: E402
from ract.recourse.exact.search import ExactSearch  # noqa: E402
from ract.recourse.solver import SolverSearch  # noqa: E402
from ract.trees.ensemble import TreeEnsemble  # noqa: E402
from ract.trees.grower import to_cell_trees  # noqa: E402

BUDGET = 0.3
YES, NO, UNKNOWN = "yes", "no", "unknown"


@dataclass
class Forest:
    """A fitted forest, the people whom it refuses, and both in cells."""

    model: RecourseForestClassifier
    people: np.ndarray

    @cached_property
    def problem(self) -> CellProblem:
        return CellProblem(self.model.ensemble_, self.model.encoder_.axes, self.model.cost_)

    @cached_property
    def in_cells(self) -> TreeEnsemble:
        """The same trees over cell numbers: cell <= b goes left."""
        ensemble = self.model.ensemble_
        trees = to_cell_trees(ensemble, self.problem.grid)
        axis = np.concatenate([tree.axis for tree in trees])
        cell = np.concatenate([tree.cell for tree in trees])
        return replace(ensemble, feature=axis, threshold=cell + 0.5)

    def prices(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Own cells of a person, and what every cell costs them (axes x cells)."""
        own = self.problem.cells(self.people[i : i + 1])[0]
        return own, self.problem.prices.of_person(self.people[i])[0]


def fitted(n_trees: int, weight: float, n_people: int) -> Forest:
    data = datasets.fetch_fico()
    y = data.target.to_numpy()
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    model = RecourseForestClassifier(
        data.actions, cost="kernel-percentile", recourse_weight=weight, n_estimators=n_trees,
        max_depth=8, min_samples_leaf=1, random_state=0, n_jobs=2,
    ).fit(data.frame.iloc[train], y[train])  # fmt: skip
    matrix = model.encoder_.matrix(data.frame.iloc[test])
    return Forest(model, matrix[~model.ensemble_.decide(matrix)][:n_people])


def box(costs: np.ndarray, limit: float) -> tuple[np.ndarray, np.ndarray]:
    """First and last cell of each axis that costs at most so much."""
    within = costs <= limit
    return within.argmax(axis=1), within.shape[1] - 1 - within[:, ::-1].argmax(axis=1)


class Bisection:
    """The least cost at which a question about boxes is answered yes."""

    def __init__(self, forest: Forest, seconds: float) -> None:
        self.forest, self.seconds = forest, seconds

    def ask(self, own, low, high, deadline):
        """Whether the box has enough votes, and a point of it that does."""
        raise NotImplementedError

    def solve(self, i: int) -> tuple[float, bool]:
        """Cost (inf for none within the budget) and whether it is proved."""
        own, costs = self.forest.prices(i)
        levels = np.unique(costs[costs <= BUDGET])
        deadline = time.perf_counter() + self.seconds
        low, high, best = -1, len(levels), np.inf  # refuted up to low, found from high on
        at = high - 1
        while high - low > 1:
            answer, point = self.ask(own, *box(costs, levels[at]), deadline)
            if answer == UNKNOWN:
                return best, False
            if answer == NO:
                low = at
            else:
                votes = self.forest.in_cells.totals(point[None].astype(float))[0][0]
                assert votes >= self.forest.in_cells.cutoff
                best = float(costs[np.arange(len(own)), point].max())
                high = int(np.searchsorted(levels, best))
            at = (low + high) // 2
        return best, True


class Veritas(Bisection):
    """Its heuristic search for the largest output, as its own robustness checks use it."""

    def __init__(self, forest: Forest, seconds: float) -> None:
        import veritas

        super().__init__(forest, seconds)
        self.veritas, trees = veritas, forest.in_cells
        self.sum = veritas.AddTree(1, veritas.AddTreeType.REGR)
        self.sum.set_base_score(0, 0.5 - float(trees.cutoff))  # above 0 is enough votes
        for root in trees.root:
            tree = self.sum.add_tree()
            stack = [(int(root), tree.root())]
            while stack:
                node, here = stack.pop()
                if trees.feature[node] < 0:
                    tree.set_leaf_value(here, 0, float(trees.label[node]))
                    continue
                tree.split(here, int(trees.feature[node]), float(trees.threshold[node]))
                stack.append((int(trees.left[node]), tree.left(here)))
                stack.append((int(trees.right[node]), tree.right(here)))

    def ask(self, own, low, high, deadline):
        veritas = self.veritas
        config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT)
        config.stop_when_optimal = True
        config.ignore_state_when_worse_than = 0.0
        config.stop_when_num_solutions_exceeds = 1
        config.max_focal_size, config.focal_eps = 1000, 0.2
        config.max_memory = 2 * 1024**3
        limits = [
            veritas.Interval(float(a) - 0.25, float(b) + 0.25)
            for a, b in zip(low, high, strict=True)
        ]
        search = config.get_search(self.sum.prune(limits), limits)
        stop = veritas.StopReason.NONE
        while stop == veritas.StopReason.NONE and time.perf_counter() < deadline:
            stop = search.step_for(0.05, 100)
            stop = veritas.StopReason.NONE if stop == veritas.StopReason.OUT_OF_TIME else stop
            if search.num_solutions() and search.get_solution(0).output > 0:
                first, last = low.copy(), high.copy()
                for axis, part in search.get_solution(0).box().items():
                    first[axis] = max(first[axis], np.ceil(max(part.lo, -1e9)))
                    last[axis] = min(last[axis], np.ceil(min(part.hi, 1e9)) - 1)
                return YES, np.clip(own, first, last)
        if stop == veritas.StopReason.NO_MORE_OPEN or search.current_bounds().best < 0:
            return NO, None
        return UNKNOWN, None


class Treecf(Bisection):
    """Its exact backend; any answer will do, so the gap is wide open while bisecting."""

    def __init__(self, forest: Forest, seconds: float) -> None:
        import treecf
        from treecf.ir.model import EnsembleIR, Link

        super().__init__(forest, seconds)
        self.treecf = treecf
        parts = treecf_trees(forest.in_cells, forest.in_cells.label)
        n = len(forest.problem.grid.axes)
        self.names = tuple(f"x{a}" for a in range(n))
        self.ir = EnsembleIR(parts, 0.0, Link.IDENTITY, n, self.names, {})

    def explain(self, own, low, high, seconds, gap):
        treecf = self.treecf
        limits = [
            treecf.Range(name, float(a), float(b))
            for name, a, b in zip(self.names, low, high, strict=True)
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explainer = treecf.Explainer(
                self.ir, constraints=limits, normalizers=np.ones(len(own)),
                value_policy=dict.fromkeys(self.names, "integer"),
            )  # fmt: skip
            return explainer.explain(
                own.astype(float), treecf.Target.raw(op=">=", value=float(self.needed)),
                backend="exact", time_budget_s=max(seconds, 0.01), seed=0, warm_start=False,
                node_budget=2_000_000_000, gap=gap,
            )  # fmt: skip

    @property
    def needed(self) -> float:
        return float(self.forest.in_cells.cutoff)

    def ask(self, own, low, high, deadline):
        result = self.explain(own, low, high, deadline - time.perf_counter(), 1e9)
        if isinstance(result, self.treecf.Infeasible):
            return (NO if proved(result) else UNKNOWN), None
        return YES, np.asarray(result.x_cf).round().astype(int)

    def fewest_cells(self, i: int) -> tuple[float, bool]:
        """Least number of cells moved within the budget's box."""
        own, costs = self.forest.prices(i)
        result = self.explain(own, *box(costs, BUDGET), self.seconds, 0.0)
        if isinstance(result, self.treecf.Infeasible):
            return np.inf, proved(result)
        return float(result.distance), proved(result)


def proved(result) -> bool:
    return result.proof in ("certified", "optimal", "optimal_within_gap")


class Ours:
    def __init__(self, forest: Forest, seconds: float) -> None:
        self.forest = forest
        model = forest.model
        self.search = ExactSearch(model.ensemble_, model.encoder_.axes, model.cost_)
        self.search.solve(forest.people[:1], BUDGET)

    def solve(self, i: int) -> tuple[float, bool]:
        solution = self.search.solve(self.forest.people[i : i + 1], BUDGET, n_jobs=1)
        return float(solution.cost[0]), bool(solution.status[0] in (Status.OPTIMAL, Status.NONE))


class Solver(Ours):
    def __init__(self, forest: Forest, seconds: float) -> None:
        self.forest, self.seconds = forest, seconds
        model = forest.model
        self.search = SolverSearch(model.ensemble_, model.encoder_.axes, model.cost_)

    def solve(self, i: int) -> tuple[float, bool]:
        solution = self.search.solve(
            self.forest.people[i : i + 1], BUDGET, time_limit=self.seconds, n_jobs=1
        )
        return float(solution.cost[0]), bool(solution.status[0] in (Status.OPTIMAL, Status.NONE))

    def fewest_cells(self, i: int) -> tuple[float, bool]:
        own, costs = self.forest.prices(i)
        low, high = box(costs, BUDGET)
        axes = [
            Axis(Feature(f"x{a}", "integer", lower=float(low[a]), upper=float(high[a])), (a,))
            for a in range(len(own))
        ]
        count = LinearCost("l1", np.ones(len(own)))
        search = SolverSearch(self.forest.in_cells, axes, count)
        solution = search.solve(own[None].astype(float), time_limit=self.seconds, n_jobs=1)
        return float(solution.cost[0]), bool(solution.status[0] in (Status.OPTIMAL, Status.NONE))


def timed(name, ask, n, reference=None):
    """Run a method on everyone and print its line; returns the costs."""
    seconds, costs, sure = [], [], []
    for i in range(n):
        begun = time.process_time()
        cost, is_proved = ask(i)
        seconds.append(time.process_time() - begun)
        costs.append(cost)
        sure.append(is_proved)
    costs, sure = np.array(costs), np.array(sure)
    same = ""
    if reference is not None:
        both = sure & reference[1]
        agree = np.isclose(costs, reference[0], rtol=1e-6, atol=1e-9) | (costs == reference[0])
        same = f"{agree[both].sum()} of {both.sum()}"
    print(
        f"  {name:22} {np.median(seconds):9.4f} {np.quantile(seconds, 0.9):9.4f} "
        f"{max(seconds):9.4f} {sure.mean():7.0%}  {same}",
        flush=True,
    )
    return costs, sure


def methods(forest, seconds):
    for name, make in (
        ("ract ExactSearch", Ours), ("ract SolverSearch", Solver),
        ("Veritas", Veritas), ("treecf exact", Treecf),
    ):  # fmt: skip
        try:
            yield name, make(forest, seconds)
        except ImportError as error:
            print(f"  {name:22} left out: {error}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--trees", type=int, nargs="*", default=[20, 100])
    parser.add_argument("--weights", type=float, nargs="*", default=[0.1, 0.0])
    options = parser.parse_args()
    head = "     median       p90       max  proved  same cost, of those proved by both"
    for n_trees in options.trees:
        for weight in options.weights:
            forest = fitted(n_trees, weight, options.people)
            n = len(forest.people)
            print(f"FICO, {n_trees} trees, depth 8, recourse weight {weight}, {n} people")
            print(f"{'  cheapest action':24}{head}")
            reference, counting = None, []
            for name, method in methods(forest, options.seconds):
                result = timed(name, method.solve, n, reference)
                reference = reference or result
                if hasattr(method, "fewest_cells"):
                    counting.append((name, method.fewest_cells))
            print(f"{'  fewest cells moved':24}{head}")
            reference = None
            for name, ask in counting:
                result = timed(name, ask, n, reference)
                reference = reference or result


if __name__ == "__main__":
    main()

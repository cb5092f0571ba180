"""Cheapest plans by a sum of changes beside other programs: the same trees, people and rules.

    python benchmarks/bench_peers.py [--tables fico ...] [--models rf5 ...] [--people 20]

l1 in standard deviations, no budget, CPU seconds a person, one thread. Numbers may change by the
rules of the data set between the ends of the table; categories stay, so that all programs have the
same actions. Limits are of the processor as far as can be. Peers are an extra (``ract[peers]``);
one that is not installed is left out with a note. treecf has its exact backend at its quicker
engine, with or without its warm start, whichever proves more (then: is quicker) for people 20 and
21; OCEAN its explainer by constraint programming (``ask_ocean.py``) with one thread; DiCE its
genetic method at its defaults, of which validity and cost are reported, since it proves nothing.
People who are reported begin at 40. Optima that two programs proved must be the same. Raw rows are
kept as a CSV file.
"""

from __future__ import annotations

import os

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import argparse  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from contextlib import redirect_stderr  # noqa: E402
from dataclasses import dataclass, replace  # noqa: E402
from functools import cached_property  # noqa: E402
from io import StringIO  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from sklearn.compose import make_column_selector, make_column_transformer  # noqa: E402
from sklearn.ensemble import RandomForestClassifier  # noqa: E402
from sklearn.model_selection import StratifiedKFold  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import OneHotEncoder  # noqa: E402

from ract import (  # noqa: E402
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseProblem,
)
from ract._utils.errors import how_to_install  # noqa: E402
from ract._utils.status import Status  # noqa: E402
from ract.data import datasets  # noqa: E402
from ract.data.costs import ScaledCost  # noqa: E402
from ract.recourse.dispatch import exact_search  # noqa: E402
from ract.recourse.question import Question  # noqa: E402
from ract.recourse.solver import SolverSearch  # noqa: E402

TABLES = ("fico", "credit", "compas", "adult")
MODELS = ("rf5", "rf", "xgb", "lgb", "forest", "booster")
CHOSEN_ON, FIRST = range(20, 22), 40
DECIDED = (Status.OPTIMAL, Status.NONE)


@dataclass
class Case:
    """A fitted model, its question about people, and the table it learned from."""

    model: Any
    known: pd.DataFrame
    target: np.ndarray
    people: pd.DataFrame
    question: Question

    @cached_property
    def axes(self):
        return self.question.encoder.axes

    @cached_property
    def scale(self) -> np.ndarray:
        """The standard deviation of each encoded column."""
        spread = self.question.known.std(axis=0)
        return np.where(spread > 0, spread, 1.0)


def untrained(kind: str, actions: ActionSpace):
    """A model by its name."""
    if kind in ("forest", "booster"):
        learner = RecourseForestClassifier if kind == "forest" else RecourseBoostingClassifier
        return learner(actions, desired=1, random_state=0)
    if kind == "xgb":
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1, random_state=0)
    elif kind == "lgb":
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)  # 100 trees of 31 leaves
    else:
        depth = None if kind == "rf" else int(kind.removeprefix("rf"))
        model = RandomForestClassifier(100, max_depth=depth, random_state=0)
    words = make_column_selector(dtype_exclude="number")
    encode = OneHotEncoder(sparse_output=False, handle_unknown="ignore")
    return make_pipeline(make_column_transformer((encode, words), remainder="passthrough"), model)


def rules_of(data: Any) -> ActionSpace:
    """The rules of a data set for numbers; categories stay, bounds are those of the table."""
    features = []
    for feature in data.actions:
        if feature.kind in ("continuous", "integer") and feature.name in data.frame:
            column = data.frame[feature.name]
            ends = {"lower": float(column.min()), "upper": float(column.max())}
            features.append(replace(feature, **ends, step=None))
        else:
            features.append(replace(feature, change="fixed"))
    return ActionSpace(features, limits=None, steps=None)


def fitted(table: str, kind: str, n_people: int) -> Case:
    """A model of all folds but the first, asked about refused people of the first."""
    data = getattr(datasets, f"fetch_{table}")()
    y = (data.target.to_numpy() == data.desired).astype(int)
    train, test = next(StratifiedKFold(10, shuffle=True, random_state=0).split(data.frame, y))
    known, new, space = data.frame.iloc[train], data.frame.iloc[test], rules_of(data)
    model = untrained(kind, space).fit(known, y[train])
    refused = new[np.asarray(model.predict(new)) == 0].iloc[: FIRST + n_people]
    cost, own = ScaledCost("std", norm="l1"), hasattr(model, "ensemble_")
    rules = {} if own else {"actions": space, "desired": 1}
    problem = RecourseProblem(model, reference=known, budget=np.inf, cost=cost, **rules)
    return Case(model, known, y[train], refused, problem.encoded(refused))


class Ours:
    """The native search."""

    def __init__(self, case: Case, seconds: float) -> None:
        self.case, self.seconds = case, seconds
        question = case.question
        self.search = self._made(question)
        self.search.solve(question.matrix[:1], np.inf, time_limit=1.0)  # compiled before

    def _made(self, question: Question):
        return exact_search(question.goal, question.encoder.axes, question.cost)

    def solve(self, i: int) -> tuple[float, bool]:
        """Cost (inf for none) and whether it is proved."""
        row = self.case.question.matrix[i : i + 1]
        answers = self.search.solve(row, np.inf, time_limit=self.seconds, n_jobs=1)
        return float(answers.cost[0]), answers.status[0] in DECIDED


class Solver(Ours):
    """OR-Tools' CP-SAT, by our checker, with four times the time."""

    def __init__(self, case: Case, seconds: float) -> None:
        super().__init__(case, 4 * seconds)

    def _made(self, question: Question):
        return SolverSearch(question.goal, question.encoder.axes, question.cost)


def treecf_trees(trees: Any, worth: np.ndarray) -> tuple[Any, ...]:
    """An ensemble's trees as treecf has them, with what each leaf is worth."""
    from treecf.ir.model import Node, SplitOp, Tree

    ends, parts = np.append(trees.root[1:], len(trees.feature)), []
    for first, end in zip(trees.root, ends, strict=True):
        nodes = []
        for node in range(first, end):
            leaf = trees.feature[node] < 0
            nodes.append(
                Node(
                    node_id=int(node - first),
                    feature=None if leaf else int(trees.feature[node]),
                    threshold=None if leaf else float(trees.threshold[node]),
                    op=None if leaf else SplitOp.LE,
                    missing_left=None if leaf else True,
                    left=None if leaf else int(trees.left[node] - first),
                    right=None if leaf else int(trees.right[node] - first),
                    value=float(worth[node]) if leaf else None,
                )
            )
        parts.append(Tree(tuple(nodes)))
    return tuple(parts)


class Treecf:
    """Its exact backend."""

    def __init__(self, case: Case, seconds: float, warm_start: bool = True) -> None:
        import treecf

        self.treecf, self.case, self.seconds = treecf, case, seconds
        self.warm_start = warm_start
        n = case.question.matrix.shape[1]
        self.names = tuple(f"x{j}" for j in range(n))
        self.ir, self.target = self._read()
        limits: list[Any] = []
        policy = {}
        for axis in case.axes:
            feature = axis.feature
            for j in axis.columns:
                if not feature.actionable or axis.is_categorical:
                    limits.append(treecf.Freeze(self.names[j]))
                    continue
                limits.append(treecf.Range(self.names[j], *feature.bounds))
                if feature.change != "any":
                    limits.append(treecf.Monotone(self.names[j], feature.change))
                if feature.kind == "integer":
                    policy[self.names[j]] = "integer"
        self.explainer = treecf.Explainer(
            self.ir, constraints=limits, normalizers=case.scale, value_policy=policy
        )

    def _read(self) -> tuple[Any, Any]:
        """The trees as ract has read them, and what they must add up to."""
        from treecf.ir.model import EnsembleIR, Link

        trees = self.case.question.goal
        votes = trees.combine == "votes"
        worth = trees.label if votes else trees.value
        # Sums and not means: a hundredth of fifty votes rounds to more than one half.
        divisor = trees.n_trees if trees.combine == "mean" else 1
        parts = treecf_trees(trees, worth)
        base = 0.0 if votes else float(trees.base)
        ir = EnsembleIR(parts, base, Link.IDENTITY, len(self.names), self.names, {})
        return ir, self.treecf.Target.raw(op=">=", value=float(trees.cutoff * divisor))

    def solve(self, i: int) -> tuple[float, bool]:
        row = self.case.question.matrix[i].astype(float)
        result = self.explainer.explain(
            row, self.target, backend="exact", time_budget_s=self.seconds, seed=0,
            warm_start=self.warm_start, node_budget=2_000_000_000,
        )  # fmt: skip
        proved = result.proof in ("certified", "optimal")
        if isinstance(result, self.treecf.Infeasible):
            return np.inf, proved
        return float(result.distance), proved

    @classmethod
    def best(cls, case: Case, seconds: float) -> Treecf:
        """With the settings that serve other people best."""
        tried = []
        for warm_start in (True, False):
            method = cls(case, seconds, warm_start)
            rows = [i for i in CHOSEN_ON if i < len(case.people)]
            found = [timed(method, i) for i in rows]
            slow = float(np.median([one[2] for one in found]))
            tried.append((-sum(one[1] for one in found), slow, warm_start, method))
        return min(tried, key=lambda one: one[:3])[3]


class Dice:
    """Its genetic method; what it finds is judged by the model and priced as ours is."""

    def __init__(self, case: Case, seconds: float) -> None:
        import dice_ml

        if hasattr(case.model, "ensemble_"):
            raise ImportError("takes models of other libraries")
        numbers = [a.feature.name for a in case.axes if a.feature.kind in ("continuous", "integer")]
        data = dice_ml.Data(
            dataframe=case.known.assign(outcome=case.target), continuous_features=numbers,
            outcome_name="outcome",
        )  # fmt: skip
        model = dice_ml.Model(model=case.model, backend="sklearn")
        self.case, self.dice = case, dice_ml.Dice(data, model, method="genetic")

    def solve(self, i: int) -> tuple[float, bool]:
        case = self.case
        own, ends = case.people.iloc[[i]], {}
        for axis in case.axes:
            feature = axis.feature
            if feature.actionable and not axis.is_categorical:
                low, high = feature.limits(float(own[feature.name].iloc[0]))
                ends[feature.name] = [float(low), float(high)]
        try:
            found = self.dice.generate_counterfactuals(
                own, total_CFs=1, desired_class=1, features_to_vary=list(ends),
                permitted_range=ends, verbose=False,
            ).cf_examples_list[0].final_cfs_df  # fmt: skip
        except Exception:  # it raises when it finds nothing
            return np.inf, False
        if found is None or not len(found):
            return np.inf, False
        plan = found[list(own.columns)].astype(own.dtypes.to_dict())
        if case.model.predict(plan)[0] != 1:
            return np.inf, False
        after = case.question.encoder.matrix(plan)
        return float(case.question.cost.between(case.question.matrix[i : i + 1], after)[0]), False


def ocean(case: Case, seconds: float) -> Any:
    """OCEAN, where it is installed."""
    try:
        from ask_ocean import Ocean
    except ImportError:
        how = how_to_install("peers")
        raise ImportError(f"it needs Python 3.12 or newer and its package: {how}") from None
    return Ocean(case, seconds)


METHODS = {
    "ract": Ours, "treecf exact": Treecf.best, "OCEAN": ocean, "CP-SAT": Solver,
    "DiCE genetic": Dice,
}  # fmt: skip


def stretch() -> float:
    """Seconds of the clock for each of the processor, as it is now."""
    clock, cpu = time.perf_counter(), time.process_time()
    while time.process_time() - cpu < 0.03:
        pass
    return max(1.0, (time.perf_counter() - clock) / (time.process_time() - cpu))


def timed(method: Any, i: int) -> tuple[float, bool, float]:
    """Cost, proof and CPU seconds of one person."""
    if not hasattr(method, "limit"):
        method.limit = getattr(method, "seconds", 0.0)
    method.seconds = method.limit * stretch()  # limits of programs are of the clock
    with warnings.catch_warnings(), redirect_stderr(StringIO()):
        warnings.simplefilter("ignore")
        begun = time.process_time()
        cost, proved = method.solve(i)
        return cost, bool(proved), time.process_time() - begun


def compared(table: str, kind: str, asked: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one model, and their lines."""
    case = fitted(table, kind, asked.people)
    people = range(FIRST, len(case.people))
    print(f"{table}, {kind}: {len(case.question.goal.feature)} nodes, {len(people)} people")
    rows: list[dict[str, Any]] = []
    for name, make in METHODS.items():
        if name not in asked.methods:
            continue
        few = people if name in ("ract", "treecf exact") else people[: asked.few]
        try:
            method = make(case, asked.seconds)
        except ImportError as error:
            print(f"  {name:14} left out: {error}")
            continue
        for i in few:
            cost, proved, seconds = timed(method, i)
            rows.append({
                "table": table, "model": kind, "method": name, "person": i, "cost": cost,
                "proved": proved, "seconds": round(seconds, 5),
            })  # fmt: skip
        print(_line(name, rows), flush=True)
    return rows


def _line(name: str, rows: list[dict[str, Any]]) -> str:
    frame = pd.DataFrame(rows)
    own, ours = (frame[frame.method == one] for one in (name, "ract"))
    both = own.merge(ours, on="person", suffixes=("", "_ours"))
    proved = both[both.proved & both.proved_ours]
    same = np.isclose(proved.cost, proved.cost_ours, rtol=1e-4, atol=1e-6)
    same |= np.isinf(proved.cost) & np.isinf(proved.cost_ours)
    ratio = (both.cost / both.cost_ours)[np.isfinite(both.cost) & np.isfinite(both.cost_ours)]
    return (
        f"  {name:14} {len(own):3} people {own.seconds.median():8.4f} {own.seconds.mean():8.4f} "
        f"{own.seconds.max():8.3f}  proved {own.proved.mean():5.0%}  "
        f"plan {np.isfinite(own.cost).mean():5.0%}  same optimum {int(same.sum())} of {len(same)}"
        f"  cost/ours {ratio.median():.3f}"
    )


def main() -> None:
    """Print a table per model, and keep the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", nargs="*", default=TABLES)
    parser.add_argument("--models", nargs="*", default=MODELS)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--few", type=int, default=5, help="people for OCEAN, CP-SAT and DiCE")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--output", type=Path, default=None)
    asked = parser.parse_args()
    print("CPU seconds a person: median, mean, largest")
    rows: list[dict[str, Any]] = []
    for table in asked.tables:
        for kind in asked.models:
            rows += compared(table, kind, asked)
            if asked.output is not None:
                asked.output.parent.mkdir(parents=True, exist_ok=True)
                pd.DataFrame(rows).to_csv(asked.output, index=False)


if __name__ == "__main__":
    main()

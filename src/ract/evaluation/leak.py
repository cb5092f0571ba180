"""How much of a model its plans give away.

Whoever may ask a model many times can rebuild it, and plans tell more than decisions. A
counterfactual is a point on the other side of the boundary (Aïvodji, Bolot and Gambs 2020); the
*cheapest* one also says that everything between the person and itself, which costs less, is
refused. The attack asks about random people and learns a forest from them, from what was decided,
from the plans and from points between. Stronger ones exist (Tree-Extractor, NeurIPS 2025), so
fidelity is a lower bound of what leaks, not an upper one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from ract._utils import statistics
from ract._utils.errors import InvalidSpec
from ract.data.actions import ActionSpace
from ract.data.actions.feature import Feature
from ract.recourse.find import find_recourse
from ract.recourse.result import Recourse
from ract.trees.readers.model import FittedTrees

QUERIES = (10, 30, 100, 300, 1000)
DECISIONS, CHEAPEST = "decisions alone", "cheapest plans"
LIMITED, ROUND = "plans within limits of size", "plans in round steps"
RANGES, STRONGEST = "ranges of plans", "strongest plans"
CONFIDENCE, N_TEST = 0.95, 2000
N_BETWEEN = 5  # points between a person and their plan


@dataclass(frozen=True, repr=False)
class Leak:
    """How well an attacker's copy of a model agrees with it, by what the attacker was given.

    Parameters
    ----------
    table : DataFrame
        Per kind of answer and number of queries: ``given``, ``queries``, ``plans`` (how many were
        given out), ``fidelity`` with ``low`` and ``high``, and ``constant``, the fidelity of always
        predicting the more frequent decision.
    """

    table: pd.DataFrame

    def __repr__(self) -> str:
        rows = self.table[self.table["queries"] == self.table["queries"].max()]
        each = [f"{row['given']} {row['fidelity']:.3f}" for _, row in rows.iterrows()]
        most, base = int(rows["queries"].iloc[0]), float(rows["constant"].iloc[0])
        return f"Fidelity of a copy after {most} queries: {', '.join(each)} (constant {base:.3f})"


def measure_leak(
    model: FittedTrees,
    X: pd.DataFrame | None = None,
    queries: Sequence[int] = QUERIES,
    *,
    random_state: int = 0,
    **how: Any,
) -> Leak:
    """Rebuild a model from answers to random queries, and see how well the copy agrees with it.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model
    X : frame, optional
        People of the population. Queries then draw each column from their values, and fidelity is
        measured on them. By default queries and test points are uniform within the bounds that the
        model declares.
    queries : sequence of int
        Numbers of queries after which the copy is measured; the largest is the total number of
        queries.
    random_state : int
    **how
        Options of ``ract.find_recourse``, such as ``budget`` or ``time_limit``.

    Returns
    -------
    Leak

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> tree, loans = loans_tree(max_depth=3)
    >>> found = measure_leak(tree, loans.frame, [20, 200])
    >>> found.table["given"].unique().tolist()
    ['decisions alone', 'cheapest plans', 'plans within limits of size', 'plans in round steps',
     'ranges of plans', 'strongest plans']
    >>> last = found.table.set_index(["given", "queries"])["fidelity"]
    >>> bool(last["cheapest plans", 200] > 0.9)
    True
    """
    sizes = sorted({int(n) for n in queries})
    if not sizes or sizes[0] < 2:
        raise InvalidSpec(f"queries must be whole numbers of 2 or more, got {list(queries)!r}.")
    if not hasattr(model, "encoder_"):
        raise InvalidSpec(
            "A leak is measured of a fitted model of ract, or of what ract.import_model makes, got "
            f"{type(model).__name__}."
        )
    rng = np.random.default_rng(random_state)
    asked = _people(model, X, sizes[-1], rng)
    attack = _Attack(model, asked, _people(model, None, N_TEST, rng) if X is None else X)
    rows = [
        attack.row(given, plans, n) for given, plans in _answers(model, asked, how) for n in sizes
    ]
    return Leak(pd.DataFrame(rows))


class _Attack:
    """What the attacker asks about and learns from, encoded."""

    def __init__(self, model: FittedTrees, asked: pd.DataFrame, test: pd.DataFrame) -> None:
        self.encoder = model.encoder_
        self.asked = np.nan_to_num(self.encoder.matrix(asked, undeclared=True))
        self.test = np.nan_to_num(self.encoder.matrix(test, undeclared=True))
        self.accepted = np.asarray(model.predict(asked) == model.desired_)
        self.truth = np.asarray(model.predict(test) == model.desired_)
        first = [axis.columns[0] for axis in self.encoder.axes]
        # Ranges may be open; copies are of the values that people have.
        seen = np.concatenate([self.asked, self.test])[:, first]
        self.ends = seen.min(axis=0), seen.max(axis=0)

    def row(self, given: str, plans: Recourse | None, n: int) -> dict[str, Any]:
        """Fidelity after a number of queries."""
        X, y, found = self.asked[:n], self.accepted[:n], np.zeros(0, bool)
        if plans is not None:
            found = plans.found[:n]
            after = np.nan_to_num(plans.after[:n][found])
            between = self._between(X[found], after) if given != STRONGEST else after[:0]
            if given == RANGES:
                after = np.concatenate([after, self._inside(plans, n)])
            y = np.repeat([*y, True, False], [1] * n + [len(after), len(between)])
            X = np.concatenate([X, after, between])
        agrees = int((self._copied(X, y) == self.truth).sum())
        share = statistics.proportion(agrees, len(self.truth), CONFIDENCE)
        row = {"given": given, "queries": n, "plans": int(found.sum()), "fidelity": share.value}
        constant = float(max(self.truth.mean(), 1 - self.truth.mean()))
        return {**row, "low": share.low, "high": share.high, "constant": constant}

    def _between(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Points that cost less than a cheapest plan: numbers part of the way, all else as it was.

        Plans that switch a category are left out: without the switch nothing is known.
        """
        numbers = np.zeros(before.shape[1], bool)
        for axis in self.encoder.axes:
            numbers[list(axis.columns)] = axis.feature.is_number
        alone = (before[:, ~numbers] == after[:, ~numbers]).all(axis=1)
        start, way = (np.repeat(m[alone], N_BETWEEN, axis=0) for m in (before, after - before))
        share = np.random.default_rng(0).uniform(0, 0.98, size=way.shape)
        share[::N_BETWEEN] = 0.98  # one of them just short of the goal
        return start + share * way

    def _inside(self, plans: Recourse, n: int) -> np.ndarray:
        """Points between the ends of the ranges of the first people's plans: all are accepted."""
        low, high = plans.answers.add_ends(len(self.encoder.axes))
        rows = np.repeat(np.flatnonzero(plans.found[:n]), N_BETWEEN)
        first = [axis.columns[0] for axis in self.encoder.axes]
        points = plans.after[rows]
        start, end = (np.clip(m[rows], *self.ends) for m in (low, high))
        drawn = start + np.random.default_rng(0).uniform(size=start.shape) * (end - start)
        whole = [axis.feature.kind == "integer" for axis in self.encoder.axes]
        drawn = np.where(whole, np.clip(np.rint(drawn), start, end), drawn)
        points[:, first] = np.where(np.isnan(drawn), points[:, first], drawn)
        return np.nan_to_num(points)

    def _copied(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """What a copy that was learned from answers says of the test people."""
        if y.all() or not y.any():
            return np.full(len(self.test), y[0])
        return np.asarray(RandomForestClassifier(100, random_state=0).fit(X, y).predict(self.test))


def _answers(
    model: FittedTrees, asked: pd.DataFrame, how: dict[str, Any]
) -> Iterator[tuple[str, Recourse | None]]:
    """What is given out: nothing but decisions, and plans of several kinds."""
    plain = {"explain": False, "strict": True} | how
    yield DECISIONS, None
    space = model.encoder_.space
    free = [
        replace(feature, max_change=None, max_relative=None, median=None, step=None)
        for feature in space
    ]
    spaces = {
        CHEAPEST: ActionSpace(free, space.desired, None, None, space.rules),
        LIMITED: ActionSpace(free, space.desired, "size", None, space.rules),
        ROUND: ActionSpace(free, space.desired, None, "round", space.rules),
    }
    for given, other in spaces.items():
        yield given, find_recourse(model, asked, **plain | {"actions": other.complete(asked)})
    yield RANGES, find_recourse(model, asked, **plain | {"ranges": True})
    yield STRONGEST, find_recourse(model, asked, **plain | {"strength": "most"})


def _people(
    model: FittedTrees, X: pd.DataFrame | None, n: int, rng: np.random.Generator
) -> pd.DataFrame:
    """Random people: column by column from a table, or uniform within the declared bounds."""
    columns: dict[str, np.ndarray] = {}
    for feature in model.encoder_.space:
        if X is not None:
            rows = rng.integers(len(X), size=n)
            for name in feature.table_columns:
                columns[name] = X[name].iloc[rows].to_numpy()
        elif feature.columns:
            chosen = rng.integers(len(feature.columns), size=n)
            columns |= {name: (chosen == k) * 1.0 for k, name in enumerate(feature.columns)}
        else:
            columns[feature.name] = _uniform(feature, n, rng)
    return pd.DataFrame(columns)


def _uniform(feature: Feature, n: int, rng: np.random.Generator) -> np.ndarray:
    if feature.is_categorical:
        values = np.empty(len(feature.categories), object)
        values[:] = feature.categories
        return values[rng.integers(len(values), size=n)]
    low, high = float(feature.lower or 0.0), float(feature.upper or 0.0)
    drawn = rng.uniform(low, high, size=n)
    return np.rint(drawn) if feature.kind in ("integer", "binary") else drawn

"""What follows by itself when a person changes something: linear causal effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from hashlib import blake2b
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.memo import Memo
from ract._utils.typing import TableLike
from ract._utils.validation import FINITE_AMOUNT, check_value, is_number
from ract.data.actions import ActionSpace
from ract.data.encoder import Encoder
from ract.data.frames import read_table
from ract.data.lingam import DirectLiNGAM

# Direct effects that are tried in every combination of weaker and stronger; of more, a sample.
MOST_FOR_CORNERS = 6
MIXED_WAYS = 8
# By how much estimated effects may be off: on the loans data 95% of plans work at this, 16 to 27%
# of those that take the estimates as they are.
OF_ESTIMATES = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class CausalEffects:
    """Linear effects of features on each other, along a graph without cycles.

    A person who changes their features by ``a`` ends at ``x + a + E a``: what they changed, plus
    everything that follows. The noise of the model, which belongs to the person, stays as it is,
    and an effect on a feature is added to what the person does to it. Effects may be any real
    number, even on an integer feature: bounds, directions and whole numbers restrict what people
    do, not what follows from it.

    Names are those of numeric features, or of encoded columns: "Education=College" is the column
    that is 1 for people with a college degree. A category may be a cause; it is never an effect,
    and a feature that is not named neither has causes nor effects.

    Parameters
    ----------
    names : sequence of str
    direct : float (names, names)
        B: ``direct[i, j]`` is the change of feature i per unit of feature j along the arrow from
        j to i; 0 where there is none.
    uncertainty : float
        The share by which each direct effect may be wrong. Plans are then accepted in every
        combination of weaker and stronger effects, or in a sample of these combinations if there
        are more than six effects, and fewer people have a plan.

    Examples
    --------
    >>> effects = CausalEffects.from_edges(
    ...     {("Income", "Savings"): 0.3, ("Income", "Debt"): 0.15, ("Debt", "Savings"): -0.2}
    ... )
    >>> effects
    CausalEffects(3 features, 3 arrows)
    >>> effects.names
    ('Income', 'Savings', 'Debt')
    >>> people = np.array([[50_000.0, 10_000.0, 5_000.0]])
    >>> effects.after(people, np.array([[1_000.0, 0.0, 0.0]]))
    array([[51000., 10270.,  5150.]])
    >>> print(effects.describe())
    Income + 1: Savings + 0.27, Debt + 0.15.
    Debt + 1: Savings - 0.2.
    """

    names: tuple[str, ...]
    direct: np.ndarray
    uncertainty: float = 0.0

    def __post_init__(self) -> None:
        check_value("uncertainty", self.uncertainty, FINITE_AMOUNT)
        object.__setattr__(self, "names", tuple(self.names))
        try:
            direct = np.array(self.direct, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidSpec("The effects must be a matrix of numbers.") from None
        object.__setattr__(self, "direct", direct)
        _check_names(self.names)
        n = len(self.names)
        if direct.shape != (n, n):
            raise InvalidSpec(
                f"The effects of {n} features are a matrix of {n} x {n}, got {direct.shape}."
            )
        if not np.isfinite(direct).all():
            i, j = np.argwhere(~np.isfinite(direct))[0]
            raise InvalidSpec(
                f"The effect of {self.names[j]!r} on {self.names[i]!r} is {direct[i, j]}; "
                "it must be a finite number."
            )
        try:
            self._sorter().prepare()
        except CycleError as error:
            circle = " -> ".join(error.args[1])
            raise InvalidSpec(f"The effects go in a circle: {circle}; they must not.") from None

    def __repr__(self) -> str:
        arrows = int((self.direct != 0).sum())
        return f"CausalEffects({len(self.names)} features, {arrows} arrows)"

    @classmethod
    def from_edges(
        cls, edges: Mapping[tuple[str, str], float], names: Sequence[str] | None = None
    ) -> CausalEffects:
        """Create effects from edges: (cause, effect) to the change of the effect per unit of cause.

        Parameters
        ----------
        edges : mapping of (str, str) to float
        names : sequence of str, optional
            All features; by default those that the arrows name.
        """
        for pair, weight in edges.items():
            _check_arrow(pair, weight)
        if names is None:
            names = list(dict.fromkeys(name for pair in edges for name in pair))
        position = {name: k for k, name in enumerate(names)}
        direct = np.zeros((len(names), len(names)))
        for (cause, effect), weight in edges.items():
            if unknown := [name for name in (cause, effect) if name not in position]:
                raise InvalidSpec(
                    f"The arrow from {cause!r} to {effect!r} names {listing(unknown)}, which is "
                    f"not one of the features {listing(names, 20)}."
                )
            direct[position[effect], position[cause]] = weight
        return cls(tuple(names), direct)

    @classmethod
    def from_graph(cls, graph: Any, names: Sequence[str] | None = None) -> CausalEffects:
        """Effects from a networkx ``DiGraph`` whose edges carry a "weight".

        Parameters
        ----------
        graph : networkx.DiGraph
            An edge from u to v says that u causes v.
        names : sequence of str, optional
            All features; the graph's nodes by default.
        """
        if not all(hasattr(graph, name) for name in ("is_directed", "nodes", "edges")):
            raise InvalidSpec(f"Expected a networkx DiGraph, got {type(graph).__name__}.")
        if not graph.is_directed() or graph.is_multigraph():
            raise InvalidSpec("The graph must be a DiGraph: arrows, at most one from u to v.")
        edges = {}
        for cause, effect, data in graph.edges(data=True):
            if "weight" not in data:
                raise InvalidSpec(f"The arrow from {cause!r} to {effect!r} has no 'weight'.")
            edges[cause, effect] = data["weight"]
        return cls.from_edges(edges, list(graph.nodes) if names is None else names)

    @classmethod
    def estimate(
        cls,
        frame: TableLike,
        *,
        actions: ActionSpace | None = None,
        exogenous: Sequence[str] = (),
        allowed: pd.DataFrame | np.ndarray | None = None,
        threshold: float = 0.0,
    ) -> CausalEffects:
        """Effects estimated from a table by DirectLiNGAM, among its numeric features.

        This assumes linear effects, noise that is not Gaussian, and no common cause outside the
        table. Categorical features are left out.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or array
        actions : ActionSpace, optional
            Says which columns are categorical, in addition to columns of text.
        exogenous : sequence of str
            Features that nothing causes, such as age.
        allowed : bool matrix or DataFrame (features, features), optional
            Whether there may be an arrow from the column's feature to the row's feature; for a
            matrix, in the order of the numeric features.
        threshold : float
            Weaker arrows are left out, in standard deviations per standard deviation.

        Examples
        --------
        >>> from ract import load_loans
        >>> loans = load_loans(n_people=2000)
        >>> effects = CausalEffects.estimate(loans.frame, exogenous=["Age", "LatePayments"])
        >>> effects.edges().query("cause == 'Income'").round(2)
             cause      effect  direct  total
        11  Income        Debt    0.16   0.16
        12  Income     Savings    0.31   0.29
        13  Income  LoanAmount    0.11   0.11
        """
        table = read_table(frame)
        categorical = {
            column
            for feature in actions or ()
            if feature.is_categorical
            for column in feature.table_columns
        }
        names = [n for n in table.names if n not in categorical and table.role(n) != "label"]
        if not names:
            raise InvalidData("The table has no numeric feature to estimate effects among.")
        table.require_known(names, "Causal effects are learned from")
        may = _allowed_arrows(allowed, exogenous, names)
        matrix = np.column_stack([table.numbers(name) for name in names])
        return cls(tuple(names), DirectLiNGAM(threshold).fit(matrix, may, names).direct)

    @cached_property
    def total(self) -> np.ndarray:
        """Total effects E, along all paths: people who act with a end at x + a + E a."""
        return _total(self.direct)

    def perturbed(self, share: float, acting: np.ndarray | None = None) -> np.ndarray:
        """Total effects when direct effects are off by a share, each on its own.

        With at most 6 direct effects these are all the ways in which each of them is weaker or
        stronger by the whole share. With more they are a sample: all weaker, all stronger, and
        16 mixed ways, of which 8 treat everything that acts on the same feature alike.

        Parameters
        ----------
        share : float
            0 or more; 0.3 makes an effect of 2 one of 1.4 or 2.6.
        acting : bool (names,), optional
            Features that people change. Only effects of these count.

        Returns
        -------
        float (ways, names, names)
            Without any for a share of 0.

        Examples
        --------
        >>> effects = CausalEffects.from_edges({("a", "b"): 2.0, ("b", "c"): 1.0})
        >>> effects.perturbed(0.5)[:, 2, 0]  # of a on c
        array([0.5, 1.5, 1.5, 4.5])
        """
        n = len(self.names)
        if acting is None:
            acting = np.ones(n, np.bool_)
        changes = acting | (self.total[:, acting] != 0).any(axis=1)
        effect, cause = np.nonzero(self.direct * changes)
        if not share or not len(cause):
            return np.empty((0, n, n))
        if len(cause) <= MOST_FOR_CORNERS:
            signs = np.array(list(product((-1.0, 1.0), repeat=len(cause))))
        else:
            rng = np.random.default_rng(0)
            alike = np.repeat([[-1.0], [1.0]], len(cause), axis=1)
            each = rng.choice([-1.0, 1.0], (MIXED_WAYS, len(cause)))
            signs = np.concatenate(
                [alike, each, rng.choice([-1.0, 1.0], (MIXED_WAYS, n))[:, effect]]
            )
        direct = np.tile(self.direct, (len(signs), 1, 1))
        direct[:, effect, cause] *= 1.0 + share * signs
        return _total(direct)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The features in causal order: none is caused by a later one."""
        return tuple(self._sorter().static_order())

    def _sorter(self) -> TopologicalSorter[str]:
        """Effects after their causes; those that could come next are in the order of names."""
        sorter = TopologicalSorter[str](dict.fromkeys(self.names, ()))
        for effect, causes in zip(self.names, self.direct, strict=True):
            sorter.add(effect, *(self.names[j] for j in np.flatnonzero(causes)))
        return sorter

    def after(self, people: ArrayLike, actions: ArrayLike) -> np.ndarray:
        """Features after an action and its causal effects: x + a + E a.

        Parameters
        ----------
        people, actions : float (people, features)
            Features as they are and the change that each person makes, in the order of
            ``names``.
        """
        x, a = self._checked("people", people), self._checked("actions", actions)
        if x.shape != a.shape:
            raise InvalidData(f"people are {x.shape} but actions are {a.shape}.")
        return x + a + a @ self.total.T

    def _checked(self, what: str, values: ArrayLike) -> np.ndarray:
        array = np.asarray(values, dtype=np.float64)
        if array.ndim != 2 or array.shape[1] != len(self.names):
            raise InvalidData(
                f"{what} must have {len(self.names)} columns, one for each feature with "
                f"effects, got shape {array.shape}."
            )
        if not np.isfinite(array).all():
            row, column = np.argwhere(~np.isfinite(array))[0]
            raise InvalidData(
                f"{what} are {array[row, column]} in row {row}, feature "
                f"{self.names[column]!r}; all numbers must be finite."
            )
        return array

    def among(self, names: Sequence[str]) -> CausalEffects:
        """These effects among other features as well, in the order of ``names``."""
        if unknown := [name for name in self.names if name not in names]:
            raise InvalidSpec(
                f"The effects name {listing(unknown)}, which the model does not have; "
                f"it has {listing(names, 20)}."
            )
        position = np.array([list(names).index(name) for name in self.names], dtype=np.int64)
        direct = np.zeros((len(names), len(names)))
        direct[np.ix_(position, position)] = self.direct
        return CausalEffects(tuple(names), direct, self.uncertainty)

    def edges(self) -> pd.DataFrame:
        """One row per effect: cause, effect, direct and total change per unit of the cause.

        >>> effects = CausalEffects.from_edges({("a", "b"): 2.0, ("b", "c"): 3.0})
        >>> effects.edges()
          cause effect  direct  total
        0     a      b     2.0    2.0
        1     a      c     0.0    6.0
        2     b      c     3.0    3.0
        """
        cause, effect = np.nonzero((self.total.T != 0) | (self.direct.T != 0))
        return pd.DataFrame(
            {
                "cause": [self.names[j] for j in cause],
                "effect": [self.names[i] for i in effect],
                "direct": self.direct[effect, cause],
                "total": self.total[effect, cause],
            }
        )

    def describe(self) -> str:
        """Effects of raising each feature by one unit, one line per feature."""
        lines = []
        for j, cause in enumerate(self.names):
            follows = [
                f"{self.names[i]} {'+' if self.total[i, j] > 0 else '-'} {abs(self.total[i, j]):g}"
                for i in np.flatnonzero(self.total[:, j])
            ]
            if follows:
                lines.append(f"{cause} + 1: {', '.join(follows)}.")
        return "\n".join(lines) or "Nothing follows from any change."


def _total(direct: np.ndarray) -> np.ndarray:
    """Total effects of direct ones (..., names, names)."""
    total, paths = np.zeros_like(direct), direct
    while paths.any():  # paths of 1, 2, ... arrows; without a cycle they come to an end
        total, paths = total + paths, paths @ direct
    return total


def _check_names(names: Sequence[Any]) -> None:
    if strange := [name for name in names if not isinstance(name, str)]:
        raise InvalidSpec(f"Names of features must be text, got {listing(strange)}.")
    if twice := [name for k, name in enumerate(names) if name in names[:k]]:
        raise InvalidSpec(f"The effects name {listing(twice)} twice.")


def _check_arrow(pair: object, weight: object) -> None:
    if not (isinstance(pair, tuple) and len(pair) == 2):
        raise InvalidSpec(f"An arrow is a pair (cause, effect) of names, got {pair!r}.")
    if not is_number(weight):
        raise InvalidSpec(
            f"The effect of {pair[0]!r} on {pair[1]!r} must be a number, got {weight!r}."
        )


def _allowed_arrows(
    allowed: pd.DataFrame | np.ndarray | None, exogenous: Sequence[str], names: Sequence[str]
) -> np.ndarray:
    n = len(names)
    if allowed is None:
        may = np.ones((n, n), np.bool_)
    elif isinstance(allowed, pd.DataFrame):
        if absent := [k for k in names if k not in allowed.index or k not in allowed.columns]:
            raise InvalidSpec(f"allowed has no row or no column for {listing(absent)}.")
        may = allowed.loc[list(names), list(names)].to_numpy(dtype=np.bool_, copy=True)
    else:
        may = np.array(allowed)
    if may.shape != (n, n) or may.dtype != np.bool_:
        raise InvalidSpec(
            f"allowed must be a matrix of True and False of {n} x {n} for the features "
            f"{listing(names, 30)}, got {may.dtype} of shape {may.shape}."
        )
    if isinstance(exogenous, str):
        raise InvalidSpec(f"exogenous takes a list of names, got the text {exogenous!r}.")
    if unknown := [name for name in exogenous if name not in names]:
        raise InvalidSpec(
            f"exogenous names {listing(unknown)}; the numeric features are {listing(names, 30)}."
        )
    may[[list(names).index(name) for name in exogenous]] = False
    return may


def effects_of(spec: Any, encoder: Encoder, known: np.ndarray, memo: Memo) -> CausalEffects:
    """Effects, edges with weights, a graph, or "estimate" from known people (encoded).

    memo: where estimates are kept from one call to the next, by the people that they come from.
    """
    if isinstance(spec, CausalEffects):
        return spec
    if isinstance(spec, Mapping):
        return CausalEffects.from_edges(spec)
    if hasattr(spec, "edges"):
        return CausalEffects.from_graph(spec)
    if isinstance(spec, str) and spec == "estimate":
        numbers = [axis for axis in encoder.axes if not axis.is_categorical]
        names = [axis.feature.name for axis in numbers]
        columns = np.ascontiguousarray(known[:, [axis.columns[0] for axis in numbers]])

        def make() -> CausalEffects:
            estimated = CausalEffects.estimate(pd.DataFrame(columns, columns=names))
            return replace(estimated, uncertainty=OF_ESTIMATES)

        key = (CausalEffects, tuple(names), columns.shape, blake2b(columns.data).digest())
        estimated: CausalEffects = memo.get(key, make)
        return estimated
    raise InvalidSpec(f"effects must be CausalEffects, edges, a graph or 'estimate', got {spec!r}.")

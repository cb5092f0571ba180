"""Trees whose recourse risk is bounded with confidence, from held-out people.

``relabel`` flips leaves of a grown tree to the desired class until the bound holds, in one of
two ways:

- ``"pac"`` (Proposition 3 of the paper): cover held-out people with a margin that holds for every
  relabelling of the undesired leaves at once.
- ``"sequence"`` (beyond the paper, and tighter): fix an order of flips on the people that the
  tree was grown on, which gives a chain of nested trees; then test the trees on held-out people,
  from the one without risk towards fewer flips, and keep the last that passes.

Both need held-out people who come from the same population and had no part in anything that was
fitted: not the tree, not its grid, not the cost of actions.
"""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import clopper_pearson_upper
from ract._utils.validation import INNER_SHARE, check_value, one_of
from ract.trees.cover import Attainment, flip_order, greedy_cover, majority_labels, own_leaves
from ract.trees.grower import CellTree, People

Method = Literal["pac", "sequence"]

# Risks at which the order of flips weighs anew what is still needed.
STAGES = 21


class GuaranteeWarning(UserWarning):
    """A guarantee that was asked for and cannot be given."""


@dataclass(frozen=True)
class Guarantee:
    """How many people a tree leaves without recourse, and how sure that is.

    Parameters
    ----------
    method : {"pac", "sequence"}
    min_recourse, confidence : float
        What was asked for.
    met : bool
        Whether it holds; if not, the tree was relabelled for ``min_recourse`` without a guarantee.
    risk_bound : float
        With the given confidence the tree leaves at most this share of people without recourse.
    empirical_risk : float
        Share of the held-out people without recourse.
    n_people : int
        Number of held-out people.
    flipped : int
        Leaves that became desired.
    price : float
        By how much the relabelled leaves raise the error rate on held-out people.
    needed : int or None
        How many held-out people are needed, if there were too few.

    Examples
    --------
    >>> print(Guarantee("sequence", 0.9, 0.95, True, 0.0996, 0.087, 1500, 7, 0.004))
    With 95% confidence at most 10% of people are without recourse (asked: 10%), from 1500
    held-out people; 7 leaves flipped, accuracy falls by 0.4 points.
    """

    method: Method
    min_recourse: float
    confidence: float
    met: bool
    risk_bound: float
    empirical_risk: float
    n_people: int
    flipped: int
    price: float
    needed: int | None = None

    def __str__(self) -> str:
        return self.describe()

    def describe(self) -> str:
        """The guarantee in plain words; the bound is rounded up."""
        asked = _percent(round(1 - self.min_recourse, 12))
        known = (
            f"With {_percent(self.confidence)} confidence at most {percent_up(self.risk_bound)} "
            f"of people are without recourse (asked: {asked}), "
            f"from {self.n_people} held-out people"
        )
        if not self.met:
            known += f", too few: {self.needed} are needed"
        leaves = "1 leaf" if self.flipped == 1 else f"{self.flipped} leaves"
        points = round(100 * abs(self.price), 1)
        if points == 0:
            change = "stays the same"
        else:
            change = f"{'falls' if self.price > 0 else 'rises'} by {points:g} points"
        return f"{known}; {leaves} flipped, accuracy {change}."


def pac_slack(n_undesired_leaves: int, n_people: int, confidence: float) -> float:
    """How far the true risk of any relabelling may exceed the risk on held-out people.

    Examples
    --------
    >>> round(pac_slack(10, 1000, 0.95), 3)
    0.07
    """
    check_value("confidence", confidence, INNER_SHARE)
    if n_undesired_leaves < 0 or n_people < 1:
        raise InvalidSpec(
            f"pac_slack needs 0 or more leaves and 1 or more people, "
            f"got {n_undesired_leaves} and {n_people}."
        )
    return math.sqrt(_log_choices(n_undesired_leaves, confidence) / (2 * n_people))


def pac_people_needed(n_undesired_leaves: int, max_risk: float, confidence: float) -> int:
    """How many held-out people bring ``pac_slack`` down to ``max_risk``.

    Examples
    --------
    >>> pac_people_needed(10, 0.1, 0.95)
    497
    """
    check_value("max_risk", max_risk, INNER_SHARE)
    check_value("confidence", confidence, INNER_SHARE)
    n = math.floor(_log_choices(n_undesired_leaves, confidence) / (2 * max_risk**2))
    while n < 1 or pac_slack(n_undesired_leaves, n, confidence) > max_risk:
        n += 1
    return n


def sequence_people_needed(max_risk: float, confidence: float) -> int:
    """How many held-out people can show a risk of at most ``max_risk``, if none is without.

    Examples
    --------
    >>> sequence_people_needed(0.1, 0.95)
    29
    """
    check_value("max_risk", max_risk, INNER_SHARE)
    check_value("confidence", confidence, INNER_SHARE)
    return math.ceil(math.log(1 - confidence) / math.log(1 - max_risk))


def relabel(
    tree: CellTree,
    growing: People,
    growing_weights: np.ndarray,
    calibration: People,
    *,
    max_risk: float,
    confidence: float,
    method: Method = "sequence",
) -> tuple[np.ndarray, Guarantee]:
    """Flip leaves to the desired class until the risk is at most ``max_risk``, with confidence.

    Warns if there are too few held-out people for that, and then relabels for ``max_risk``
    without a guarantee.

    Parameters
    ----------
    tree : CellTree
    growing, growing_weights : People, float64 array
        Whom the tree was grown on. Through ``tree.masses`` they decide what a flip costs, and
        for "sequence" the order of the flips.
    calibration : People
        Held out, each counting once.
    max_risk, confidence : float
        Between 0 and 1.
    method : {"sequence", "pac"}
        See the head of this module.

    Returns
    -------
    labels : uint8 (nodes,)
    guarantee : Guarantee

    Examples
    --------
    >>> from ract.trees.grower import GrowRules, grow_tree
    >>> rng = np.random.default_rng(0)
    >>> def draw(n):  # eight cells, of which everyone can climb one
    ...     cells = rng.integers(0, 8, (1, n), dtype=np.uint8)
    ...     highest = np.minimum(cells + 1, 7).astype(np.uint8)
    ...     desired = (rng.integers(0, 8, n) <= cells[0]).astype(np.uint8)
    ...     return People(cells, cells, highest, np.array([8]), (None,), desired)
    >>> growing, held_out, weights = draw(500), draw(500), np.ones(500)
    >>> tree = grow_tree(growing, weights, GrowRules(max_depth=3))
    >>> labels, guarantee = relabel(
    ...     tree, growing, weights, held_out, max_risk=0.2, confidence=0.95
    ... )
    >>> print(guarantee)
    With 95% confidence at most 19.8% of people are without recourse (asked: 20%), from 500
    held-out people; 2 leaves flipped, accuracy falls by 4 points.
    """
    check_value("max_risk", max_risk, INNER_SHARE)
    check_value("confidence", confidence, INNER_SHARE)
    if calibration.cells.shape[1] == 0:
        raise InvalidSpec("A guarantee needs held-out people, got none.")
    before = majority_labels(tree)
    check_value("method", method, one_of("sequence", "pac"))
    held_out = Attainment(tree, calibration)
    if method == "pac":
        after, bound, needed = _by_slack(held_out, before, max_risk, confidence)
    else:
        grown_on = Attainment(tree, growing), growing_weights
        after, bound, needed = _by_sequence(held_out, *grown_on, before, max_risk, confidence)
    leaves, leaf_of_person = tree.leaves, own_leaves(tree, calibration)
    errors = [np.mean(labels[leaf_of_person] != calibration.desired) for labels in (before, after)]
    return after, Guarantee(
        method=method,
        min_recourse=round(1 - max_risk, 12),
        confidence=confidence,
        met=needed is None,
        # Where every leaf is desired nobody can be without recourse.
        risk_bound=0.0 if after[leaves].all() else bound,
        empirical_risk=float(np.mean(held_out.desired_reached(after) == 0)),
        n_people=len(leaf_of_person),
        flipped=int((before[leaves] != after[leaves]).sum()),
        price=float(errors[1] - errors[0]),
        needed=needed,
    )


# Labels, a bound of their risk and, if there were too few held-out people, how many it takes.
Relabelled = tuple[np.ndarray, float, int | None]


def _by_slack(
    held_out: Attainment, before: np.ndarray, max_risk: float, confidence: float
) -> Relabelled:
    """Cover held-out people until their risk plus ``pac_slack`` is at most ``max_risk``."""
    n, n_undesired = held_out.n_people, int((before[held_out.tree.leaves] == 0).sum())
    slack = pac_slack(n_undesired, n, confidence)
    met = slack <= max_risk or n_undesired == 0
    needed = None if met else pac_people_needed(n_undesired, max_risk, confidence)
    if not met:
        _warn(
            f"No guarantee of min_recourse={1 - max_risk:g}: {n} held-out people leave a slack of "
            f"{slack:.3f} for {n_undesired} undesired leaves, {needed} people are needed. "
            "The tree is relabelled for it without slack."
        )
    target = max(max_risk - slack, 0.0) if met else max_risk
    cover = greedy_cover(held_out, np.ones(n), before, target)
    return cover.labels, min(cover.risk + slack, max_risk if met else 1.0), needed


def _by_sequence(
    held_out: Attainment,
    grown_on: Attainment,
    weights: np.ndarray,
    before: np.ndarray,
    max_risk: float,
    confidence: float,
) -> Relabelled:
    """Test a fixed sequence of trees, from every leaf desired towards no flip.

    A tree passes when the Clopper-Pearson bound of its risk on held-out people is at most
    ``max_risk``; the last one before the first failure is kept. To keep a tree of larger risk,
    the first such tree must have passed, which is as unlikely as asked: testing many trees needs
    no correction. With so few people that no tree can pass, ``1 - max_risk`` of the people whom
    the tree was grown on are covered instead.
    """
    n = held_out.n_people
    tolerated = most_failures(n, max_risk, confidence)
    # The tests end near the tolerated share, or well below it if the tree overfits.
    stages = max(tolerated, 0) / n * np.linspace(1, 0, STAGES)
    order = flip_order(grown_on, weights, before, stages.tolist())
    needed = None
    if tolerated >= 0 or len(order) == 0:
        # A tree fails those who need more flips than it has, so fewer flips never help anyone
        # and the tests end where all but the tolerated number of people have enough of them.
        flips_needed = np.sort(_flips_needed(held_out, before, order))
        flipped = order[: flips_needed[n - 1 - max(tolerated, 0)]]
    else:
        needed = sequence_people_needed(max_risk, confidence)
        _warn(
            f"No guarantee of min_recourse={1 - max_risk:g}: even if all of the {n} held-out "
            f"people have recourse, {needed} are needed. The tree is relabelled for it on the "
            "people it was grown on."
        )
        flipped = greedy_cover(grown_on, weights, before, max_risk).flipped
    after = before.copy()
    after[flipped] = 1
    # The tests chose among trees at one level, which is all that they show. Where no tree was
    # left to choose, or where the people it was grown on chose, the failures themselves count.
    chosen_by_tests = needed is None and len(flipped) > 0
    failures = tolerated if chosen_by_tests else int((held_out.desired_reached(after) == 0).sum())
    return after, clopper_pearson_upper(failures, n, confidence), needed


def _log_choices(n_undesired_leaves: int, confidence: float) -> float:
    """ln(|H| / alpha) for the 2 to the n labellings of the undesired leaves."""
    return n_undesired_leaves * math.log(2) - math.log(1 - confidence)


def most_failures(n: int, max_risk: float, confidence: float) -> int:
    """The most failures among n people with which a tree passes; -1 if none is too many."""
    return (
        bisect_right(range(n), max_risk, key=lambda k: clopper_pearson_upper(k, n, confidence)) - 1
    )


def _flips_needed(attainment: Attainment, labels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """How many flips, in the given order, until each person attains a desired leaf."""
    position = np.zeros(len(labels), np.int64)  # 0 for leaves that are desired from the start
    position[order] = np.arange(1, len(order) + 1)
    everyone = np.arange(attainment.n_people)
    return np.concatenate(
        [
            np.minimum.reduceat(position[leaves], start[:-1])
            for _, start, leaves in attainment.leaves(everyone)
        ]
    )


def _warn(message: str) -> None:
    warnings.warn(message, GuaranteeWarning, stacklevel=4)


def _percent(share: float) -> str:
    return f"{100 * share:.4g}%"


def percent_up(share: float) -> str:
    """To a tenth of a percent and never less than the share, binary fractions aside."""
    return f"{math.ceil(round(1000 * share, 6)) / 10:g}%"

"""When a cost is within a budget: the one definition that everything shares.

Percentiles are shares of people, so that many actions cost exactly the budget, and their floating
point cost may come out a rounding above it: .4 - .3 is more than .1. A cost is therefore within a
budget up to the budget's *ceiling*, which is higher by a billionth of it. Reach in training, every
search, the checker of certificates and all counts ask this and nothing else. How far a person may
move a number (``Feature.room``) is compared in the same way.
"""

from __future__ import annotations

from typing import TypeVar, overload

import numpy as np

# Costs are differences of levels of about 1, exact to some 1e-16; costs that truly differ do so by
# the share of one person, a billionth of the budget only in tables of a billion.
EDGE = 1e-9

Number = TypeVar("Number", float, np.ndarray)


def ceiling(budget: Number) -> Number:
    """The largest cost that is within a budget; kernels compare costs with it.

    >>> ceiling(0.3) > 0.1 + 0.2, ceiling(0.3) < 0.3000001, ceiling(np.inf)
    (True, True, inf)
    """
    return budget * (1 + EDGE)


@overload
def within(cost: float, budget: float) -> bool: ...
@overload
def within(cost: np.ndarray, budget: float | np.ndarray) -> np.ndarray: ...
def within(cost: float | np.ndarray, budget: float | np.ndarray) -> bool | np.ndarray:
    """Whether a cost is within a budget, exact at the edge.

    Parameters
    ----------
    cost : float or array
    budget : float or array
        0 or more.

    Examples
    --------
    >>> within(0.1 + 0.2, 0.3), within(0.31, 0.3)
    (True, False)
    """
    most = ceiling(np.asarray(budget)) if isinstance(budget, np.ndarray) else ceiling(budget)
    return cost <= most

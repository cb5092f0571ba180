"""Which feature causes which, read off a table: DirectLiNGAM (Shimizu et al., JMLR 2011).

The model is linear with independent noise that is not Gaussian, and has no cycle. A feature that
nothing else causes is independent of what it leaves unexplained in every other feature. So the
causal order is found from its top: take the feature that looks most like a cause of all the
others, subtract what it explains, and go on with the rest. Coefficients are then plain least
squares on the features before.

Which of two features causes the other is decided by the likelihood ratio of Hyvarinen and
Smith (JMLR 2013), in which entropies are approximated from two moments (Hyvarinen, 1998).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ract._utils.errors import InvalidData
from ract._utils.validation import FINITE_AMOUNT, check_value

# Entropy of a standard normal variable, and the constants of the approximation.
NORMAL_ENTROPY = 0.5 * (1.0 + np.log(2.0 * np.pi))
K1, K2, GAMMA = 79.047, 7.4129, 0.37457

# A column of which less than this share is left unexplained is a combination of the others.
LEAST_UNEXPLAINED = 1e-10


@dataclass(frozen=True, eq=False)
class Arrows:
    """What DirectLiNGAM found.

    Parameters
    ----------
    order : int (columns,)
        Columns in causal order: none is caused by a later one.
    direct : float (columns, columns)
        ``direct[i, j]`` is the direct effect of column j on column i.
    """

    order: np.ndarray
    direct: np.ndarray


@dataclass(frozen=True)
class DirectLiNGAM:
    """Estimates a causal order and direct effects; the same table gives the same result.

    Parameters
    ----------
    threshold : float
        Arrows that are weaker than this are left out, in standard deviations of the effect per
        standard deviation of the cause. Arrows that do not pay by the (extended) Bayesian
        information criterion are left out in any case.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> study = rng.exponential(size=2000)
    >>> income = 2.0 * study + rng.exponential(size=2000)
    >>> found = DirectLiNGAM().fit(np.column_stack([income, study]))
    >>> found.order
    array([1, 0])
    >>> found.direct.round(1)
    array([[0., 2.],
           [0., 0.]])
    """

    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_value("threshold", self.threshold, FINITE_AMOUNT)

    def fit(
        self,
        matrix: np.ndarray,
        allowed: np.ndarray | None = None,
        names: Sequence[str] | None = None,
    ) -> Arrows:
        """Find the arrows between the columns of a matrix.

        Parameters
        ----------
        matrix : float (people, columns)
        allowed : bool (columns, columns), optional
            ``allowed[i, j]``: whether there may be an arrow from column j to column i; all by
            default. A row without any says that nothing causes the column.
        names : sequence of str, optional
            What the columns are called in errors.
        """
        n, d = matrix.shape
        names = names or [f"x{j}" for j in range(d)]
        if n < d + 2:
            raise InvalidData(f"{n} people are too few to estimate effects among {d} columns.")
        allowed = np.ones((d, d), np.bool_) if allowed is None else allowed.copy()
        scale = matrix.std(axis=0)
        varies = scale > 0
        allowed &= varies & varies[:, None] & ~np.eye(d, dtype=bool)
        scale[~varies] = 1.0
        standard = np.ascontiguousarray(((matrix - matrix.mean(axis=0)) / scale).T)
        order = _causal_order(standard.copy(), allowed, names)
        direct = _coefficients(standard @ standard.T / n, n, order, allowed, self.threshold)
        return Arrows(order, direct * scale[:, None] / scale)


def _causal_order(residuals: np.ndarray, allowed: np.ndarray, names: Sequence[str]) -> np.ndarray:
    """Columns in causal order. residuals (columns, people), standardised, are overwritten."""
    left = list(range(len(residuals)))
    first: list[int] = []
    last: list[int] = []
    while left:
        among = allowed[np.ix_(left, left)]
        uncaused, causes_none = ~among.any(axis=1), ~among.any(axis=0)
        if uncaused.any():
            chosen = left[int(np.argmax(uncaused))]
        elif causes_none.any():  # its place is at the end, and nothing needs its residual
            last.append(left.pop(int(np.argmax(causes_none))))
            continue
        else:
            chosen = left[int(np.argmin(_doubts(residuals[left])))]
        left.remove(chosen)
        first.append(chosen)
        _subtract(residuals, chosen, left, names)
    return np.array(first + last[::-1], dtype=np.int64)


def _subtract(residuals: np.ndarray, cause: int, left: list[int], names: Sequence[str]) -> None:
    """Take what a column explains out of those that are left, and standardise them again."""
    if not left or not residuals[cause].any():
        return
    share = residuals[left] @ residuals[cause] / residuals.shape[1]
    unexplained = 1.0 - share**2
    gone = (unexplained < LEAST_UNEXPLAINED) & residuals[left].any(axis=1)
    if gone.any():
        raise InvalidData(
            f"Column {names[left[int(np.argmax(gone))]]!r} is a linear combination of other "
            "columns, so its causes cannot be separated; leave it out."
        )
    rest = residuals[left] - share[:, None] * residuals[cause]
    spread = rest.std(axis=1, keepdims=True)
    residuals[left] = rest / np.where(spread > 0, spread, 1.0)


def _doubts(columns: np.ndarray) -> np.ndarray:
    """How much speaks against each column being a cause of the others (columns x people)."""
    d, n = columns.shape
    own = _entropies(columns)
    share = columns @ columns.T / n
    rest = np.empty((d, d))  # rest[i, j]: entropy of what column j leaves unexplained in i
    for j in range(d):
        spread = np.sqrt(np.maximum(1.0 - share[:, j] ** 2, LEAST_UNEXPLAINED))
        rest[:, j] = _entropies((columns - share[:, j : j + 1] * columns[j]) / spread[:, None])
    ratio = own[None, :] + rest - own[:, None] - rest.T  # above 0: i causes j rather than j i
    np.fill_diagonal(ratio, 0.0)
    return (np.minimum(ratio, 0.0) ** 2).sum(axis=1)


def _entropies(columns: np.ndarray) -> np.ndarray:
    """Approximate entropy of each row, which is standardised."""
    size = np.abs(columns)
    log_cosh = (size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)).mean(axis=1)
    skew = (columns * np.exp(-0.5 * columns**2)).mean(axis=1)
    return NORMAL_ENTROPY - K1 * (log_cosh - GAMMA) ** 2 - K2 * skew**2


def _coefficients(
    correlation: np.ndarray, n: int, order: np.ndarray, allowed: np.ndarray, threshold: float
) -> np.ndarray:
    """Direct effects between standardised columns: least squares on those that pay."""
    direct = np.zeros_like(correlation)
    for place, i in enumerate(order):
        causes = [int(j) for j in order[:place] if allowed[i, j]]
        penalty = np.log(n) + 2.0 * np.log(max(len(causes), 1))
        while causes:
            inverse = np.linalg.pinv(correlation[np.ix_(causes, causes)], hermitian=True)
            effects = inverse @ correlation[causes, i]
            noise = max(1.0 - float(effects @ correlation[causes, i]), LEAST_UNEXPLAINED)
            gains = n * effects**2 / (np.diag(inverse) * noise)  # squared t values
            weak = (gains < penalty) | (np.abs(effects) < threshold)
            if not weak.any():
                direct[i, causes] = effects
                break
            del causes[int(np.argmin(np.where(weak, gains, np.inf)))]
    return direct

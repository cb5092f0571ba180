"""A linear structural causal model of loan applications, with every coefficient known.

Roots are drawn independently; integers, the flag and the categories are all roots, so that an
intervention on them is exact. The four amounts, in dollars, are linear in their causes plus
independent bounded skewed noise, so that the true graph can be identified and no value is ever
clipped or rounded:

    Income     = 18,000 + 300 Age + 14,000 College + 32,000 Graduate + 1,200 YearsEmployed
                 + 90,000 Beta(1.5, 6)
    Debt       = 5,000 ExistingLoans + 0.15 Income + 40,000 Beta(1.2, 5)
    Savings    = 2,000 + 300 Age + 0.3 Income - 0.2 Debt + 60,000 Beta(1, 5)
    LoanAmount = 2,000 + 16,000 NewCar + 10,000 Renovation + 22,000 Business
                 + 4,000 Guarantor + 0.1 Income + 30,000 Beta(2, 4)

The log-odds of approval are linear in the same columns (``_LOG_ODDS``).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from ract._utils.typing import TableLike
from ract._utils.validation import AT_LEAST_ONE, check_value
from ract.data.actions import ActionSpace, Feature
from ract.data.effects import CausalEffects
from ract.data.encoder import Encoder

APPROVED, REFUSED = "approved", "refused"

# Share of each category.
_SHARES = {
    "Education": {"HighSchool": 0.45, "College": 0.38, "Graduate": 0.17},
    "Purpose": {"NewCar": 0.30, "UsedCar": 0.30, "Renovation": 0.25, "Business": 0.15},
}

# Bounds are those of the model, not of a draw: every draw lies within them (the supports of
# the roots and of the noise add up to less), and all draws share one space. Paces are those of
# a household that tries: a year of work takes a year, a degree two, raises a tenth a year.
_EDUCATION, _PURPOSE = (tuple(shares) for shares in _SHARES.values())
_ACTIONS = ActionSpace(
    [
        Feature("Age", "integer", "fixed", 28, 70),
        Feature("LatePayments", "integer", "fixed", 0, 6),
        Feature("Education", "categorical", "increase", categories=_EDUCATION, delay=24),
        Feature("YearsEmployed", "integer", "increase", 0, 10, pace=1, per="year"),
        Feature("ExistingLoans", "integer", "decrease", 0, 5, pace=4, per="year"),
        Feature("Guarantor", "binary", "any", 0, 1),
        Feature("Purpose", "categorical", "any", categories=_PURPOSE),
        Feature("Income", "continuous", "increase", 26_000, 174_000, pace="10%", per="year"),
        Feature("Debt", "continuous", "decrease", 0, 92_000, pace=1_000),
        Feature("Savings", "continuous", "increase", 0, 130_000, pace=1_000),
        Feature("LoanAmount", "continuous", "any", 1_000, 76_000),
    ],
    desired=APPROVED,
    limits=None,
)


class _Equation(NamedTuple):
    """effect = intercept + sum of coefficients times causes + scale * Beta(alpha, beta)."""

    intercept: float
    causes: dict[str, float]
    scale: float
    alpha: float
    beta: float


def _of(feature: str, **coefficients: float) -> dict[str, float]:
    """Coefficients of the encoded columns of categories."""
    return {f"{feature}={category}": value for category, value in coefficients.items()}


# In causal order: an equation names only roots and earlier effects.
_EQUATIONS = {
    "Income": _Equation(
        18_000,
        {"Age": 300, **_of("Education", College=14_000, Graduate=32_000), "YearsEmployed": 1_200},
        *(90_000, 1.5, 6),
    ),
    "Debt": _Equation(0, {"ExistingLoans": 5_000, "Income": 0.15}, *(40_000, 1.2, 5)),
    "Savings": _Equation(2_000, {"Age": 300, "Income": 0.3, "Debt": -0.2}, *(60_000, 1, 5)),
    "LoanAmount": _Equation(
        2_000,
        _of("Purpose", NewCar=16_000, Renovation=10_000, Business=22_000)
        | {"Guarantor": 4_000, "Income": 0.1},
        *(30_000, 2, 4),
    ),
}

# Late payments, which nobody can undo, weigh most: an ordinary model leaves some people without
# a way back.
_INTERCEPT = 0.4
_LOG_ODDS = {
    **{"Age": 0.03, "LatePayments": -1.8},
    **_of("Education", College=0.3, Graduate=0.6),
    **{"YearsEmployed": 0.08, "ExistingLoans": -0.3, "Guarantor": 0.6},
    **_of("Purpose", UsedCar=0.2, Renovation=0.4, Business=-0.4),
    **{"Income": 3e-5, "Debt": -5e-5, "Savings": 3e-5, "LoanAmount": -5e-5},
}


class LoansModel:
    """The model that loan applications are drawn from.

    Attributes
    ----------
    actions : ActionSpace
        What applicants may change; the same for every draw.
    causes : CausalEffects
        The true effects of features on each other, over encoded columns.

    Examples
    --------
    >>> model = LoansModel()
    >>> frame, target = model.sample(200, np.random.default_rng(0))
    >>> frame.shape, sorted(set(target))
    ((200, 11), ['approved', 'refused'])
    >>> better = frame.assign(LatePayments=0)
    >>> bool((model.approval_probability(better) >= model.approval_probability(frame)).all())
    True
    """

    def __init__(self) -> None:
        self.actions = _ACTIONS
        self._encoder = Encoder.of_space(_ACTIONS, _ACTIONS.names)
        arrows = {
            (cause, effect): float(coefficient)
            for effect, equation in _EQUATIONS.items()
            for cause, coefficient in equation.causes.items()
        }
        self.causes = CausalEffects.from_edges(arrows, self._encoder.column_names)

    def __repr__(self) -> str:
        return "LoansModel()"

    def sample(self, n_people: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.Series]:
        """Draw people and the lender's past decisions on them.

        Parameters
        ----------
        n_people : int
        rng : numpy.random.Generator

        Returns
        -------
        frame : DataFrame
        target : Series of "approved" and "refused"
        """
        check_value("n_people", n_people, AT_LEAST_ONE)
        roots = _draw_roots(int(n_people), rng)
        # Effects start at zero, and each is filled in before the next one reads it.
        frame = pd.DataFrame(roots | dict.fromkeys(_EQUATIONS, 0.0))
        frame = frame[[feature.name for feature in self.actions]]
        encoded = self._encoded(frame)
        for effect, (intercept, causes, scale, alpha, beta) in _EQUATIONS.items():
            noise = scale * rng.beta(alpha, beta, int(n_people))
            linear = sum(coefficient * encoded[cause] for cause, coefficient in causes.items())
            encoded[effect] = intercept + linear + noise
        frame = frame.assign(**{effect: encoded[effect] for effect in _EQUATIONS})
        approved = rng.random(int(n_people)) < self.approval_probability(frame)
        return frame, pd.Series(np.where(approved, APPROVED, REFUSED), name="Decision")

    def approval_probability(self, frame: TableLike) -> np.ndarray:
        """Probability that the lender approves each person, of shape (n_people,)."""
        weights = pd.Series(_LOG_ODDS)
        encoded = self._encoded(frame)[weights.index]
        log_odds = _INTERCEPT + encoded.to_numpy() @ weights.to_numpy()
        probability: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * log_odds))  # logistic, no overflow
        return probability

    def _encoded(self, frame: TableLike) -> pd.DataFrame:
        """The encoded columns; a pandas frame may have other columns too."""
        if isinstance(frame, pd.DataFrame):
            frame = frame[[name for name in self.actions.names if name in frame]]
        matrix = self._encoder.matrix(frame, kinds=False)
        return pd.DataFrame(matrix, columns=list(self._encoder.column_names))


def _draw_roots(n_people: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    roots: dict[str, np.ndarray] = {
        "Age": rng.integers(28, 70, n_people, endpoint=True),
        "LatePayments": rng.binomial(6, 0.2, n_people),
        "YearsEmployed": rng.integers(0, 10, n_people, endpoint=True),
        "ExistingLoans": rng.binomial(5, 0.3, n_people),
        "Guarantor": rng.random(n_people) < 0.25,
    }
    for name, shares in _SHARES.items():
        roots[name] = rng.choice(np.array(list(shares)), n_people, p=list(shares.values()))
    return roots

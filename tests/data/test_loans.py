"""The loans model does what its table says, and interventions follow the true equations."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import LoansModel, load_loans
from ract.data.encoder import Encoder
from ract.data.loans import _EQUATIONS
from tests.builders import after_effects

SCHOOLING = {"HighSchool": 0.0, "College": 14_000.0, "Graduate": 32_000.0}
PRICE = {"NewCar": 16_000.0, "UsedCar": 0.0, "Renovation": 10_000.0, "Business": 22_000.0}
AMOUNTS = ["Income", "Debt", "Savings", "LoanAmount"]


def expected_amounts(row, noise, effort):
    """The four equations, written out a second time; effort is added after the causes."""
    income = 18_000 + 300 * row["Age"] + SCHOOLING[row["Education"]] + 1_200 * row["YearsEmployed"]
    income += noise["Income"] + effort.get("Income", 0)
    debt = 5_000 * row["ExistingLoans"] + 0.15 * income + noise["Debt"] + effort.get("Debt", 0)
    savings = 2_000 + 300 * row["Age"] + 0.3 * income - 0.2 * debt + noise["Savings"]
    savings += effort.get("Savings", 0)
    loan = 2_000 + PRICE[row["Purpose"]] + 4_000 * row["Guarantor"] + 0.1 * income
    loan += noise["LoanAmount"] + effort.get("LoanAmount", 0)
    return {"Income": income, "Debt": debt, "Savings": savings, "LoanAmount": loan}


def noise_of(row):
    """What is left of each amount when its causes are taken away."""
    base = expected_amounts(row, dict.fromkeys(AMOUNTS, 0.0), {})
    noise = {"Income": row["Income"] - base["Income"]}
    for k, name in enumerate(AMOUNTS[1:], start=1):
        known = {n: noise.get(n, 0.0) for n in AMOUNTS}
        noise[AMOUNTS[k]] = row[name] - expected_amounts(row, known, {})[name]
    return noise


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=2000, random_state=1)


def some_plans(frame, rng):
    """New values that change roots, amounts and amounts downstream of other changed ones."""
    n = len(frame)
    return pd.DataFrame(
        {
            "Education": rng.choice(list(SCHOOLING), n),
            "Purpose": rng.choice(list(PRICE), n),
            "ExistingLoans": rng.integers(0, 6, n),
            "Guarantor": rng.random(n) < 0.5,
            "Income": frame["Income"] + rng.uniform(-5_000, 20_000, n),
            "Debt": frame["Debt"] - rng.uniform(0, 3_000, n),
        }
    )


def test_same_random_state_gives_the_same_people():
    first, second = load_loans(300, random_state=7), load_loans(300, random_state=7)
    pd.testing.assert_frame_equal(first.frame, second.frame)
    pd.testing.assert_series_equal(first.target, second.target)
    drawn = load_loans(300, random_state=np.random.default_rng(7))
    pd.testing.assert_frame_equal(first.frame, drawn.frame)
    assert not first.frame.equals(load_loans(300, random_state=8).frame)


def test_columns_types_and_labels(loans):
    kinds = {name: dtype.kind for name, dtype in loans.frame.dtypes.items()}
    assert [f.name for f in loans.actions] == list(loans.frame.columns)
    assert kinds["Guarantor"] == "b"
    assert all(kinds[name] == "f" for name in AMOUNTS)
    assert all(
        kinds[name] == "i" for name in ("Age", "LatePayments", "YearsEmployed", "ExistingLoans")
    )
    assert set(loans.frame["Education"]) == set(loans.actions["Education"].categories)
    assert set(loans.frame["Purpose"]) == set(loans.actions["Purpose"].categories)
    assert set(loans.target) == {"approved", "refused"}
    assert loans.target.name == "Decision"
    assert loans.desired == loans.actions.desired == "approved"


def test_amounts_follow_their_equations_with_noise_on_its_support():
    frame = load_loans(n_people=5000, random_state=2).frame
    noise = pd.DataFrame([noise_of(row) for row in frame.to_dict("records")])
    table = {
        "Income": (90_000, 1.5, 6),
        "Debt": (40_000, 1.2, 5),
        "Savings": (60_000, 1, 5),
        "LoanAmount": (30_000, 2, 4),
    }
    for name, (scale, alpha, beta) in table.items():
        values = noise[name] / scale
        assert values.between(-1e-9, 1 + 1e-9).all()
        mean = alpha / (alpha + beta)
        spread = math.sqrt(mean * (1 - mean) / (alpha + beta + 1))
        assert abs(values.mean() - mean) < 4 * spread / math.sqrt(len(values))
        assert values.std() == pytest.approx(spread, rel=0.05)


def test_bounds_hold_for_every_draw(loans):
    """Each amount is a sum over independent sources, so its extremes are sums of extremes."""
    names = list(loans.causes.names)
    reach = pd.DataFrame(loans.causes.total.T + np.eye(len(names)), names, names)
    for effect in AMOUNTS:
        low = high = 0.0
        for feature in loans.actions:
            if feature.is_categorical:
                moves = [reach.loc[f"{feature.name}={c}", effect] for c in feature.categories]
            elif feature.name in _EQUATIONS:
                intercept, _, scale, *_ = _EQUATIONS[feature.name]
                moves = [
                    reach.loc[feature.name, effect] * v for v in (intercept, intercept + scale)
                ]
            else:
                ends = (feature.lower, feature.upper)
                moves = [reach.loc[feature.name, effect] * v for v in ends]
            low, high = low + min(moves), high + max(moves)
        bounds = loans.actions[effect]
        assert bounds.lower <= low and high <= bounds.upper, (effect, low, high)
    frame = load_loans(n_people=100_000, random_state=3).frame
    for feature in loans.actions:
        if not feature.is_categorical:
            assert frame[feature.name].between(feature.lower, feature.upper).all()


def test_two_draws_have_one_complete_action_space(loans):
    other = load_loans(n_people=500, random_state=9)
    assert other.actions == loans.actions
    assert loans.actions.complete(loans.frame) == loans.actions


def test_effects_equal_replaying_the_equations_with_the_same_noise(loans):
    frame = loans.frame.iloc[:200]
    plans = some_plans(frame, np.random.default_rng(0))
    after = after_effects(loans, frame, frame.assign(**plans))
    for position, row in enumerate(frame.to_dict("records")):
        plan = plans.iloc[position].to_dict()
        effort = {n: plan[n] - row[n] for n in ("Income", "Debt")}
        changed = row | {n: v for n, v in plan.items() if n not in effort}
        expected = expected_amounts(changed, noise_of(row), effort)
        got = after.iloc[position]
        assert got[AMOUNTS].to_dict() == pytest.approx(expected, rel=1e-9)
        others = [n for n in frame.columns if n not in AMOUNTS]
        assert got[others].to_dict() == {n: changed[n] for n in others}


def test_effects_are_over_the_encoded_columns_along_all_paths(loans):
    causes = loans.causes
    assert causes.names == Encoder(loans.frame, loans.actions).column_names
    identity = np.eye(len(causes.names))
    total = np.linalg.inv(identity - causes.direct) - identity
    np.testing.assert_allclose(causes.total, total, atol=1e-9)


def test_a_missing_column_is_named(loans):
    with pytest.raises(InvalidData, match="'Debt'"):
        LoansModel().approval_probability(loans.frame.drop(columns="Debt"))


@pytest.mark.parametrize("n_people", [0, -3, 2.5, "many", True])
def test_number_of_people_must_be_a_positive_whole_number(n_people):
    with pytest.raises(InvalidSpec, match="n_people"):
        load_loans(n_people)


@pytest.mark.parametrize("random_state", [-1, "seed", 1.5])
def test_random_state_must_be_usable(random_state):
    with pytest.raises(InvalidSpec, match="random_state"):
        load_loans(10, random_state=random_state)


def test_approval_probability_of_one_person_by_hand():
    person = {
        "Age": 40,
        "LatePayments": 1,
        "Education": "College",
        "YearsEmployed": 5,
        "ExistingLoans": 2,
        "Guarantor": False,
        "Purpose": "NewCar",
        "Income": 70_000.0,
        "Debt": 25_000.0,
        "Savings": 40_000.0,
        "LoanAmount": 30_000.0,
    }
    log_odds = 0.4 + 1.2 - 1.8 + 0.3 + 0.4 - 0.6 + 2.1 - 1.25 + 1.2 - 1.5
    [probability] = LoansModel().approval_probability(pd.DataFrame([person]))
    assert probability == pytest.approx(1 / (1 + math.exp(-log_odds)))


def test_labels_are_drawn_from_the_approval_probability():
    loans = load_loans(n_people=20_000, random_state=4)
    p = LoansModel().approval_probability(loans.frame)
    z = ((loans.target == "approved") - p).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < 4
    for low, high in ((0.0, 0.3), (0.3, 0.7), (0.7, 1.0)):
        band = (p >= low) & (p < high)
        share = (loans.target[band] == "approved").mean()
        assert abs(share - p[band].mean()) < 0.03


def test_a_plain_forest_ranks_well_but_not_perfectly():
    loans = load_loans()
    approved = (loans.target == "approved").to_numpy()
    assert 0.55 <= approved.mean() <= 0.65
    forest = RandomForestClassifier(n_estimators=100, random_state=0)
    X = Encoder(loans.frame, loans.actions).matrix(loans.frame)
    scores = cross_val_predict(forest, X, approved, cv=3, method="predict_proba")[:, 1]
    assert 0.8 <= roc_auc_score(approved, scores) <= 0.9


def test_approval_depends_on_fixed_and_on_actionable_features(loans):
    model = LoansModel()
    before = model.approval_probability(loans.frame)
    for change in ({"LatePayments": 6}, {"Income": 174_000.0}):
        plans = loans.frame.assign(**change)
        after = model.approval_probability(after_effects(loans, loans.frame, plans))
        assert abs(after - before).mean() > 0.1
    assert not loans.actions["LatePayments"].actionable
    assert loans.actions["Income"].actionable


def test_loans_have_limits_only_if_asked_for():
    without, limited = load_loans(50), load_loans(50, limits="size")
    assert not without.actions.is_limited and limited.actions.is_limited
    assert limited.actions.features == without.actions.features
    pd.testing.assert_frame_equal(without.frame, limited.frame)

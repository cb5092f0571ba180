"""Paces, delays and drifts: what they mean, how they are written, and what is refused."""

import re

import numpy as np
import pytest

from ract import ActionSpace, Feature, InvalidSpec, RecourseForestClassifier, load_model, save_model
from ract.data.actions.pace import drift_of

SPACE = ActionSpace(
    [
        Feature("age", "integer", "fixed", 18, 90, drift=1, per="year"),
        Feature("income", "continuous", "any", 0, 100, pace=("5%", 3), delay=2),
        Feature("course", "binary", "increase", 0, 1, delay="6 months"),
    ],
    desired=1,
    limits=None,
)


@pytest.mark.parametrize(
    ("pace", "per", "delay", "months", "low", "high"),
    [
        (3, "month", 0, 0, 40, 40),
        (3, "month", 0, 4, 28, 52),
        (3, "year", 0, 4, 39, 41),
        ("5%", "month", 0, 4, 32, 48),
        ((1, 2), "month", 3, 3, 40, 40),
        ((1, 2), "month", 3, 8, 30, 45),
        (None, "month", 3, 2, 40, 40),
        (None, "month", 3, 3, 0, 100),
    ],
)
def test_reach_by_a_month_is_a_box(pace, per, delay, months, low, high):
    feature = Feature("x", "integer", "any", 0, 100, pace=pace, per=per, delay=delay)
    assert feature.limits(40) == (0, 100)
    (timed,) = ActionSpace([feature], limits=None).within(months)
    assert timed.limits(40) == (low, high)


def test_whole_numbers_drift_in_whole_steps():
    age = SPACE["age"]
    assert [drift_of(age, t) for t in (0, 11, 12, 23, 24)] == [0, 0, 1, 1, 2]
    falls = Feature("left", "integer", "fixed", drift=-0.5)
    assert [drift_of(falls, t) for t in (1, 2, 5)] == [0, -1, -2]
    assert drift_of(Feature("x", "continuous", drift=0.1), 3) == pytest.approx(0.3)


def test_action_files_and_model_files_keep_time(tmp_path):
    timed = SPACE.within("1 year")
    for space in (SPACE, timed):
        assert ActionSpace.from_toml_text(space.to_toml_text()) == space
    old = ActionSpace.from_toml_text("[features.age]\nchange = 'fixed'\nper_month = 0.5")
    assert old["age"].drift == 0.5  # as 0.2 wrote it
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(18, 60, 80), rng.random(80) * 50, rng.integers(0, 2, 80)])
    renamed = ActionSpace(
        [Feature(f"x{k}", **{n: getattr(f, n) for n in NAMES}) for k, f in enumerate(timed)],
        1,
        limits=None,
    )
    model = RecourseForestClassifier(renamed, n_estimators=2).fit(X, X[:, 1] > 20)
    save_model(model, tmp_path / "model.ract")
    assert load_model(tmp_path / "model.ract").encoder_.space == model.encoder_.space


NAMES = ("kind", "change", "lower", "upper", "pace", "per", "delay", "drift", "within")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pace": -1}, "pace must be 0 or more and finite, got -1"),
        ({"pace": 10**400}, "pace must be 0 or more and finite, got 1000"),
        ({"pace": "-5%"}, "pace must be 0 or more and finite, got '-5%'"),
        ({"pace": "5"}, "pace must be a number, such as 300, or a share"),
        ({"pace": "5 EUR"}, "pace must be a number, such as 300, or a share"),
        ({"pace": (1, 2, 3)}, "pace must be one rate, or a pair up and down"),
        ({"pace": 1, "per": "week"}, "per must be one of 'month', 'year', got 'week'"),
        ({"pace": 1, "change": "fixed"}, "is fixed and has a pace of 1.0; what moves by itself"),
        ({"pace": 1, "kind": "categorical"}, "is categorical and does not move by the month"),
        ({"drift": 1, "kind": "binary"}, "is binary and does not move by the month"),
        ({"delay": -1}, "delay must be 0 months or more, got -1"),
        ({"delay": "6 EUR"}, "delay must be months or years, such as '6 months', got '6 EUR'"),
    ],
)
def test_bad_input_is_one_sentence(given, said):
    with pytest.raises(InvalidSpec, match=re.escape(said)) as error:
        Feature("x", **given)
    assert str(error.value).count("\n") == 0


def test_fixing_a_feature_drops_its_pace():
    fixed = SPACE.restricted(forbidden=["income"])["income"]
    assert fixed.change == "fixed" and fixed.pace is None

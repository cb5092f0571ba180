"""Rules between features in an action space: files, pickles, model files and what is refused."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, load_model, save_model
from ract._utils.errors import InvalidSpec
from ract.data import Condition, IfThen, LinearRelation, NoTransition
from ract.data.encoder import Axis, Encoder
from ract.models.examples import loans_tree

FRAME = pd.DataFrame({
    "age": [20, 30, 40], "debt": [1, 2, 3], "job": ["clerk", "top manager", "cook"],
})  # fmt: skip
RULES = (
    LinearRelation({"debt": 1.0, "age": -0.5}, 0.0),
    LinearRelation({"debt": 1.0, "age": 1.0}, 50.0, equal=True),
    IfThen("job = `top manager`", "age >= 30"),
    IfThen(Condition("job", "changes"), Condition("debt", "stays")),
    NoTransition("job", "clerk", "top manager"),
    NoTransition("job", target="cook"),
)


def space(*rules):
    return ActionSpace([Feature("age"), Feature("debt"), Feature("job")], rules=rules, limits=None)


def test_rules_survive_an_action_file():
    assert ActionSpace.from_toml_text(space(*RULES).to_toml_text()) == space(*RULES)
    assert hash(RULES) == hash(tuple(space(*map(str, RULES)).rules))


def test_rules_survive_a_model_file(tmp_path):
    model, loans = loans_tree()
    ruled = model.encoder_.space.with_rules("Debt <= Income", "never Purpose from NewCar")
    model.set_params(actions=ruled).fit(loans.frame, loans.target)
    save_model(model, tmp_path / "model.ract")
    again = load_model(tmp_path / "model.ract").encoder_
    assert again.space.rules == ruled.rules
    assert again.axes == model.encoder_.axes
    assert any(axis.barred for axis in again.axes)


def test_forbidden_transitions_and_one_way_switches_are_part_of_what_people_may_do():
    axes = Encoder(FRAME, space("never job from clerk to cook", "never job from cook")).axes
    job = next(axis for axis in axes if axis.is_categorical)
    assert job.feature.categories == ("clerk", "cook", "top manager")
    allowed = [[True, False, True], [False, True, False], [True, True, True]]
    assert job.may_switch().tolist() == allowed


def test_an_axis_of_an_earlier_version_has_no_forbidden_transitions():
    axis = Axis.__new__(Axis)
    axis.__setstate__([Feature("x"), (0,), None])
    assert axis == Axis(Feature("x"), (0,))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("wealth <= age", "names 'wealth'; the features are 'age'"),
        ("job <= 3", "adds up 'job', which is categorical"),
        ("if job >= clerk then age >= 20", "use = or !="),
        ("if job = baker then age >= 20", "the categories of 'job' are"),
        ("if age >= old then debt <= 3", "compares 'age', a number, with 'old'"),
        ("never age from 20", "change = 'increase' or 'decrease'"),
    ],
)
def test_rules_that_features_cannot_keep_are_refused(rule, message):
    with pytest.raises(InvalidSpec, match=message):
        space(rule).complete(FRAME)


@pytest.mark.parametrize(
    "rule", ["if age then debt <= 3", "never job", "age < 3", 7, "if age = 3 debt = 4"]
)
def test_what_is_no_rule_is_refused_in_one_sentence(rule):
    with pytest.raises(InvalidSpec, match=r"\.$"):
        space(rule)


def test_sums_are_read_as_they_are_written():
    for text, coefficients, upper in (
        ("a <= b", {"a": 1, "b": -1}, 0),
        ("a + b <= 10", {"a": 1, "b": 1}, 10),
        ("2*a - b <= 3", {"a": 2, "b": -1}, 3),
        ("3 a >= -1e2 + .5*`b c`", {"b c": 0.5, "a": -3}, 100),
        ("- a + 2 <= a", {"a": -2}, -2),
    ):
        relation = LinearRelation.parse(text)
        assert relation.coefficients == coefficients and relation.upper == upper
    assert LinearRelation.parse("0.1 a + 0.2 a <= 0.3").holds({"a": 1.0})
    assert not LinearRelation.parse("a <= 0.3").holds({"a": 0.3000001})


def test_sums_that_cannot_be_read_are_refused():
    for text in ("a < b", "a <= b <= c", "<= 3", "a b <= 1", "2* <= a", "a ++ b <= 1", "1 <= 2"):
        with pytest.raises(InvalidSpec, match="relation"):
            LinearRelation.parse(text)
    for coefficients, upper in (({}, 1.0), ({"a": np.nan}, 1.0), ({"a": 1.0}, np.inf)):
        with pytest.raises(InvalidSpec, match="relation"):
            LinearRelation(coefficients, upper)

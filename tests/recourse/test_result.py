"""Answers as plans, frames and numbers, on a tree that accepts incomes of 10 or more."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.recourse.result import lacks_value

PEOPLE = pd.DataFrame(
    {
        "age": [30, 40, 50, 60] * 5,
        "income": np.arange(20.0),
        "home": ["rent", "own"] * 10,
    }
)
APPROVED = (PEOPLE["income"] >= 10).astype(int)
SPACE = ActionSpace(
    [Feature("age", change="fixed"), Feature("income"), Feature("home", "categorical")],
    limits=None,
)


@pytest.fixture(scope="module")
def found():
    model = RecourseTreeClassifier(SPACE, desired=1, max_depth=1).fit(PEOPLE, APPROVED)
    people = PEOPLE.iloc[[0, 8, 12]].astype({"home": object})
    people.loc[99] = [40, np.inf, "own"]
    return model.recourse(people, budget=0.2)


def test_everyone_has_a_status_cost_and_bound(found):
    assert found.status.tolist() == ["none within budget", "optimal", "accepted", "invalid"]
    assert found.labels.tolist() == [0, 8, 12, 99]
    np.testing.assert_allclose(found.cost, [np.inf, 0.075, 0.0, np.inf])
    assert found.bound[1] == found.cost[1] and found.found.tolist() == [False, True, False, False]
    assert found.within_budget.tolist() == [False, True, True, False]
    assert found.invalid.tolist() == [False, False, False, True]
    assert found.n_changes.tolist() == [0, 1, 0, 0]
    assert repr(found) == (
        "Recourse of 4 people: 1 accepted, 1 optimal, 1 none within budget, 1 invalid"
    )


def test_invalid_rows_stand_between_the_others_and_are_missing_throughout(found):
    after = found.counterfactuals
    assert after.index.tolist() == [0, 8, 12, 99]
    assert after["income"].tolist()[:3] == pytest.approx([0, 9.5, 12], abs=1e-6)
    assert after.loc[99].isna().all() and np.isnan(found.before[3]).all()
    assert found[3].message == found.messages[3] and "not a finite number" in found.messages[3]
    assert found[3].describe() == f"This row cannot be read. {found.messages[3]}"


def test_changes_are_told_by_feature(found):
    actions = found.actions
    assert actions.columns.tolist() == ["age", "income", "home"]
    assert actions["income"].tolist()[1] == pytest.approx(1.5, abs=1e-6)
    assert actions.drop(columns="income").isna().all().all()
    np.testing.assert_allclose(found.effort[1], [0, 0.075, 0])
    [change] = found[1].changes
    assert (change.feature, change.before, change.switch) == ("income", 8.0, False)
    assert change.effort == pytest.approx(0.075)


def test_frames_have_a_row_per_change_or_per_person(found):
    long, wide = found.to_frame(), found.to_frame("wide")
    assert long["person"].tolist() == [0, 8, 12, 99]
    assert long["feature"].fillna("").tolist() == ["", "income", "", ""]
    assert long["budget needed"].iloc[0] == pytest.approx(0.475)
    assert wide.index.tolist() == [0, 8, 12, 99] and "new income" in wide and "new home" not in wide
    assert wide["message"].isna().tolist() == [True, True, True, False]


def test_the_summary_counts_people_who_can_be_read(found):
    summary = found.summary()
    assert summary["people"] == 4 and summary["accepted"] == summary["optimal"] == 1
    assert summary["recourse ratio"] == pytest.approx(2 / 3)
    assert summary["mean cost"] == pytest.approx(0.075) and summary["changed most"] == "income"


def test_without_options_there_is_nothing_to_say_of_time_or_lasting(found):
    for values in (found.month, found.month_bound, found.until):
        assert np.isnan(values).all()
    assert not found.lasts.any() and found[1].month is None and found[1].lasting is None


def test_only_a_judge_can_judge(found):
    with pytest.raises(InvalidSpec, match="judge must be a fitted judge, such as"):
        found.judged("me")


def test_who_lacks_a_value():
    people = pd.DataFrame({"age": [30.0, np.nan, 50.0], "job": ["cook", None, "clerk"]})
    rules = [Feature("age", missing="stays"), Feature("job", "categorical", missing="stays")]
    space = ActionSpace(rules, limits=None)
    model = RecourseTreeClassifier(space, desired=1, max_depth=1, min_samples_leaf=1)
    model.fit(pd.concat([people] * 6), [0, 0, 1] * 6)
    matrix = model.encoder_.matrix(people)
    lacks = lacks_value(model.encoder_.axes, matrix)
    np.testing.assert_array_equal(lacks, people.isna().to_numpy())

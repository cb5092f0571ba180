"""Features that a model is not to know."""

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    Feature,
    OutcomeJudge,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    audit,
    find_reasons,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans

LOANS = load_loans(400)
UNUSED = ActionSpace(
    [Feature(f.name, f.kind, f.change, categories=f.categories, use=f.name != "Age")
     for f in LOANS.actions], LOANS.desired, limits=None,
)  # fmt: skip
MODELS = [
    RecourseForestClassifier(UNUSED, n_estimators=5, random_state=0),
    RecourseTreeClassifier(UNUSED, max_depth=4),
    RecourseBoostingClassifier(UNUSED, max_iter=5, random_state=0, approval_rate=0.7),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_does_not_know_it_whether_the_table_has_it_or_not(model, tmp_path):
    X, without = LOANS.frame, LOANS.frame.drop(columns="Age")
    model.fit(X, LOANS.target)
    assert "Age" not in model.encoder_.space and "Age" not in model.feature_names_in_
    other = X.assign(Age=X["Age"].to_numpy()[::-1])
    save_model(model, tmp_path / "m.ract")
    for one in (model, load_model(tmp_path / "m.ract")):
        for people in (X, other, without):
            assert (one.predict(people) == model.predict(X)).all()
        plans = one.recourse(other.head(40), max_changes=2, time_limit=5)
        assert plans.to_frame().equals(one.recourse(without.head(40), max_changes=2,
                                                    time_limit=5).to_frame())  # fmt: skip
        reasons = find_reasons(one, other.head(40), reference=other)
        assert "Age" not in reasons.feature_names


def test_people_may_still_be_compared_by_it():
    model = MODELS[1].fit(LOANS.frame, LOANS.target)
    new = load_loans(150, random_state=1)
    groups = np.where(new.frame["Age"] > 40, "old", "young")
    found = audit(model, new.frame, new.target, groups=groups)
    assert "Age" not in found.to_html()


def test_a_judge_does_not_know_it_either():
    judge = OutcomeJudge(UNUSED, n_splits=2).fit(LOANS.frame, LOANS.target)
    assert "Age" not in judge.encoder_.space


def test_it_reads_back_from_toml():
    text = UNUSED.to_toml_text()
    assert "[features.Age]\nuse = false\n" in text
    assert ActionSpace.from_toml_text(text) == UNUSED and UNUSED.unused == {"Age"}
    assert "# " in text and "use" not in LOANS.actions.to_toml_text().split("[features", 1)[1]


def test_a_table_need_not_have_it_and_a_group_is_left_out_whole():
    space = ActionSpace(
        [Feature("home", columns=["own", "rent"], use=False), Feature("x")], limits=None
    )
    frame = pd.DataFrame({"own": [1, 0], "x": [1.5, 2.0], "rent": [0, 1]})
    assert space.complete(frame).names == ("x",)
    assert space.complete(frame[["x"]]).names == ("x",)


def test_arrays_have_no_names_to_leave_out():
    with pytest.raises(InvalidData, match="'x0' is not used, which needs a table with names"):
        RecourseTreeClassifier(ActionSpace([Feature("x0", use=False)], limits=None)).fit(
            np.eye(4), [0, 1] * 2
        )
    with pytest.raises(InvalidSpec, match="use must be true or false, got 1"):
        Feature("x", use=1)

"""The model, ready to answer: types of its values, and the short way to a decision."""

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from ract import ActionSpace, Feature, RecourseForestClassifier, save_model
from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.web.live import Bounds, Live, PersonalRules
from ract.data.datasets import load_loans
from ract.recourse import few_changes


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A model of columns with odd names, missing values, one-hot groups, and numbers as labels."""
    rng = np.random.default_rng(0)
    n = 400
    frame = pd.DataFrame({
        "copy": rng.normal(size=n), "model_fields": rng.integers(0, 9, n).astype(float),
        "a <b>": rng.random(n) < 0.5, "_x": rng.choice([1, 2, 3], n),
        "town": rng.choice(["A", "B", None], n), "h1": 0.0, "h2": 0.0,
    })  # fmt: skip
    frame.loc[rng.random(n) < 0.2, "model_fields"] = np.nan
    hot = rng.random(n) < 0.5
    frame["h1"], frame["h2"] = hot.astype(float), (~hot).astype(float)
    space = ActionSpace([
        Feature("copy"), Feature("model_fields", "continuous", missing="supply"),
        Feature("a <b>", "binary"), Feature("_x", "categorical", categories=(1, 2, 3)),
        Feature("town", "categorical", categories=("A", "B"), missing="stays"),
        Feature("house", columns=("h1", "h2")),
    ], desired=1, limits=None)  # fmt: skip
    target = (frame["copy"] + frame["_x"] > 2).astype(int)
    model = RecourseForestClassifier(space, n_estimators=5, random_state=0).fit(frame, target)
    path = tmp_path_factory.mktemp("odd") / "odd.ract"
    save_model(model, path)
    return Live.of(1, path.read_bytes()), frame


@pytest.fixture(scope="module")
def usual(files):
    return Live.of(1, (files / "model.ract").read_bytes())


def as_json(frame):
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return [{name: getattr(v, "item", lambda v=v: v)() for name, v in row.items()} for row in rows]


def test_values_of_another_model_are_refused_in_a_sentence(usual):
    """A case may have been decided by a model of other columns or categories."""
    known = usual.example
    for wrong, match in (
        ({"Income": None}, "Income"), ({"Purpose": "Boat"}, "Boat"),
        ({"Age": "old"}, "not a number"),
    ):  # fmt: skip
        for ask in (usual.accepted, lambda rows: usual.plans(rows, [PersonalRules()], 1.0)):
            with pytest.raises(InvalidData, match=match):
                ask([known | wrong])
    without = {name: value for name, value in known.items() if name != "Income"}
    with pytest.raises(InvalidData, match="Income"):
        usual.accepted([without])


def test_plans_are_those_of_the_model(usual, people):
    """The question is read once; the answers are those of asking anew."""
    rows = people[:12]
    found = usual.plans(rows, [PersonalRules()] * len(rows), 60.0)
    again = few_changes(
        usual.model.recourse, usual.frame(rows), at_least=True, ranges=True, strict=True
    )
    assert [str(plan) for plan in found] == [str(plan) for plan in again]
    np.testing.assert_array_equal(found.after, again.after)
    assert found.found.any()


def test_time_counts_where_a_feature_has_a_pace(files, people, tmp_path):
    assert Live.of(1, (files / "model.ract").read_bytes(), months=6.0).months is None
    loans = load_loans(700, random_state=0)  # whose features have paces
    forest = RecourseForestClassifier(loans.actions, n_estimators=10, random_state=0)
    save_model(forest.fit(loans.frame, loans.target), tmp_path / "slow.ract")
    live = Live.of(1, (tmp_path / "slow.ract").read_bytes(), months=6.0)
    found = live.plans(people[:30], [PersonalRules()] * 30, 60.0)
    again = live.model.recourse(
        live.frame(people[:30]), actions=loans.actions.within(6), max_changes=3, at_least=True
    )
    assert live.months == 6.0 and found.found[again.found].all()
    assert 0 < np.nanmax(found.month) <= 6


def test_values_of_any_columns_are_typed(odd):
    live, frame = odd
    rows = as_json(frame)
    for row in rows[:50]:
        assert live.values.model_validate(row).model_dump(by_alias=True) == row
    for wrong in ({"_x": 4}, {"town": "C"}, {"copy": None}, {"h1": 7}, {"a <b>": "maybe"}):
        with pytest.raises(ValidationError):
            live.values.model_validate(rows[0] | wrong)
    lacking = {k: v for k, v in rows[0].items() if k not in ("town", "model_fields")}
    read = live.values.model_validate(lacking).model_dump(by_alias=True)
    assert read["town"] is None and read["model_fields"] is None


def test_decisions_are_those_of_the_model(odd, usual, people):
    for live, rows in ((odd[0], as_json(odd[1])), (usual, people)):
        expected = live.model.predict(live.frame(rows)) == live.model.desired_
        assert (live.accepted(rows) == expected).all()
        encoded = live.model.encoder_.matrix(live.frame(rows))
        np.testing.assert_array_equal(live.matrix(rows), encoded)
    both = as_json(odd[1])[0] | {"h1": 1.0, "h2": 1.0}
    with pytest.raises(InvalidData, match="sum to 1"):
        odd[0].accepted([both])


def test_rules_of_a_person_are_obeyed(usual, people):
    rules = [
        PersonalRules(
            locked=["Income"], bounds={"Savings": Bounds(upper=50_000.4), "Age": Bounds(lower=3)}
        )
    ]
    found = usual.plans(people, rules * len(people), 30.0)
    for plan in found:
        for change in plan.changes:
            assert change.feature != "Income"
            assert (
                change.feature != "Savings"
                or change.after <= 50_000.4
                or change.after < change.before
            )
    assert found.found.any()
    with pytest.raises(InvalidSpec, match="not a feature"):
        usual.plans(people, [PersonalRules(locked=["Shoes"])], 1.0)


def test_rules_hold_for_those_who_have_no_plan_of_few_changes_too(odd):
    live, frame = odd
    found = live.plans(
        as_json(frame)[:40], [PersonalRules(locked=["copy"])] * 40, 30.0, max_changes=1
    )
    assert found.found.any() and not (found.found | found.accepted).all()
    assert not any(c.feature == "copy" for plan in found for c in plan.changes)

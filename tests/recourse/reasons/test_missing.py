"""Reasons of people whose values are missing, from a table to words."""

from dataclasses import replace
from functools import cache

import numpy as np

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    find_reasons,
    find_recourse,
    load_model,
    save_model,
)
from ract.data.costs import make_cost
from ract.data.encoder import Encoder
from ract.evaluation import reasons_report
from ract.models.imported import ImportedClassifier
from tests.builders import SUPPLYING, credit_with_holes, keeping_reference, stump_on

TABLE, TARGET = credit_with_holes(300, 0)
PEOPLE = TABLE.head(100)


@cache
def fitted():
    forest = RecourseForestClassifier(SUPPLYING, n_estimators=10, random_state=0)
    return keeping_reference(forest.fit(TABLE, TARGET), TABLE)


@cache
def found():
    return fitted().reasons(PEOPLE, time_limit=None)


def given(reasons, feature):
    """(person's position, reason) wherever a feature is a reason and its value is missing."""
    return [
        (i, reason)
        for i, person in enumerate(reasons)
        for reason in person.reasons
        if reason.feature == feature and reason.direction == "missing"
    ]


def test_a_missing_value_is_a_reason_in_its_own_words():
    np.testing.assert_allclose(found().values.sum(axis=1), found().score - found().base, atol=1e-12)
    for name in ("income", "job"):
        some = given(found(), name)
        assert some and all(PEOPLE[name].isna().iloc[i] for i, _ in some)
        assert all(reason.value is None for _, reason in some)
        assert some[0][1].describe().startswith(f"{name} was not given")
    known = [r for person in found() for r in person.reasons if r.direction != "missing"]
    assert known and all(reason.value is not None for reason in known)
    assert (found().to_frame()["direction"] == "missing").sum() == sum(
        len(given(found(), name)) for name in TABLE
    )


def test_what_may_be_handed_in_is_asked():
    alone = [(i, reason) for i, reason in given(found(), "income") if reason.mending == "alone"]
    assert alone
    for i, reason in alone:
        last = fitted().encoder_.space["income"].upper if reason.until is None else reason.until
        ends = PEOPLE.iloc[[i, i]].assign(income=[reason.from_value, last])
        assert (fitted().predict(ends) == "yes").all()
        assert f"Supplying {reason.from_value:g}" in reason.describe()
    for i, reason in given(found(), "job"):
        if reason.alone:
            told = PEOPLE.iloc[[i]].assign(job=reason.from_value)
            assert fitted().predict(told) == "yes"
            assert f"Supplying {reason.from_value!r} would be enough." in reason.describe()


def test_what_stays_missing_is_marked_and_not_hidden():
    space = ActionSpace(
        [replace(f, missing=None, supply_cost=None) for f in SUPPLYING], limits=None
    )
    forest = RecourseForestClassifier(space, n_estimators=10, desired="yes", random_state=0)
    reasons = forest.fit(TABLE, TARGET).reasons(TABLE, reference=TABLE)
    missing = given(reasons, "job")
    assert missing
    for _, reason in missing:
        assert not reason.changeable and reason.mending == "not at all"
        assert reason.describe().endswith("It cannot be supplied.")


def test_files_frames_and_rows_that_nobody_allowed(tmp_path):
    save_model(fitted(), tmp_path / "holes.ract")
    again = load_model(tmp_path / "holes.ract").reasons(PEOPLE, time_limit=None)
    assert again.to_frame().equals(found().to_frame())
    odd = PEOPLE.copy()
    odd.iloc[1, 3] = np.nan  # age, which training knew of everyone
    marked = fitted().reasons(odd)
    assert marked.status[1] == "invalid" and "'age'" in marked[1].describe()
    assert (np.delete(marked.status, 1) == np.delete(found().status, 1)).all()


def test_plans_that_hand_in_values_are_counted_apart():
    people = reasons_report(fitted(), PEOPLE).people.iloc[0]
    plans = find_recourse(fitted(), PEOPLE, explain=False)
    space = fitted().encoder_.space
    stays = {
        name: replace(space[name], missing="stays", supply_cost=None) for name in ("income", "job")
    }
    without = find_recourse(
        fitted(), PEOPLE, explain=False, overrides=dict.fromkeys(PEOPLE.index, stays)
    )
    assert people["with a plan"] == without.found.sum()
    assert people["by supplying"] == plans.found.sum() - without.found.sum() > 0


def unknown_is_better():
    """A model of one number that refuses 1 to 3 and accepts whoever has none, or more than 3."""
    people = np.array([[1.0], [2.0], [5.0], [np.nan], [np.nan], [np.nan]])
    encoder = Encoder(people, ActionSpace([Feature("x0", "continuous")], limits=None))
    cost = make_cost("percentile").fit(people[:3].T, encoder.weights)
    trees = stump_on(0, 3.0)
    classes = np.array(["no", "yes"])
    return people, ImportedClassifier(encoder, trees, cost, classes, "yes")


def test_a_number_that_hurts_beside_people_without_one_has_no_direction():
    people, model = unknown_is_better()
    (reason,) = find_reasons(model, people[:1], reference=people[3:])[0].reasons
    assert (reason.direction, reason.typical, reason.mending) == ("category", None, "alone")
    assert reason.describe().startswith("x0 is 1 (usual is not given). Changing it to 3.")
    (reason,) = find_reasons(model, people[:1], reference=people[2:])[0].reasons
    assert (reason.direction, reason.typical) == ("too low", 5.0)

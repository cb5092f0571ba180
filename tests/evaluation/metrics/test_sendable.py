"""Sendable plans: every check against a naive twin that asks ``predict`` point by point."""

from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import ActionSpace, Feature, RecourseForestClassifier, find_recourse
from ract._utils.errors import InvalidSpec
from ract.evaluation.metrics import sendable
from tests.evaluation.metrics.builders import LEVELS, SPACE, codes, table


def naive_points(person, goal, reference):
    """Every point that goes further than a plan, as dictionaries."""
    ways = []
    for name in goal.index:
        was, now = person[name], goal[name]
        values = [now]
        if name in ("years", "loans") and was != now:
            low, high = np.percentile(reference[name], [1, 99])
            values = (
                list(range(now, int(high) + 1))
                if now > was
                else list(range(int(np.ceil(low)), now + 1))
            )
            values = sorted({now, *values})
        if name == "level" and was != now:
            values = list(LEVELS[LEVELS.index(now) :])
        ways.append(values)
    return pd.DataFrame(list(product(*ways)), columns=goal.index)


def naive_size(was, now, values, *, whole):
    low, median, high = np.percentile(values, [25, 50, 75])
    limit = max(abs(was), abs(median)) / 2
    if high > low:
        limit = min(limit, high - low)
    return abs(now - was) <= max(1 if whole else 0, limit)


def naive_round(was, now):
    was, now = Decimal(str(was)), Decimal(str(now))
    if was == now:
        return True
    return now % Decimal(10) ** (abs(now - was).adjusted() - 1) == 0


@pytest.fixture(scope="module", params=["votes", "mean", "sum"])
def found(request):
    """A model of each way of adding up trees, its plans, and another model."""
    frame, target = table(600, 0)
    people, _ = table(60, 1)
    if request.param == "votes":
        make = RecourseForestClassifier(SPACE, n_estimators=15, random_state=0)
    elif request.param == "mean":
        make = RandomForestClassifier(15, min_samples_leaf=5, random_state=0)
    else:
        make = GradientBoostingClassifier(n_estimators=40, random_state=0)
    if request.param == "votes":
        model, other = make.fit(frame, target), None
        other = RecourseForestClassifier(SPACE, n_estimators=15, random_state=1).fit(*table(600, 2))
        return model, find_recourse(model, people, reference=frame), other, frame
    # Models of other libraries take numbers: ordered codes, without the categories.
    space = ActionSpace(
        [f for f in SPACE if f.name not in ("level", "job")]
        + [
            Feature("level", "integer", "increase", lower=0, upper=2),
            Feature("job", "integer", "fixed", lower=0, upper=2),
        ],
        desired="yes",
        limits=None,
    )
    model = make.fit(codes(frame), target)
    other = type(make)(**make.get_params()).fit(codes(table(600, 2)[0]), table(600, 2)[1])
    plans = find_recourse(model, codes(people), actions=space, reference=codes(frame))
    return model, plans, other, codes(frame)


def goals(plans):
    """The people after what their letters say."""
    after = plans.counterfactuals.copy()
    for i in np.flatnonzero(plans.found):
        for change in plans[int(i)].changes:
            after.iloc[i, after.columns.get_loc(change.feature)] = change.goal
    return after


def test_every_check_is_that_of_the_naive_twin(found):
    model, plans, other, reference = found
    sent = sendable(plans, others=other, reference=reference)
    after, people = goals(plans), plans.people
    assert len(sent.people) == (~plans.accepted).sum() > 10
    assert sent.people["safe"].nunique() == 2, "the table must tell safe plans from others"
    for label, row in sent.people.iterrows():
        person, goal = people.loc[label], after.loc[label]
        assert row["plan"] == plans.found[people.index.get_loc(label)]
        if not row["plan"]:
            assert not row[["few", "safe", "size", "round", "lasts", "sendable"]].any()
            continue
        points = naive_numbers_or_words(person, goal, reference)
        expected = {
            "few": (person != goal).sum() <= 3,
            "safe": (model.predict(points.astype(people.dtypes)) == "yes").all(),
            "size": all(
                naive_size(person[name], goal[name], reference[name], whole=True)
                for name in sizeable(plans)
            ),
            "round": all(naive_round(person[name], goal[name]) for name in sizeable(plans)),
            "lasts": other.predict(goal.to_frame().T.astype(people.dtypes))[0] == "yes",
        }
        assert {name: bool(row[name]) for name in expected} == expected, label
        assert row["sendable"] == all(expected.values())
    assert sent.share == sent.people["sendable"].mean()


def sizeable(plans):
    return [f.name for f in plans.encoder.space if f.kind in ("continuous", "integer")]


def naive_numbers_or_words(person, goal, reference):
    if not pd.api.types.is_numeric_dtype(reference["level"]):
        return naive_points(person, goal, reference)
    words = {"level": LEVELS.__getitem__, "job": "abc".__getitem__}
    was, now = person.astype(int).astype(object), goal.astype(int).astype(object)
    for name, word in words.items():
        was[name], now[name] = word(was[name]), word(now[name])
    named = reference.assign(level=[LEVELS[int(v)] for v in reference["level"]])
    # As a number the level has a last percentile too, which is the highest one.
    assert np.percentile(reference["level"], 99) == 2
    return codes(naive_points(was, now, named))


def test_a_model_that_cannot_be_read_is_sampled(found):
    model, plans, other, reference = found
    read = sendable(plans, others=other, reference=reference, safety="sampled", n_points=500)
    space, after = plans.encoder.space, goals(plans)

    def accepts(people):
        return model.predict(people) == "yes"

    unread = sendable(
        accepts, plans.people, plans=after, others=lambda people: other.predict(people) == "yes",
        reference=reference, actions=space, desired="yes", n_points=500,
    )  # fmt: skip
    assert set(unread.people["proof"]) <= {"sampled", ""}
    checks = ["plan", "few", "safe", "size", "round", "lasts", "sendable"]
    assert (unread.people[checks] == read.people[checks]).all(axis=None)


def test_plans_of_others_are_proved_where_the_model_can_be_read(found):
    model, plans, _, reference = found
    own = sendable(plans, reference=reference).people
    given = sendable(
        model, plans.people, plans=goals(plans), reference=reference,
        actions=plans.encoder.space, desired="yes", safety="proved",
    ).people  # fmt: skip
    assert (given["safe"] == own["safe"]).all() and (given["proof"] == own["proof"]).all()


def test_groups_add_up_and_failures_are_everyone_who_is_not_sendable(found):
    _, plans, other, reference = found
    sent = sendable(plans, others=other, reference=reference, groups="owner")
    shares = sent.metrics.query("metric == 'sendable'").set_index("group")
    within = shares.drop("everyone")
    assert (within["people"] * within["value"]).sum() == pytest.approx(
        sent.people["sendable"].sum()
    )
    assert sent.failures()["people"].sum() == (~sent.people["sendable"]).sum()
    few = sent.metrics.query("metric == 'few' and group == 'everyone'").iloc[0]
    assert few["people"] == plans.found.sum()  # checks are shares of those who have a plan


def test_without_other_models_nobody_says_what_lasts(found):
    _, plans, _, reference = found
    sent = sendable(plans, reference=reference)
    assert "lasts" not in sent.people and "not checked" in repr(sent)
    with pytest.raises(InvalidSpec, match="No check 'lasts'"):
        sent.share_of("lasts")


def test_a_missing_value_that_is_handed_in_has_no_size():
    frame, target = table(400, 0)
    frame["years"] = frame["years"].astype(float).where(np.arange(400) % 4 > 0)
    space = ActionSpace([
        Feature("years", "integer", "increase", lower=0, upper=12, missing="supply"),
        Feature("loans", "integer", "fixed"),
    ], desired="yes", limits=None)  # fmt: skip
    model = RecourseForestClassifier(space, n_estimators=10, random_state=0).fit(frame, target)
    plans = find_recourse(model, frame.head(100), reference=frame, budget=np.inf)
    sent = sendable(plans).people
    handed = sent[plans.only_supplied[~plans.accepted]]
    assert len(handed) and handed["size"].all() and handed["round"].all() and handed["safe"].all()


def test_what_cannot_be_asked_is_said(found):
    model, plans, _, reference = found
    with pytest.raises(InvalidSpec, match="'exact'"):
        sendable(plans, safety="exact")
    with pytest.raises(InvalidSpec, match="need actions and desired"):
        sendable(model, plans.people, plans=plans.people)
    with pytest.raises(InvalidSpec, match="budget"):
        sendable(plans, budget=1.0)
    with pytest.raises(InvalidSpec, match="A model needs people"):
        sendable(model)
    with pytest.raises(InvalidSpec, match="function from a table"):
        sendable(plans, others=3, reference=reference)

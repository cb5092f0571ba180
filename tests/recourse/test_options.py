"""What is asked of a search beyond the question, and what is refused at once."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.recourse.common.search import Limits
from ract.recourse.options import TIME_LIMIT, Options


def test_keywords_are_limits_and_options():
    options = Options.of(max_changes=2, n_jobs=3, margin=0.1, prefer="fewest")
    assert options.limits == Limits(max_changes=2, time_limit=TIME_LIMIT, n_jobs=3)
    assert (options.margin, options.prefer, options.method) == (0.1, "fewest", "exact")
    assert Options.of(time_limit=None).limits.time_limit is None


def test_what_was_asked_for_is_named():
    def named(**keywords):
        return [name for name, asked in Options.of(**keywords).asked.items() if asked]

    assert named() == named(explain=False, time_limit=3, n_jobs=2) == []
    assert named(max_changes=0, max_nodes=0) == ["max_changes", "max_nodes"]
    every = {"margin": 0.2, "ranges": True, "n_alternatives": 1, "at_least": True}
    assert sorted(named(**every)) == sorted(every)
    assert named(method="leaves", prefer="cheapest") == ["method='leaves'", "prefer"]
    assert named(effects={}, plausibility="isolation_forest") == ["effects", "plausibility"]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"method": "fast"}, "method must be 'exact' or 'leaves'"),
        ({"prefer": "best"}, "prefer must be 'cheapest' or 'fewest', or None, got 'best'"),
        ({"margin": 1}, "margin must be a share of at least 0 and below 1, got 1"),
        ({"margin": "wide"}, "margin must be a share"),
        ({"n_alternatives": -1}, "n_alternatives must be a whole number of 0 or more, got -1"),
        ({"strongest": True, "margin": 0.1}, "cannot be asked for together with a margin"),
        ({"strongest": True, "at_least": True}, "cannot be asked for together with a margin"),
        ({"relations": ["a <= b"]}, "relations= is gone; in its place: rules of the action space"),
    ],
)
def test_what_cannot_be_is_refused(wrong, sentence):
    with pytest.raises(InvalidSpec, match=sentence):
        Options.of(**wrong)


JOBS = ("clerk", "cook", "nurse", "pilot")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "income": rng.integers(10, 90, 300),
            "debt": rng.random(300).round(2),
            "job": rng.choice(JOBS, 300),
        }
    )


@pytest.fixture(scope="module")
def model(people):
    space = ActionSpace(
        [
            Feature("income", "integer", "increase", weight=2.0),
            Feature("debt", "continuous", "decrease"),
            Feature("job", "categorical", categories=JOBS),
        ],
        limits=None,
    )
    good = people["income"] / 90 + (people["job"] == "pilot") * 0.3 > people["debt"] + 0.2
    forest = RecourseForestClassifier(
        space, desired=True, n_estimators=15, max_depth=4, random_state=0
    )
    return forest.fit(people, good)


def ruled(model, people, name, rule, **options):
    """Plans of everyone under the same override."""
    overrides = {label: {name: rule} for label in people.index}
    return model.recourse(people, overrides=overrides, budget=np.inf, **options)


def test_a_bound_alone_keeps_the_features_own_direction(model, people):
    recourse = ruled(model, people, "income", Feature("income", upper=70))
    changes = [c for plan in recourse for c in plan.changes if c.feature == "income"]
    assert changes and all(c.before < c.after <= 70 for c in changes)
    freed = ruled(model, people, "income", "any")
    assert (freed.cost <= model.recourse(people, budget=np.inf).cost + 1e-12).all()


def test_only_listed_categories_are_entered(model, people):
    some = Feature("job", "categorical", categories=("pilot", "cook"))
    recourse = ruled(model, people, "job", some)
    entered = {c.after for plan in recourse for c in plan.changes if c.feature == "job"}
    assert entered and entered <= {"pilot", "cook"}
    without = Feature("job", "categorical", categories=("clerk", "cook", "nurse"))
    plans = ruled(model, people, "job", without)
    assert all(c.after != "pilot" for plan in plans for c in plan.changes)
    assert (plans.cost >= model.recourse(people, budget=np.inf).cost - 1e-12).all()


def test_another_weight_is_another_effort(model, people):
    plain = model.recourse(people, budget=np.inf)
    heavy = ruled(model, people, "income", Feature("income", weight=6.0))
    assert (heavy.cost >= plain.cost - 1e-12).all() and (heavy.cost > plain.cost).any()
    matrix = model.encoder_.matrix(people)
    tripled = np.ones(model.encoder_.n_columns)
    tripled[0] = 3.0
    for i in np.flatnonzero(heavy.found):
        moves = [
            model.cost_.level(j, heavy.after[i, [j]]) - model.cost_.level(j, matrix[i, [j]])
            for j in range(matrix.shape[1])
        ]
        effort = np.abs(np.ravel(moves)) * tripled
        assert heavy.cost[i] == pytest.approx(effort.max())
        assert heavy.effort[i, 0] == pytest.approx(effort[0])
    free = ruled(model, people, "income", Feature("income", weight=0.0))
    assert (free.cost <= plain.cost + 1e-12).all() and (free.cost[free.found] == 0).any()


def test_others_keep_their_rules_and_costs(model, people):
    plain = model.recourse(people)
    who = int(np.flatnonzero(plain.found)[0])
    own = model.recourse(people, overrides={who: {"income": Feature("income", weight=9.0)}})
    others = people.index != who
    np.testing.assert_array_equal(own.after[others], plain.after[others])
    np.testing.assert_array_equal(own.cost[others], plain.cost[others])


@pytest.mark.parametrize(
    ("name", "rule", "message"),
    [
        ("income", Feature("debt"), "the name 'debt'"),
        ("income", Feature("income", "continuous"), "the kind 'continuous'"),
        ("job", Feature("job", columns=("a", "b")), "the columns"),
        ("job", Feature("job", "categorical", categories=("king",)), "lists 'king'"),
        ("job", Feature("job", upper=3), "takes no lower or upper bound"),
        ("income", Feature("income", upper=20.5), "is an integer, but its bound"),
    ],
)
def test_what_cannot_be_honoured_is_refused(model, people, name, rule, message):
    with pytest.raises(InvalidSpec, match=message):
        model.recourse(people, overrides={np.int64(0): {name: rule}})


def test_a_weight_on_what_is_free_for_everybody_is_refused(people):
    space = ActionSpace(
        [Feature("income", "integer", weight=0.0), Feature("debt", "continuous")], limits=None
    )
    two = people[["income", "debt"]]
    forest = RecourseForestClassifier(space, desired=True, n_estimators=3, random_state=0)
    forest.fit(two, two["income"] > 40)
    refused = int(np.flatnonzero(~forest.predict(two))[0])
    with pytest.raises(InvalidSpec, match="is free for everybody"):
        forest.recourse(two, overrides={refused: {"income": Feature("income", weight=2.0)}})


@pytest.mark.parametrize("rule", ["any", "increase", Feature("income", change="decrease")])
def test_what_is_fixed_for_everyone_is_not_freed_for_one(model, people, rule):
    space = model.encoder_.space.restricted(forbidden=["income"])
    with pytest.raises(InvalidSpec, match="which the action space fixes for everyone"):
        model.recourse(people, actions=space, overrides={0: {"income": rule}})


@pytest.mark.parametrize("rule", ["fixed", Feature("income", upper=80)])
def test_other_overrides_of_a_fixed_feature_leave_it_as_it_is(model, people, rule):
    space = model.encoder_.space.restricted(forbidden=["income"])
    plans = ruled(model, people, "income", rule, actions=space)
    assert plans.found.any()
    assert not any(c.feature == "income" for plan in plans for c in plan.changes)

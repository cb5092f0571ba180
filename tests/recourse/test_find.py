import copy
import dataclasses
import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    load_model,
    recourse_status,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data import datasets
from ract.data.actions import AssumedActions
from ract.data.costs import within
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder
from ract.evaluation import metrics
from ract.recourse.find import find_recourse
from ract.recourse.plausible.plausibility import Plausibility
from tests import naive
from tests.builders import quick_of, random_table


def random_model(rng):
    """A small fitted classifier on a small table of mixed kinds."""
    frame, actions = random_table(rng, 30)
    target = rng.integers(0, 2, len(frame))
    target[:2] = 0, 1
    kind = rng.choice([RecourseTreeClassifier, RecourseForestClassifier])
    options = {} if kind is RecourseTreeClassifier else {"n_estimators": int(rng.integers(2, 7))}
    model = kind(
        actions, desired=1, max_depth=3, min_samples_leaf=1, recourse_weight=0.0, max_features=None,
        random_state=int(rng.integers(1000)), **options,
    )  # fmt: skip
    return model.fit(frame, target), frame


def feature_options(model, frame, i, rng):
    """Every way each feature of a person can go, with its cost (naive)."""
    matrix = model.encoder_.matrix(frame)
    return [
        naive.options_of_feature(
            axis.feature, axis.columns, matrix[i], matrix,
            model.ensemble_.threshold[model.ensemble_.feature == axis.columns[0]], rng,
        )
        for axis in model.encoder_.axes
    ]  # fmt: skip


def all_rows(model, options):
    """Every combination as encoded rows, costs and sets of changed features."""
    order = [j for axis in model.encoder_.axes for j in axis.columns]
    rows, costs = [], []
    for choice in itertools.product(*options):
        rows.append([v for values, _ in choice for v in values])
        costs.append(max(cost for _, cost in choice))
    X = np.empty((len(rows), len(order)))
    X[:, order] = rows
    return X, np.array(costs)


def changed_sets(model, own, X):
    return [
        frozenset(
            axis.feature.name
            for axis in model.encoder_.axes
            if (row[list(axis.columns)] != own[list(axis.columns)]).any()
        )
        for row in X
    ]


@pytest.mark.parametrize("block", quick_of(3, range(8)))
def test_plans_reasons_and_alternatives_equal_brute_force(block):
    seen = set()
    for seed in range(15):
        rng = np.random.default_rng([block, seed])
        model, frame = random_model(rng)
        budget = float(rng.choice([0.2, 0.5, np.inf]))
        recourse = model.recourse(frame, budget=budget, n_alternatives=2)
        matrix = model.encoder_.matrix(frame)
        for i in rng.choice(len(frame), 4, replace=False):
            plan = recourse[int(i)]
            seen.add(plan.status)
            if model.predict(frame.iloc[[i]])[0] == 1:
                assert plan.status == "accepted" and plan.cost == 0
                continue
            options = feature_options(model, frame, i, rng)
            X, costs = all_rows(model, options)
            good = naive.naive_decision(model.ensemble_, X)
            best = min(costs[good & (costs <= budget)], default=np.inf)
            assert plan.status in (
                ("optimal",) if np.isfinite(best) else ("none", "none within budget")
            )
            assert plan.cost == pytest.approx(best, abs=1e-12)
            if np.isfinite(best):
                check_alternatives(model, matrix[i], plan, X, costs, good & (costs <= budget))
            else:
                anyhow = min(costs[good], default=np.inf)
                assert plan.obstacle.budget == pytest.approx(anyhow, abs=1e-12)
                assert (plan.status == "none") == np.isinf(anyhow)
                check_obstacle(model, frame.iloc[[i]], budget, plan.obstacle)
    assert {"accepted", "optimal", "none"} <= seen


def check_alternatives(model, own, plan, X, costs, good):
    """Each is the cheapest that does not change all features of one before it."""
    sets = np.array(changed_sets(model, own, X), dtype=object)
    earlier = [frozenset(change.feature for change in plan.changes)]
    for other in plan.alternatives:
        allowed = np.array([not any(e <= s for e in earlier) for s in sets])
        assert other.cost == pytest.approx(costs[good & allowed].min(), abs=1e-12)
        changed = frozenset(change.feature for change in other.changes)
        assert not any(e <= changed for e in earlier)
        earlier.append(changed)
    if len(plan.alternatives) < 2:
        left = np.array([not any(e <= s for e in earlier) for s in sets])
        assert not (good & left).any()


def check_obstacle(model, person, budget, reason):
    """Releasing just those features gives a plan; no smaller set does."""
    space = model.encoder_.space

    def released(names):
        features = [dataclasses.replace(f, change="any") if f.name in names else f for f in space]
        freed = copy.copy(model)
        freed.encoder_ = Encoder.of_space(space.with_features(features), list(person))
        return find_recourse(freed, person, budget=budget)[0].has_recourse

    names = [f.name for f in model.encoder_.space if f.change != "any"]
    assert reason.proved
    if not reason.features:
        assert not released(names)
        return
    assert released(reason.features)
    for size in range(len(reason.features)):
        for fewer in itertools.combinations(names, size):
            assert not released(fewer)


def allowed(feature, own, value):
    up = value > own
    if feature.change in ("fixed", "decrease" if up else "increase"):
        return False
    return value <= feature.upper if up else value >= feature.lower


def same_cell(model, j, own, value):
    cuts = np.sort(model.ensemble_.threshold[model.ensemble_.feature == j])
    return np.searchsorted(cuts, own) == np.searchsorted(cuts, value)


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500)


@pytest.fixture(scope="module")
def model(loans):
    forest = RecourseForestClassifier(loans.actions, n_estimators=25, random_state=0)
    return forest.fit(loans.frame, loans.target)


def test_frames_come_back_as_they_went(loans, model):
    frame = loans.frame.head(60).set_index(pd.Index([f"p{k}" for k in range(60)]))
    recourse = model.recourse(frame)
    after = recourse.counterfactuals
    assert after.index.equals(frame.index) and (after.dtypes == frame.dtypes).all()
    assert list(after.columns) == list(frame.columns)
    assert (model.predict(after[recourse.within_budget]) == "approved").all()
    same = ~recourse.found
    pd.testing.assert_frame_equal(after[same], frame[same])
    wide = recourse.to_frame("wide")
    assert wide.index.equals(frame.index)
    long = recourse.to_frame()
    assert list(dict.fromkeys(long["person"])) == list(frame.index)
    one = long[(long["person"] == long["person"][recourse.found.argmax()])]
    assert set(one["cost"]) <= set(recourse.cost)
    assert recourse.actions.index.equals(frame.index)
    text = repr(recourse) + recourse._repr_html_()
    assert "60 people" in text and "optimal" in text
    assert int(recourse.summary()["people"]) == 60


def test_polars_and_arrays_give_the_same_plans(loans, model):
    frame = loans.frame.head(40)
    expected = model.recourse(frame)
    polars = model.recourse(pl.from_pandas(frame))
    np.testing.assert_array_equal(polars.after, expected.after)
    assert isinstance(polars.counterfactuals, pl.DataFrame)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    space = ActionSpace((Feature(f"x{j}") for j in range(4)), True, limits=None)
    tree = RecourseTreeClassifier(space, max_depth=3).fit(X, X[:, 0] + X[:, 1] > 0)
    recourse = tree.recourse(X[:50])
    after = recourse.counterfactuals
    assert isinstance(after, np.ndarray)
    np.testing.assert_array_equal(tree.predict(after), recourse.within_budget)


def test_threads_do_not_change_plans(loans, model):
    people = loans.frame.head(80)
    one = model.recourse(people, n_alternatives=1, ranges=True, n_jobs=1)
    two = model.recourse(people, n_alternatives=1, ranges=True, n_jobs=2)
    np.testing.assert_array_equal(one.after, two.after)
    np.testing.assert_array_equal(one.low, two.low)


def test_features_can_be_forbidden_for_all_or_for_one(loans, model):
    people = loans.frame.head(80)
    plain = model.recourse(people)
    names = {change.feature for plan in plain for change in plan.changes}
    for name in names:
        barred = model.recourse(people, actions=model.encoder_.space.restricted(forbidden=[name]))
        assert all(c.feature != name for plan in barred for c in plan.changes)
        assert (barred.cost >= plain.cost - 1e-12).all()
    only = model.recourse(people, actions=model.encoder_.space.restricted(["Income", "Savings"]))
    assert {c.feature for plan in only for c in plan.changes} <= {"Income", "Savings"}
    who = people.index[plain.found][0]
    first = plain[int(plain.found.argmax())].changes[0].feature
    own = model.recourse(people, overrides={who: {first: "fixed"}})
    assert all(c.feature != first for c in own[int(plain.found.argmax())].changes)
    others = people.index != who
    np.testing.assert_array_equal(own.after[others], plain.after[others])
    most = float(people.loc[who, "Income"]) + 1.0
    capped = model.recourse(people, overrides={who: {"Income": Feature("Income", upper=most)}})
    plan = capped[int(plain.found.argmax())]
    assert all(c.feature != "Income" or c.after <= most for c in plan.changes)


def test_max_changes_and_another_cost(loans, model):
    people = loans.frame.head(80)
    recourse = model.recourse(people, max_changes=1, budget=np.inf)
    assert all(len(plan.changes) <= 1 for plan in recourse)
    by_range = model.recourse(people, cost="range", reference=loans.frame, budget=0.1)
    assert within(by_range.cost[by_range.found], 0.1).all()
    span = (loans.frame["Income"].max() - loans.frame["Income"].min()).item()
    for plan in by_range:
        for change in plan.changes:
            if change.feature == "Income":
                assert change.effort == pytest.approx(abs(change.after - change.before) / span)


def test_words():
    frame = pd.DataFrame({"income": [20, 30, 40, 50], "age": [30, 40, 50, 60]})
    space = ActionSpace(
        [Feature("income", change="increase"), Feature("age", change="fixed")], True, limits=None
    )
    approved = np.array([False, False, True, True])
    tree = RecourseTreeClassifier(space, max_depth=1, min_samples_leaf=1).fit(frame, approved)
    plans = tree.recourse(frame, budget=np.inf)
    assert plans[0].describe() == "Raise income from 20 to 36 (36 to 50 will do)."
    assert plans[3].describe() == "Already class True: nothing to change."
    none = tree.recourse(frame, budget=0.1)[0]
    assert none.status == "none within budget"
    assert "a budget of" in none.describe()
    fixed = tree.recourse(frame, actions=tree.encoder_.space.restricted([]), budget=np.inf)
    assert fixed.status.tolist() == ["none", "none", "accepted", "accepted"]
    assert fixed[0].describe() == (
        "No allowed change leads to class True; it would if the options of this call let income "
        "change."
    )


def test_wrong_input_is_refused(loans, model):
    people = loans.frame.head(5)
    with pytest.raises(NotFittedError):
        RecourseTreeClassifier().recourse(people)
    with pytest.raises(InvalidSpec, match="not a feature"):
        model.encoder_.space.restricted(forbidden=["Moon"])
    with pytest.raises(InvalidSpec, match="not among the people"):
        model.recourse(people, overrides={"nobody": {"Income": "fixed"}})
    with pytest.raises(InvalidSpec, match="one of 'any'"):
        model.recourse(people, overrides={0: {"Income": "sideways"}})
    with pytest.raises(InvalidSpec, match="margin must be"):
        model.recourse(people, margin=1.0)
    with pytest.raises(InvalidSpec, match="budget must be"):
        model.recourse(people, budget=-1)
    with pytest.raises(InvalidSpec, match="method must be"):
        model.recourse(people, method="magic")
    with pytest.raises(InvalidSpec, match="max_changes must be"):
        model.recourse(people, max_changes=-1)
    with pytest.raises(InvalidSpec, match="time_limit must be"):
        model.recourse(people, time_limit=-1)
    for wrong in ("a", True, np.nan, np.bool_(True)):
        with pytest.raises(InvalidSpec, match="time_limit must be"):
            model.recourse(people, time_limit=wrong)
        with pytest.raises(InvalidSpec, match="max_changes must be"):
            recourse_status(model, people, max_changes=wrong)
    for option in ("features", "forbidden"):
        with pytest.raises(InvalidSpec, match=rf"{option} takes a list; write \['Income'\]"):
            model.encoder_.space.restricted(**{option: "Income"})
    with pytest.raises(InvalidSpec, match="rules takes a list"):
        ActionSpace([], rules="Debt <= Savings", limits=None)
    with pytest.raises(InvalidSpec, match=r"relations= is gone; .* space.with_rules"):
        model.recourse(people, relations=["Debt <= Savings"])
    with pytest.raises((InvalidData, ValueError), match="Income"):
        model.recourse(people.drop(columns="Income"))
    with pytest.raises(InvalidData, match="missing value"):
        model.recourse(people.assign(Income=np.nan), strict=True)


def test_columns_in_another_order_are_refused_whatever_is_asked(loans, model):
    people = loans.frame.head(5)
    turned = people[people.columns[::-1]]
    for ask in (find_recourse, recourse_status, metrics.recourse_ratio, metrics.recourse_risk):
        with pytest.raises(InvalidData, match="in another order than in training"):
            ask(model, turned)
    numbers = loans.frame[["Age", "Income", "Debt"]]
    forest = RandomForestClassifier(5, random_state=0).fit(numbers, loans.target)
    space = ActionSpace([loans.actions[name] for name in numbers], limits=None)
    for ask in (find_recourse, recourse_status):
        with pytest.raises(InvalidData, match="in another order than in training"):
            ask(forest, turned[["Debt", "Age", "Income"]], reference=numbers, actions=space)


def test_time_limits_and_the_accepted(loans, model):
    people = loans.frame.head(60)
    rushed = model.recourse(people, time_limit=0.0, explain=False)
    refused = model.predict(people) == "refused"
    assert set(rushed.status[refused]) <= {"unknown", "found", "optimal", "none within budget"}
    assert "unknown" in rushed.status
    assert (
        "a longer or another search may"
        in rushed[int((rushed.status == "unknown").argmax())].describe()
    )
    accepted = people[~refused]
    assert set(model.recourse(accepted).status) == {"accepted"}
    with pytest.raises(InvalidData, match="empty"):
        model.recourse(people.head(0))


def test_any_forest_of_scikit_learn():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": rng.integers(10, 90, 300),
            "debt": rng.random(300),
            "age": rng.integers(18, 80, 300),
        }
    )
    good = np.where(frame["income"] / 90 > frame["debt"], "yes", "no")
    forest = RandomForestClassifier(30, max_depth=4, random_state=0).fit(frame, good)
    space = ActionSpace.infer(frame, fixed=["age"], increase=["income"], desired="yes", limits=None)
    recourse = find_recourse(forest, frame, actions=space, budget=0.5)
    assert (forest.predict(recourse.counterfactuals[recourse.found]) == "yes").all()
    assert recourse.counterfactuals["age"].equals(frame["age"])
    assert (recourse.counterfactuals["income"] >= frame["income"]).all()
    assert recourse.counterfactuals.dtypes.equals(frame.dtypes)
    assert recourse.found.any() and (recourse.status == "accepted").any()


def test_models_fitted_without_actions_warn_of_what_plans_assume(tmp_path):
    """Plans changed ages and nationalities without a word."""
    frame = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "job": ["cook", "clerk"] * 10})
    frame["a"], frame["b"] = frame["age"] < 40, frame["age"] >= 40
    model = RecourseTreeClassifier(max_depth=2, desired=True).fit(frame, frame["age"] > 25)
    says = (
        "so every feature may change, 'age', 'job', 'a', 'b'; columns of 0 and 1 are separate even "
        "if they encode one feature, 'a', 'b'; no number has a limit on how far it moves. Say "
        "otherwise in an ActionSpace."
    )
    save_model(model, tmp_path / "model.ract")
    for asked in (model, load_model(tmp_path / "model.ract")):
        with pytest.warns(AssumedActions, match=says) as warned:
            asked.recourse(frame)
        assert len(warned) == 1
        with pytest.warns(AssumedActions, match=says):
            recourse_status(asked, frame)
        find_recourse(asked, frame, actions=ActionSpace([Feature("age")], limits=None))
    declared = RecourseTreeClassifier(ActionSpace([Feature("age")], True, limits=None), max_depth=2)
    declared.fit(frame, frame["age"] > 25).recourse(frame)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_plans_hold_in_columns_of_single_precision(dtype):
    rng = np.random.default_rng(3)
    X = rng.random((400, 3)).astype(dtype)
    good = X.sum(axis=1) > 1.5
    forest = RandomForestClassifier(20, max_depth=5, random_state=0).fit(X, good)
    for people in (X, pd.DataFrame(X, columns=["a", "b", "c"])):
        if isinstance(people, pd.DataFrame):
            forest.fit(people, good)
        with pytest.warns(AssumedActions, match="so every feature may change, '"):
            recourse = find_recourse(forest, people, desired=True)
        after = recourse.counterfactuals
        assert set(recourse.status) == {"accepted", "optimal"}
        assert forest.predict(after).all()
        assert np.asarray(after).dtype == dtype


@pytest.mark.parametrize("kind", ["HistGradientBoosting", "LightGBM"])
def test_alternatives_and_ends_of_ranges_are_accepted_in_columns_of_single_precision(kind):
    if kind == "LightGBM":
        lightgbm = pytest.importorskip("lightgbm")
        model = lightgbm.LGBMClassifier(n_estimators=15, min_child_samples=5, verbose=-1)
    else:
        model = HistGradientBoostingClassifier(max_iter=15, min_samples_leaf=5, random_state=0)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.random((400, 3)).astype(np.float32), columns=["a", "b", "c"])
    model.fit(frame, frame.sum(axis=1) > 1.5)
    people = frame[~model.predict(frame)].head(20)
    recourse = find_recourse(
        model,
        people,
        actions=ActionSpace(map(Feature, frame), limits=None),
        reference=frame,
        n_alternatives=2,
        ranges=True,
        explain=False,
    )
    assert recourse.found.all()
    ways = [(i, way) for i, plan in enumerate(recourse) for way in (plan, *plan.alternatives)]
    assert len(ways) > 2 * len(people)
    for end in ("after", "low", "high", "goal"):
        rows = people.iloc[[i for i, _ in ways]].reset_index(drop=True)
        for k, (_, way) in enumerate(ways):
            for change in way.changes:
                at = getattr(change, end)
                rows.loc[k, change.feature] = np.float32(change.after if at is None else at)
        assert (rows.dtypes == np.float32).all() and model.predict(rows).all()


def test_a_range_of_which_the_model_refuses_an_end_shrinks_to_the_plan():
    class Picky(RandomForestClassifier):
        def predict(self, X):  # as a step of a pipeline may that takes no large values
            return super().predict(X) & (np.asarray(X)[:, 0] < self.most_)

    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((300, 2)), columns=["a", "b"])
    forest = Picky(5, max_depth=3, random_state=0).fit(frame, frame["a"] > 0.5)
    forest.most_ = np.inf
    person = frame[~forest.predict(frame)].head(1)
    space = ActionSpace(
        [Feature(name, "continuous", lower=0, upper=1) for name in frame], limits=None
    )
    ask = {"actions": space.restricted(["a"])}
    (wide,) = find_recourse(forest, person, reference=frame, **ask)[0].changes
    forest.most_ = wide.high
    usual = frame[frame["a"] < wide.high]  # among whom the model decides as its trees do
    (narrow,) = find_recourse(forest, person, reference=usual, **ask)[0].changes
    assert wide.low < wide.high and narrow.low == narrow.high == narrow.after == wide.after
    assert "to exactly" in narrow.describe()


@pytest.mark.parametrize("upper", [0.1, 0.3, 0.7, 0.9])
@pytest.mark.filterwarnings("ignore:The model did not confirm")
def test_a_single_never_lands_beyond_a_bound(upper):
    inside = float(np.float32(upper))  # the largest single that the bound allows
    if inside > upper:
        inside = float(np.nextafter(np.float32(inside), np.float32(0)))
    people = pd.DataFrame({"a": np.array([0.01, 0.02, 0.99], np.float32)})
    space = ActionSpace(
        [Feature("a", "continuous", "increase", lower=0.0, upper=upper)], limits=None
    )
    for cut, attainable in ((inside - 1e-10, True), (inside + (upper - inside) / 2, False)):
        known = pd.DataFrame({"a": [0.0, np.nextafter(cut, 0), np.nextafter(cut, 1), 1.0]})
        tree = RecourseTreeClassifier(space, desired=True, max_depth=1, min_samples_leaf=1)
        tree.fit(known, known["a"] > cut)
        for options in ({}, {"margin": 1e-12}):
            recourse = tree.recourse(people, budget=np.inf, **options)
            after = recourse.counterfactuals["a"].astype(float)[:2]
            assert (after <= upper).all()
            assert recourse.found[:2].tolist() == [attainable] * 2
            assert attainable or recourse.status[:2].tolist() == ["unknown"] * 2


def test_the_long_form_says_why_and_which_budget_would_do(loans, model):
    people = loans.frame.head(150)
    recourse = model.recourse(people, budget=0.05)
    frame = recourse.to_frame()
    without = frame[np.isin(frame["status"], ["none within budget", "none"])]
    assert len(without) > 5 and without["reason"].str.startswith("No allowed change").all()
    needed = without.set_index("person")["budget needed"]
    assert (needed > 0.05).all()
    who = needed.index[np.isfinite(needed)][0]
    enough = model.recourse(people.loc[[who]], budget=float(needed[who]))
    assert enough.found.all()
    rest = frame.drop(without.index)
    assert rest["reason"].isna().all() and rest["budget needed"].isna().all()
    numbers = frame[frame["low"].notna() & frame["high"].notna()]
    goal = numbers["goal"].astype(float)
    assert len(numbers) > 5 and goal.between(numbers["low"], numbers["high"]).all()
    assert (goal != numbers["to"].astype(float)).any()


def test_plausible_plans(loans, model):
    people = loans.frame.head(120)
    plain = model.recourse(people, budget=0.5)
    for name in ("isolation_forest", "local_outlier_factor"):
        measure = Plausibility(name, max_outliers=0.2).fit(model.encoder_.matrix(loans.frame))
        recourse = model.recourse(people, budget=0.5, plausibility=measure, reference=loans.frame)
        assert recourse.found.sum() > 10
        assert measure.is_plausible(recourse.after[recourse.found]).all()
        assert (model.predict(recourse.counterfactuals[recourse.found]) == "approved").all()
        assert (recourse.cost >= plain.cost - 1e-12).all()
    by_name = model.recourse(people.head(20), plausibility="isolation_forest", reference=people)
    assert len(by_name) == 20


def test_causal_plans_count_on_what_follows(loans, model):
    people = loans.frame.head(80)
    edges = {("Income", "Savings"): 0.3, ("Income", "Debt"): -0.1}
    recourse = model.recourse(people, effects=edges, reference=loans.frame)
    found = np.flatnonzero(recourse.found)
    assert len(found) > 5
    names = list(model.encoder_.column_names)
    i, s, d = (names.index(name) for name in ("Income", "Savings", "Debt"))
    raised = recourse.after[:, i] - recourse.before[:, i]
    np.testing.assert_allclose(recourse.answers.outcomes[:, s], recourse.after[:, s] + 0.3 * raised)
    np.testing.assert_allclose(recourse.answers.outcomes[:, d], recourse.after[:, d] - 0.1 * raised)
    assert model.ensemble_.decide(recourse.answers.outcomes[found]).all()
    cost = model.cost_.between(recourse.before[found], recourse.after[found])
    np.testing.assert_allclose(cost, recourse.cost[found])
    texts = [recourse[int(k)].describe() for k in found if raised[k] > 0]
    assert texts and any("by itself" in text for text in texts)
    assert len(recourse.outcomes) == len(people)
    estimated = model.recourse(people.head(30), effects="estimate", reference=loans.frame)
    assert estimated.found.any()


def test_other_methods_and_what_they_refuse(loans, model):
    people = loans.frame.head(60)
    exact = model.recourse(people)
    other = model.recourse(people, method="leaves", reference=loans.frame)
    assert (other.cost >= exact.cost - 1e-12).all()
    assert (model.predict(other.counterfactuals[other.found]) == "approved").all()
    assert "none" not in other.status
    l1 = model.recourse(people, method="leaves", cost="l1", reference=loans.frame, budget=1.0)
    assert l1.found.any()
    with pytest.raises(InvalidSpec, match="'exact' or 'leaves', got 'tabu'"):
        model.recourse(people, method="tabu")
    for gone in ({"method": "solver"}, {"method": "live"}, {"cost": "l2"}, {"cost": "mahalanobis"}):
        with pytest.raises(InvalidSpec, match="is gone; in its place: "):
            model.recourse(people, **gone)
    fewer = people.head(15)
    added = model.recourse(fewer, cost="l1", reference=loans.frame, budget=1.0)
    assert (added.cost <= l1.cost[:15] + 1e-6).all() and added.found.any()
    space = model.encoder_.space.with_rules("LoanAmount <= 0.5 Income")
    related = model.recourse(fewer, actions=space, budget=1.0)
    after = related.counterfactuals[related.found]
    assert (after["LoanAmount"] <= 0.5 * after["Income"] + 1e-6).all() and related.found.any()
    with pytest.raises(InvalidSpec, match="needs? the exact method"):
        model.recourse(people, method="leaves", ranges=True)
    with pytest.raises(InvalidSpec, match="cannot be asked for together"):
        model.recourse(people, plausibility="isolation_forest", max_changes=1)
    with pytest.raises(InvalidSpec, match="effects must be"):
        model.recourse(people, effects="magic")
    with pytest.raises(InvalidSpec, match="plausibility must be"):
        model.recourse(people, plausibility=3)


@pytest.mark.parametrize("name", ["fico", "compas", "credit", "bail"])
def test_plans_on_the_papers_data(name, data_home):
    data = getattr(datasets, f"fetch_{name}")(data_home=data_home)
    known, people = data.frame.iloc[200:3200], data.frame.iloc[:200]
    model = RecourseForestClassifier(data.actions, n_estimators=30, random_state=0)
    model.fit(known, data.target.iloc[200:3200])
    recourse = model.recourse(people, n_alternatives=1, ranges=True, explain=False)
    found = np.flatnonzero(recourse.found)
    assert len(found) > 5 and "unknown" not in recourse.status
    assert (model.predict(recourse.counterfactuals.iloc[found]) == data.desired).all()
    cost = model.cost_.between(recourse.before[found], recourse.after[found])
    np.testing.assert_allclose(cost, recourse.cost[found])
    assert (cost <= model.budget_).all()
    for i in found:
        for after in (recourse.after[i], *recourse.answers.alternatives[i].values):
            assert model.ensemble_.decide(after[None]).all()
            for axis in model.encoder_.axes:
                before, then = recourse.before[i, list(axis.columns)], after[list(axis.columns)]
                if axis.is_categorical:
                    assert then.sum() == 1 and (axis.feature.actionable or (then == before).all())
                elif then[0] != before[0]:
                    assert allowed(axis.feature, before[0], then[0])
                    assert axis.feature.kind == "continuous" or then[0] == np.floor(then[0])
        inside = rng_points(recourse.after[i], recourse.low[i], recourse.high[i], model)
        assert model.ensemble_.decide(inside).all()


def rng_points(values, low, high, model):
    """Random points of a box."""
    rng = np.random.default_rng(0)
    X = np.tile(values, (50, 1))
    for a, axis in enumerate(model.encoder_.axes):
        if np.isfinite(low[a]) and np.isfinite(high[a]):
            drawn = rng.uniform(low[a], high[a], len(X))
            whole = axis.feature.kind != "continuous"
            X[:, axis.columns[0]] = np.round(drawn) if whole else drawn
    return X


def test_plans_without_actions_stay_in_one_category_and_leave_age_alone():
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"age": rng.integers(20, 70, 300), "income": rng.normal(40, 9, 300)})
    home = rng.integers(0, 3, 300)
    for k, name in enumerate(("own", "rent", "free")):
        people[f"home:{name}"] = (home == k) * 1
    good = people["income"] + people["age"] / 4 + 9 * (home == 0) > 55
    forest = RandomForestClassifier(10, max_depth=5, random_state=0).fit(people, good)
    says = "'age' is fixed, by the name; .*'home:free' are one feature, 'home', since exactly one"
    with pytest.warns(AssumedActions, match=says):
        found = find_recourse(forest, people, desired=True)
    after = found.counterfactuals
    assert found.found.sum() > 30 and found.changed[:, 2].any()
    assert (after.filter(like="home:").sum(axis=1) == 1).all()
    assert (after["age"] == people["age"]).all()
    assert forest.predict(after[found.found]).all()

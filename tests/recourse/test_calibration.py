"""How strong plans must be to last: the measurement, the test in sequence, what models keep."""

import dataclasses
import json
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.base import clone

from ract import (
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    calibrate,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.data.datasets import load_loans
from ract.recourse import LastingCurve, LastingWarning, calibration
from ract.recourse.calibration import FEWEST_PLANS, Point, error_of


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500)


def forest_of(loans, **given):
    given = {"n_estimators": 20, "min_samples_leaf": 20, "recourse_weight": 0.3} | given
    return RecourseForestClassifier(loans.actions, random_state=0, **given)


def recorded_trials(monkeypatch):
    """The trials of every question that calibration asks, in turn."""
    asked, ask = [], calibration.Replicates.all_trials
    record = lambda *given: asked.append(ask(*given)) or asked[-1]  # noqa: E731
    monkeypatch.setattr(calibration.Replicates, "all_trials", record)
    return asked


def test_how_many_are_tested_follows_from_people_who_are_not(loans, monkeypatch):
    asked = recorded_trials(monkeypatch)
    monkeypatch.setattr(calibration, "FEWEST_PLANS", 80)
    monkeypatch.setattr(calibration, "ENOUGH_PLANS", 40)
    strengths = [0.6, 0.8, 0.99]
    curve = calibrate(
        forest_of(loans), loans.frame, loans.target, strengths=strengths, n_refused=200,
        rule="strength",
    )  # fmt: skip
    counted, *tested = asked
    tested = pd.concat(tested)
    assert not set(counted["person"]) & set(tested["person"])
    assert counted["strength"].unique().tolist() == strengths
    for point in curve.points:
        own = counted[counted["strength"] == point.strength]
        share = own["status"].isin(["optimal", "found"]).mean()
        part = tested[tested["strength"] == point.strength]
        assert point.refused == len(part) <= min(180, 10 * np.ceil(4 / share))
        assert point.plans == part["status"].isin(["optimal", "found"]).sum()
        assert point.last == part["lasts"].sum() <= point.plans
        assert (part.groupby("planner").size() <= np.ceil(4 / share)).all()
    assert [point.strength for point in curve.points] == [0.6, 0.8]  # few win 99%
    assert curve.points[0].refused < curve.points[1].refused
    # With a probability to promise, nothing is tested below the first strength that fails.
    asked.clear()
    for lasting, n_tested in ((0.9999, 1), (0.05, 2)):
        short = calibrate(
            forest_of(loans), loans.frame, loans.target, lasting=lasting, strengths=strengths,
            n_refused=200, rule="strength",
        )  # fmt: skip
        assert short.points == curve.points[2 - n_tested :]


def test_of_strongest_plans_those_that_win_enough_are_counted(loans, monkeypatch):
    """By hand, from the trials: one question to everyone, cut at each strength."""
    asked = recorded_trials(monkeypatch)
    monkeypatch.setattr(calibration, "FEWEST_PLANS", 40)
    strengths = [0.6, 0.8, 0.999]
    curve = calibrate(
        forest_of(loans), loans.frame, loans.target, strengths=strengths, n_refused=150
    )
    counted, tested = asked
    assert curve.rule == "strongest" and not set(counted["person"]) & set(tested["person"])
    assert set(counted["strength"]) | set(tested["strength"]) == {"most"}
    assert tested["person"].is_unique
    assert [point.strength for point in curve.points] == [0.6, 0.8]  # few win 99.9%
    for point in curve.points:
        rows = [
            row for _, row in tested.iterrows()
            if row["status"] in ("optimal", "found") and row["won"] >= point.strength
        ]  # fmt: skip
        assert (point.refused, point.plans) == (len(tested), len(rows))
        assert point.last == sum(row["lasts"] for row in rows)
        by_hand = {
            k: (sum(row["planner"] == k for row in rows),
                sum(row["planner"] == k and row["lasts"] for row in rows))
            for k in sorted({row["planner"] for row in rows})
        }  # fmt: skip
        assert point.by_planner == tuple(by_hand.values())


def test_the_rule_follows_from_the_learner(loans):
    few = loans.frame.head(400), loans.target[:400]
    given = {"strengths": [0.6], "n_refused": 20}
    tree = RecourseTreeClassifier(loans.actions, max_depth=3)
    booster = RecourseBoostingClassifier(loans.actions, max_iter=5)
    assert calibrate(tree, *few, **given).rule == "strength"
    assert calibrate(booster, *few, **given).rule == "strength"
    forest = forest_of(loans, n_estimators=5)
    assert calibrate(forest, *few, **given).rule == "strongest"
    assert calibrate(forest, *few, margin=0.1, **given).rule == "strength"
    with pytest.raises(InvalidSpec, match="rule must be"):
        calibrate(forest, *few, rule="most", **given)


# The test in sequence


def curve_of(*seen, lasting=0.9):
    return LastingCurve(
        tuple(Point(s, n, 300, n, last, (0.9, 1.0)) for s, n, last in seen), 0.9, lasting
    )


def naive_lower(n, last):
    """The share at which so many or more plans last with probability 0.1, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if binom.sf(last - 1, n, middle) < 0.1:
            low = middle
        else:
            high = middle
    return low


def test_bounds_are_exact():
    for n, last in ((100, 95), (120, 120), (37, 20)):
        curve = curve_of((0.7, n, last))
        assert curve.at_least(curve.points[0]) == pytest.approx(naive_lower(n, last), abs=1e-9)


def test_the_bound_holds_for_the_plans_of_one_more_planner():
    """Planners whose shares differ; the new one, of more people, less so than they."""
    rng = np.random.default_rng(0)
    with_spread = without = 0
    for _ in range(1000):
        *own, new = rng.beta(58, 3.7, 11)  # a mean of .94, give or take .03
        new = 0.94 + np.sqrt(0.4) * (new - 0.94)
        sizes = rng.integers(12, 22, 10)
        lasts = rng.binomial(sizes, own)
        error = error_of(lasts / sizes, sizes)
        n, last = int(sizes.sum()), int(lasts.sum())
        point = Point(0.8, n, 300, n, last, (0.9, 1.0), error)
        curve = LastingCurve((point,), 0.9)
        with_spread += curve.at_least(point) <= new
        without += curve.at_least(dataclasses.replace(point, error=0.0)) <= new
    assert with_spread >= 880 and without <= with_spread - 20


def test_planners_alike_leave_the_bound_of_people():
    sizes = np.full(10, 20)
    error = error_of(np.full(10, 0.95), sizes)
    assert error == pytest.approx(np.sqrt(0.95 * 0.05 / 190), rel=0.03)
    assert error_of(np.array([1.0]), np.array([50])) == 0.0


def test_no_single_planner_decides_on_a_promise():
    """Nine planners whose plans last less often, and one that carries the promise."""
    even = tuple((16, 15) for _ in range(10))
    carried = (*((14, 13) for _ in range(9)), (34, 33))
    for by_planner, least in ((even, 0.88), (carried, None)):
        n, last = (sum(column) for column in zip(*by_planner, strict=True))
        known = Point(0.8, n, 300, n, last, (0.9, 1.0), 0.0, by_planner)
        unknown = dataclasses.replace(known, by_planner=())
        sums = [(n - m, last - kept) for m, kept in by_planner]
        by_hand = min(naive_lower(*pair) for pair in sums)
        assert known.at_least(0.9) <= by_hand + 1e-9 < unknown.at_least(0.9)
        if least is not None:
            assert known.at_least(0.9) >= least
    assert LastingCurve((known,), 0.9).strength_for(0.9) is None
    assert LastingCurve((unknown,), 0.9).strength_for(0.9) == 0.8


def test_the_sequence_begins_where_plans_are_enough_and_ends_at_the_first_failure():
    seen = [(0.6, 250, 240), (0.7, 220, 180), (0.8, 200, 194), (0.9, 150, 149), (0.95, 60, 30)]
    curve = curve_of(*seen)
    assert FEWEST_PLANS > 60
    assert curve.strength_for(0.9) == 0.8  # not 0.6, which stands behind a failure
    assert curve.strength_for(0.97) == 0.9
    assert curve.strength_for(0.999) is None
    assert curve_of((0.8, 60, 60)).strength_for(0.5) is None  # too few


def test_a_curve_says_what_it_promises_and_what_it_does_not():
    text = str(curve_of((0.6, 200, 100), (0.8, 150, 147)))
    assert "of strength 0.8 lasts with a probability of at least 90%" in text
    assert "of 150 such plans, 147" in text and "50% of the refused" in text
    assert "No strength was shown" in str(curve_of((0.6, 200, 100)))
    assert "too few people" in str(LastingCurve((), 0.9, 0.9))


# Models


@pytest.fixture(scope="module")
def fitted(loans):
    return forest_of(loans, lasting=0.7, n_jobs=2).fit(loans.frame, loans.target)


def test_a_model_keeps_its_curve_and_gives_plans_that_last(loans, fitted, tmp_path):
    strength = fitted.lasting_.strength_for(0.7)
    assert strength is not None and 0.5 < strength < 1
    refused = loans.frame[fitted.predict(loans.frame) == "refused"].head(60)
    plans = fitted.recourse(refused)
    strongest = fitted.recourse(refused, strength="most")
    assert np.array_equal(plans.strength, strongest.strength, equal_nan=True)
    assert np.array_equal(plans.cost, strongest.cost)
    assert plans.lasts.any() and (plans.found & ~plans.lasts).any()
    assert (plans.lasts == (strongest.strength >= strength)).all()
    weaker = plans.found & ~plans.lasts
    assert {plan.lasting for plan in plans} == {0.7, None}
    summary = plans.summary()
    assert summary["plans that last (70%)"] == plans.lasts.sum()
    assert summary["strongest plans, without that promise"] == weaker.sum()
    assert not fitted.recourse(refused, strength=0, explain=False).lasts.any()
    save_model(fitted, tmp_path / "m.ract")
    again = load_model(tmp_path / "m.ract")
    assert again.lasting_ == fitted.lasting_ and again.lasting == 0.7
    assert np.array_equal(again.recourse(refused).cost, plans.cost)


def test_the_cheapest_plans_of_a_strength_where_the_rule_says_so(loans, fitted):
    model = clone(fitted).set_params(lasting=None).fit(loans.frame, loans.target)
    point = dataclasses.replace(fitted.lasting_.points[-1], strength=0.8)
    model.lasting_ = LastingCurve((point,), 0.9, 0.5, "strength")
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(40)
    plans, cheapest = model.recourse(refused), model.recourse(refused, strength=0.8)
    assert np.array_equal(plans.cost[plans.lasts], cheapest.cost[cheapest.found])
    model.lasting_ = dataclasses.replace(model.lasting_, rule="strongest")
    assert model.recourse(refused).cost[plans.lasts].sum() > plans.cost[plans.lasts].sum()


def test_doing_more_is_proved_at_the_strength_of_the_strongest(loans, fitted):
    refused = loans.frame[fitted.predict(loans.frame) == "refused"].head(30)
    plain, safe = fitted.recourse(refused), fitted.recourse(refused, at_least=True)
    assert (plain.lasts == safe.lasts).all()
    proved = safe.answers.beyond
    assert proved.any() and (proved <= safe.lasts).all()
    whole = np.floor(100 * plain.strength + 1e-9) / 100
    assert (safe.strength[safe.lasts] >= whole[safe.lasts]).all()
    assert np.array_equal(safe.cost[~proved], plain.cost[~proved])


def test_what_the_strongest_cannot_go_with_comes_without_a_promise(loans, fitted):
    refused = loans.frame[fitted.predict(loans.frame) == "refused"].head(5)
    assert not fitted.recourse(refused, margin=0.1).lasts.any()
    with pytest.raises(InvalidSpec, match="stands for the strongest plans"):
        fitted.recourse(refused, margin=0.1, lasting=0.7)


def test_the_whole_curve_answers_other_probabilities(loans, fitted):
    refused = loans.frame[fitted.predict(loans.frame) == "refused"].head(20)
    easier = fitted.recourse(refused, lasting=0.6)
    assert easier.cost[easier.lasts].mean() <= fitted.recourse(refused).cost.max()
    with pytest.raises(InvalidSpec, match="No strength was shown"):
        fitted.recourse(refused, lasting=0.9999)
    with pytest.raises(InvalidSpec, match="either strength or lasting"):
        fitted.recourse(refused, lasting=0.6, strength=0.8)
    plain = forest_of(loans).fit(loans.frame, loans.target)
    with pytest.raises(InvalidSpec, match="was not measured"):
        plain.recourse(refused, lasting=0.9)


def test_the_model_itself_is_the_same_with_and_without(loans, fitted):
    plain = forest_of(loans).fit(loans.frame, loans.target)
    assert np.array_equal(plain.ensemble_.threshold, fitted.ensemble_.threshold)
    assert not hasattr(plain, "lasting_")


def test_a_promise_that_cannot_be_made_is_a_warning(loans):
    few = loans.frame.head(200), loans.target[:200]
    tree = RecourseTreeClassifier(loans.actions, max_depth=4, lasting=0.9)
    with pytest.warns(LastingWarning, match="No strength was shown"):
        tree.fit(*few)
    refused = few[0][tree.predict(few[0]) == "refused"].head(5)
    plans = tree.recourse(refused)
    assert not plans.lasts.any()
    fewer = [*np.flatnonzero(few[1] == "refused")[:6], *np.flatnonzero(few[1] == "approved")[:40]]
    with pytest.warns(LastingWarning, match="too few people"):
        tree.fit(few[0].iloc[fewer], few[1].iloc[fewer])


@pytest.mark.parametrize("lasting", [0, 1, 1.5, -0.1, "most", True])
def test_what_is_no_probability_is_refused(loans, lasting):
    with pytest.raises(InvalidSpec, match="lasting must be a probability between 0 and 1"):
        forest_of(loans, lasting=lasting).fit(loans.frame.head(100), loans.target[:100])


def test_damaged_numbers_in_a_file_are_refused(fitted):
    from ract.io.load import _curve
    from ract.io.save import _lasting as as_json

    def read(meta):  # of a file without a booster that has to agree
        core = SimpleNamespace(encoder=None)
        return _curve(SimpleNamespace(meta={"lasting": meta}, core=core, under=lambda _: None))

    good = as_json(fitted.lasting_)
    assert read(json.loads(json.dumps(good))) == fitted.lasting_
    for damage in (
        {"points": 3}, {"confidence": 2}, {"points": [{}]}, {"lasting": "x"},
        {"points": [good["points"][0] | {"last": 10**6}]}, {"points": good["points"][::-1]},
        {"points": [good["points"][0] | {"spread": [1]}]},
        {"points": [good["points"][0] | {"error": -1}]}, {"rule": "best"},
        {"points": [good["points"][0] | {"by_planner": [[1, 1]]}]},
        {"points": [good["points"][0] | {"by_planner": [[1, 2]]}]},
        {"points": [good["points"][0] | {"by_planner": 7}]},
        {"robust_to": []}, {"robust_to": ["witch"]}, {"robust_to": "same"}, {"adoption": 2},
    ):  # fmt: skip
        with pytest.raises(InvalidFile):
            read(good | damage)
    old = [{k: v for k, v in p.items() if k != "by_planner"} for p in good["points"]]
    curve = read({k: v for k, v in good.items() if k != "rule"} | {"points": old})
    assert curve.rule == "strength" and not curve.points[0].by_planner


def test_curves_hold_no_people(fitted):
    assert set(dataclasses.asdict(fitted.lasting_)) == {
        "points", "confidence", "lasting", "rule", "robust_to", "adoption", "guard",
    }  # fmt: skip
    assert fitted.lasting_.guard is None  # or trees, as those of a model


# Where else it is shown


def test_the_audit_says_whose_plans_last(loans, fitted):
    from ract.evaluation.report import audit

    fresh = load_loans(200, random_state=3)
    found = audit(fitted, fresh.frame, fresh.target, groups="Education")
    strength = fitted.lasting_.strength_for(0.7)
    refused = fresh.frame[fitted.predict(fresh.frame) == "refused"]
    plans = fitted.recourse(refused, explain=False)
    everyone = found.promised.iloc[0]
    assert everyone["refused"] == len(refused)
    assert everyone["promised"] == plans.lasts.sum()
    assert everyone["weaker"] == (plans.found & ~plans.lasts).sum()
    assert (plans.strength[plans.lasts] >= strength).all()
    by_group = found.promised.iloc[1:].drop(columns="group").sum()
    assert by_group.tolist() == found.promised.drop(columns="group").iloc[0].tolist()
    page = found.to_html()
    assert "Do plans last?" in page and "lasts with a probability of at least 70%" in page
    plain = audit(forest_of(loans).fit(loans.frame, loans.target), fresh.frame)
    assert plain.promised is None and "Do plans last?" not in plain.to_html()


def test_a_tradeoff_curve_measures_lasting_recourse_on_request(loans):
    from ract.evaluation import tradeoff_curve

    few = loans.frame.head(600), loans.target[:600]
    forest = forest_of(loans, n_estimators=10)
    curve = tradeoff_curve(forest, *few, values=[0.0, 0.5], cv=2, strength=0.7)
    table = curve.to_frame()
    assert (table["lasting low"] <= table["lasting"]).all()
    assert table["lasting"].iloc[1] > table["lasting"].iloc[0]
    assert "lasting" not in tradeoff_curve(forest, *few, values=[0.0], cv=2).to_frame()

"""The judge of outcomes: nobody by their own outcome, and right where the truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import t
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import ActionSpace, Feature, OutcomeJudge, RecourseForestClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import LoansModel, load_loans
from ract.data.encoder import Encoder
from ract.models.judge import EDGE, distinct_rows, first_half, fitted_curve, log_odds


class Remembers(ClassifierMixin, BaseEstimator):
    """Knows the outcomes of its own people, and gives others a number of its own."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.known_ = {tuple(row): label for row, label in zip(X, y, strict=True)}
        self.other_ = 0.3 + 0.4 * (np.sum(X) % 1.0)
        return self

    def predict_proba(self, X):
        share = [self.share(tuple(row)) for row in X]
        return np.column_stack([1 - np.array(share), share])

    def share(self, row):
        return float(self.known_[row]) if row in self.known_ else self.other_


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1400)


@pytest.fixture(scope="module")
def model(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=20, min_samples_leaf=20, budget=0.1, recourse_weight=0.1,
        random_state=0,
    )  # fmt: skip
    return forest.fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="module")
def judge(loans):
    return OutcomeJudge(loans.actions, n_splits=4).fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="module")
def recourse(model, loans):
    return model.recourse(loans.frame[800:], explain=False)


def remembering():
    """A judge of classifiers that remember, and its table: some rows occur several times."""
    rng = np.random.default_rng(0)
    X = rng.choice(rng.normal(size=(60, 2)), 120)
    y = (rng.random(120) < 0.5).astype(int)
    return OutcomeJudge(desired=1, classifier=Remembers(), n_splits=5).fit(X, y), X, y


def test_nobody_is_judged_by_their_own_outcome():
    judge, X, _ = remembering()
    outside = []
    for row in X:
        of_others = [one for one in judge.judges_ if tuple(row) not in one.known_]
        assert len(of_others) == 5  # one of the two halves of each split
        outside.append(np.mean([one.other_ for one in of_others]))
    for one, other in zip(judge.judges_[::2], judge.judges_[1::2], strict=True):
        assert not set(one.known_) & set(other.known_)
        assert set(one.known_) | set(other.known_) == set(map(tuple, X))
    outside = np.clip(outside, 1e-3, 1 - 1e-3)
    # Log odds are a straight line in those of the mean, the same for everyone.
    shift, scale = judge.curve_
    odds = np.log(judge.scores_ / (1 - judge.scores_))
    raw = np.log(outside / (1 - outside))
    np.testing.assert_allclose(odds, shift + scale * raw)
    np.testing.assert_allclose(judge.probability(X)["probability"], judge.scores_)


def test_people_are_followed_through_their_plans():
    judge, X, _ = remembering()
    ends = np.tile(X[0], (len(X), 1))
    shares = judge._shares(ends, X)
    for i, row in enumerate(X):
        for k, one in enumerate(judge.judges_):
            expected = np.nan if tuple(row) in one.known_ else one.share(tuple(X[0]))
            np.testing.assert_equal(shares[i, k], expected)


def test_intervals_are_spread_between_halves(judge, loans):
    people = loans.frame[800:840]
    got = judge.probability(people)
    matrix = judge.encoder_.matrix(people)
    shift, scale = judge.curve_
    for i in range(len(people)):
        shares = []
        for trees in judge.judges_:
            leaves = trees.apply(matrix[[i]])[0]
            shares.append(sum(trees.value[leaf] for leaf in leaves) / len(leaves))
        middle, spread = np.mean(shares), np.std(shares, ddof=1)
        ends = [middle + k * t.ppf(0.95, 7) * spread for k in (0, -1, 1)]
        ends = [min(max(end, 1e-3), 1 - 1e-3) for end in ends]
        expected = [1 / (1 + np.exp(-shift) * ((1 - e) / e) ** scale) for e in ends]
        np.testing.assert_allclose(got.iloc[i], expected)
    wider = OutcomeJudge(loans.actions, n_splits=4, confidence=0.99)
    wider = wider.fit(loans.frame[:800], loans.target[:800]).probability(people)
    assert (wider["low"] <= got["low"]).all() and (wider["high"] >= got["high"]).all()
    assert got.index.equals(people.index)


def test_the_bar_is_the_lowest_tenth_of_the_accepted(judge):
    for accepted in (0.1, 0.37, 0.7, 1.0):
        ranked = sorted(judge.scores_.tolist(), reverse=True)[: round(800 * accepted)]
        margin = ranked[-round(0.1 * len(ranked)) :]
        assert judge.bar(accepted) == pytest.approx(sum(margin) / len(margin))
    for accepted in (0.0, 0.01, -1, 1.5, np.nan):
        with pytest.raises(InvalidSpec, match="accepted is a share"):
            judge.bar(accepted)


def test_verdicts_are_those_of_interval_and_bar(judge, model, recourse, loans):
    judged = recourse.judged(judge)
    assert judged.accepted == np.mean(model.predict(loans.frame[:800]) == "approved")
    assert judged.bar == judge.bar(judged.accepted)
    after = judge.probability(recourse.counterfactuals)
    for i, (_, row) in enumerate(judged.frame.iterrows()):
        if recourse.accepted[i]:
            assert row["verdict"] == "accepted" and np.isnan(row["after"])
        elif not recourse.found[i]:
            assert row["verdict"] == "none" and np.isnan(row["high"])
        else:
            ends = row[["after", "low", "high"]].tolist()
            assert ends == after.iloc[i].tolist()
            earned, granted = row["low"] > judged.bar, row["high"] < judged.bar
            assert row["verdict"] == ("earned" if earned else "granted" if granted else "undecided")
    assert judged.frame.index.equals(loans.frame.index[800:])
    before = judge.probability(loans.frame[800:])["probability"]
    np.testing.assert_array_equal(judged.frame["before"], before)
    strict, generous = judge.judged(recourse, accepted=0.1), judge.judged(recourse, accepted=1.0)
    assert "none" in set(judged.frame["verdict"]) and "granted" in set(strict.frame["verdict"])
    assert "earned" in set(generous.frame["verdict"])


def test_unknown_is_not_none(judge, model, loans):
    refused = loans.frame[model.predict(loans.frame) == "refused"]
    ended = model.recourse(refused, time_limit=0, explain=False)
    assert {"unknown"} <= set(ended.status) <= {"unknown", "none within budget"}
    words = {"unknown": "unknown", "none within budget": "none"}
    assert judge.judged(ended).frame["verdict"].tolist() == [words[s] for s in ended.status]
    # A plan beyond the budget says that there is none within it only if no plan is cheaper.
    wide = model.recourse(refused, budget=np.inf, explain=False)
    narrow = replace(wide, question=replace(wide.question, budget=model.budget_))
    none = judge.judged(narrow).frame["verdict"] == "none"
    assert 0 < none.sum() == (wide.cost > model.budget_).sum()
    not_proved = replace(wide.answers, bound=np.zeros(len(wide)))
    unknown = judge.judged(replace(narrow, answers=not_proved)).frame["verdict"] == "unknown"
    assert unknown.tolist() == none.tolist()


def test_the_summary_counts_by_group(judge, recourse, loans):
    judged = judge.judged(recourse, accepted=0.4)
    summary, frame = judged.summary("Guarantor"), judged.frame
    assert summary["group"].tolist() == ["everyone", False, True]
    for group in (False, True):
        inside = frame[(loans.frame["Guarantor"][800:] == group).to_numpy()]
        row, granted = summary.iloc[1 + group], inside[inside["verdict"] == "granted"]
        assert row["people"] == len(inside)
        assert row["refused"] == (inside["verdict"] != "accepted").sum()
        assert row["granted"] == len(granted) > 0
        assert row["undesired"] == pytest.approx(100 * (1 - granted["after"]).sum() / len(inside))
        assert row["beyond the bar"] == pytest.approx(
            row["undesired"] - 100 * len(granted) * (1 - judged.bar) / len(inside)
        )
    numbers = ["people", "refused", "earned", "undecided", "granted", "none", "unknown"]
    assert (summary[numbers][1:].sum() == summary[numbers].iloc[0]).all()
    assert repr(judged).startswith(f"{summary['refused'][0]} refused of 600 people")
    assert judged.summary()["group"].tolist() == ["everyone"]


def test_effects_are_judged_where_people_end(judge, model, loans):
    refused = loans.frame[model.predict(loans.frame) == "refused"][-8:]
    with_effects = model.recourse(refused, effects=loans.causes, budget=0.5, explain=False)
    found = with_effects.found
    assert found.any() and (with_effects.outcomes != with_effects.counterfactuals).any(axis=None)
    ends = judge.probability(with_effects.outcomes[found])
    judged = judge.judged(with_effects).frame[found]
    np.testing.assert_allclose(judged[["after", "low", "high"]], ends)


def test_any_classifier_can_judge(recourse, loans):
    text = ["Education", "Purpose"]
    columns = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
    logistic = make_pipeline(columns, LogisticRegression())
    judge = OutcomeJudge(loans.actions, classifier=logistic, n_splits=2)
    judged = judge.fit(loans.frame[:800], loans.target[:800]).judged(recourse)
    assert judged.frame["before"].between(0, 1).all()
    flipped = OutcomeJudge(desired="refused", n_splits=2).fit(loans.frame, loans.target)
    ours = OutcomeJudge(desired="approved", n_splits=2).fit(loans.frame, loans.target)
    np.testing.assert_allclose(flipped.scores_, 1 - ours.scores_)
    with pytest.raises(InvalidSpec, match="for the class 'approved'"):
        flipped.judged(recourse)


def test_labels_without_meaning_earn_nothing(rng):
    X, y = rng.normal(size=(300, 3)), rng.random(300) < 0.4
    contrary = OutcomeJudge(desired=True, classifier=Contrary(), n_splits=2).fit(X, y)
    assert contrary.curve_[1] == 0
    np.testing.assert_allclose(contrary.scores_, y.mean())


class Contrary(ClassifierMixin, BaseEstimator):
    """Less probable the more people around have it: the sign of the first number, turned."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        share = 0.5 - 0.01 * np.sign(X[:, 0])
        return np.column_stack([1 - share, share])


def test_what_is_wrong_is_said(loans):
    X, y = loans.frame[:100], loans.target[:100]
    for judge, table, target, error, message in [
        (OutcomeJudge(n_splits=1), X, y, InvalidSpec, "n_splits"),
        (OutcomeJudge(confidence=1), X, y, InvalidSpec, "confidence"),
        (OutcomeJudge(desired="yes"), X, y, InvalidSpec, "not a class of the target"),
        (OutcomeJudge(desired="approved"), X, y[:50], InvalidData, "X has 100 rows"),
        (OutcomeJudge(desired="approved"), X, ["approved"] * 100, InvalidData, "two classes"),
        (
            OutcomeJudge(desired="approved"),
            X,
            ["approved"] * 95 + ["refused"] * 5,
            InvalidData,
            "10 people or more",
        ),
        (OutcomeJudge(), X, y, InvalidSpec, "give desired="),
    ]:
        with pytest.raises(error, match=message):
            judge.fit(table, target)


def test_a_judge_is_asked_for(recourse):
    with pytest.raises(InvalidSpec, match="judge must be a fitted judge, .* got NoneType"):
        recourse.judged(None)


def small_world(rng):
    """A table of small whole numbers, so that every action can be tried."""
    people = pd.DataFrame(rng.integers(0, 6, (400, 3)), columns=["a", "b", "fixed"])
    odds = people["a"] + people["b"] + people["fixed"] - 8 + rng.logistic(size=400)
    y = np.where(odds > 0, "yes", "no")
    space = ActionSpace([Feature("a", "integer", "increase", lower=0, upper=5),
                         Feature("b", "integer", lower=0, upper=5),
                         Feature("fixed", "integer", "fixed", lower=0, upper=5)],
                        desired="yes", limits=None)  # fmt: skip
    return people, y, space


@pytest.mark.parametrize("seed", range(4))
def test_earned_plans_are_the_cheapest_of_all_that_model_and_judge_accept(seed):
    people, y, space = small_world(np.random.default_rng(seed))
    model = RecourseForestClassifier(space, n_estimators=7, recourse_weight=0.3, random_state=seed)
    model.fit(people, y)
    judge = OutcomeJudge(space, n_splits=2, confidence=0.5).fit(people, y)
    recourse = model.recourse(people[:60], earned=judge, budget=0.5, strength=0.6)
    assert recourse.accepted.tolist() == (model.predict(people[:60]) == "yes").tolist()
    bar = judge.bar(np.mean(model.predict(people) == "yes"))
    ranked = np.argsort(-judge.scores_, kind="stable")[: np.sum(model.predict(people) == "yes")]
    usual = np.median(judge.spreads_[ranked[-round(0.1 * len(ranked)) :]])
    shift, scale = judge.curve_
    needed = 1 / (1 + np.exp(-(np.log(bar / (1 - bar)) - shift) / scale))
    needed += t.ppf(0.75, 3) * usual
    n_plans = 0
    for i in np.flatnonzero(~recourse.accepted):
        own = people.to_numpy(float)[i]
        tried = np.array([(a, b, own[2]) for a in range(int(own[0]), 6) for b in range(6)])
        votes = model.ensemble_.totals(tried)[0]
        shares = np.mean([forest.score(tried) for forest in judge.judges_[:2]], axis=0)
        cost = model.cost_.between(np.tile(own, (len(tried), 1)), tried)
        good = (votes >= 5) & (shares >= needed) & (cost <= 0.5)
        assert recourse.found[i] == good.any()
        if good.any():
            assert recourse.cost[i] == pytest.approx(cost[good].min())
            assert recourse.strength[i] * 7 >= 5 - 1e-9
            n_plans += 1
    assert n_plans > 0


def test_a_judge_does_not_report_on_its_own_search(model, loans):
    seeking, reporting = OutcomeJudge(loans.actions, n_splits=2).fit_apart(
        loans.frame[:800], loans.target[:800]
    )
    assert not set(seeking._rows) & set(reporting._rows)
    assert len(seeking.scores_) + len(reporting.scores_) == 800
    sought = model.recourse(loans.frame[800:900], earned=seeking, budget=0.5)
    with pytest.raises(InvalidSpec, match="let a judge of other people report"):
        sought.judged(seeking)
    judged = sought.judged(reporting)
    assert judged.accepted == np.mean(model.predict(reporting.people_) == "approved")
    plain = model.recourse(loans.frame[800:900], budget=0.5)
    assert (sought.cost >= plain.cost - 1e-12).all()
    kept = judged.frame["after"].notna()
    assert (judged.frame["after"] - plain.judged(reporting).frame["after"])[kept].mean() > 0.05


def test_what_a_search_cannot_take_is_said(model, judge, loans):
    X, y = loans.frame, loans.target
    numbers = ["Age", "Income", "Debt"]
    for wrong, message in [
        (OutcomeJudge(desired="refused", n_splits=2).fit(X, y), "fitted for the class 'refused'"),
        (OutcomeJudge(loans.actions, n_splits=2).fit(X[[*X.columns[::-1]]], y), "other columns"),
        (OutcomeJudge(desired="approved", classifier=DecisionTreeClassifier(), n_splits=2).fit(
            X[numbers], y), "ract's own forests can be searched with"),
    ]:  # fmt: skip
        with pytest.raises(InvalidSpec, match=message):
            model.recourse(X[:5], earned=wrong)
    with pytest.raises(InvalidSpec, match="got earned"):
        model.recourse(X[:5], earned=judge, n_alternatives=1)


def truth_of(judged, recourse, judge):
    """True probabilities after the plans, and of the people who make the bar."""
    world = LoansModel()
    planned = judged.frame["after"].notna().to_numpy()
    after = world.approval_probability(recourse.outcomes[planned])
    n_accepted = round(judged.accepted * len(judge.scores_))
    ranked = np.argsort(-judge.scores_)[round(0.9 * n_accepted) : n_accepted]
    bar = world.approval_probability(judge.people_.iloc[ranked]).mean()
    return judged.frame[planned], after, bar


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_the_judge_is_right_where_the_truth_is_known(weight):
    train, fresh = load_loans(2000, random_state=5), load_loans(1000, random_state=6)
    model = RecourseForestClassifier(
        train.actions, n_estimators=30, min_samples_leaf=20, recourse_weight=weight, random_state=0,
    ).fit(train.frame, train.target)  # fmt: skip
    recourse = model.recourse(fresh.frame, explain=False)
    judge = OutcomeJudge(train.actions).fit(train.frame, train.target)
    # Bars that are low or high, beside the model's own, so that there are plans on either side.
    right, n_decided, held = 0, 0, []
    for accepted in (None, 0.4, 0.9):
        judged = judge.judged(recourse, accepted)
        frame, truth, bar = truth_of(judged, recourse, judge)
        assert abs(judged.bar - bar) < 0.04
        earned, granted = ((frame["verdict"] == name).to_numpy() for name in ("earned", "granted"))
        right += (truth[earned] > bar).sum() + (truth[granted] < bar).sum()
        n_decided += earned.sum() + granted.sum()
        held += [(frame["low"] <= truth) & (truth <= frame["high"])]
    assert n_decided > 100
    assert right / n_decided > 0.95
    assert np.mean(held) > 0.8


@pytest.mark.parametrize(("n", "n_desired"), [(10, 4), (11, 4), (7, 1)])
def test_halves_are_equal_and_so_are_their_classes(n, n_desired, rng):
    label = np.arange(n) < n_desired
    inside = first_half(label, rng)
    assert abs(int(inside.sum()) - n / 2) <= 0.5
    assert abs(int(inside[label].sum()) - n_desired / 2) <= 0.5


def test_equal_rows_are_one():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    hashes, first, person = distinct_rows(Encoder(X), X)
    assert len(hashes) == 2 and (np.sort(hashes) == hashes).all()
    assert sorted(first.tolist()) == [0, 1] and person[0] == person[2] != person[1]


def test_log_odds_end_before_zero_and_one():
    np.testing.assert_allclose(expit(log_odds(np.array([0.0, 0.3, 1.0]))), [EDGE, 0.3, 1 - EDGE])


def test_the_curve_finds_shift_and_scale(rng):
    odds = rng.normal(size=60_000)
    truth = rng.random(60_000) < expit(0.5 + 2 * odds)
    shares = expit(odds)
    shift, scale = fitted_curve(shares, truth)
    assert (shift, scale) == (pytest.approx(0.5, abs=0.05), pytest.approx(2, abs=0.1))
    shift, scale = fitted_curve(1 - shares, truth)  # which says nothing that can be used
    assert scale == 0 and expit(shift) == pytest.approx(truth.mean())

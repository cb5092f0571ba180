"""Other learners as judges of plans: who accepts, and what is required of plans."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ract import (
    ActionSpace,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    calibrate,
    load_loans,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract.data.encoder import Encoder
from ract.recourse import LastingCurve, lasting_recourse, replicates
from ract.recourse.plain_judges import PlainJudge, checked_learners
from ract.recourse.replicates import PLANNERS, Replicates

ALL = ("same", "boosting", "linear")
PROMISE = 0.25


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1000)


def forest_of(loans, **given):
    given = {"n_estimators": 10, "recourse_weight": 0.3} | given
    return RecourseForestClassifier(loans.actions, random_state=0, **given)


def encoded(loans):
    encoder = Encoder(loans.frame, loans.actions)
    return encoder.matrix(loans.frame), np.asarray(loans.target) == "approved"


@pytest.mark.parametrize("kind", ["boosting", "linear"])
def test_a_judge_accepts_as_many_of_people_outside(loans, kind):
    matrix, desired = encoded(loans)
    inside, outside = np.arange(500), np.arange(500, 1000)
    for rate in (0.0, 0.4, 1.0):
        judge = PlainJudge.fitted(kind, matrix[inside], desired[inside], matrix[outside], rate)
        assert judge.accepts(matrix[outside]).mean() == pytest.approx(rate, abs=0.01)
    accepted = PlainJudge.fitted(kind, matrix[inside], desired[inside], matrix[outside], 0.4)
    good = accepted.accepts(matrix[outside])
    assert desired[outside][good].mean() > desired[outside][~good].mean() + 0.2


def test_weights_count(loans):
    matrix, desired = encoded(loans)
    weights = np.where(desired, 5.0, 1.0)
    for kind in ("boosting", "linear"):
        plain, weighted = (
            PlainJudge.fitted(kind, matrix, desired, matrix, 0.5, w) for w in (None, weights)
        )
        assert weighted.cut > plain.cut  # everyone has a higher probability


def test_trees_of_a_booster_decide_as_it_does(loans):
    matrix, desired = encoded(loans)
    holes = matrix.copy()
    holes[::7, 0] = np.nan
    judge = PlainJudge.fitted("boosting", holes, desired, holes, 0.6)
    trees = judge.trees(matrix.shape[1])
    assert (trees.decide(holes) == judge.accepts(holes)).all()
    shuffled = np.random.default_rng(0).permuted(matrix, axis=0)
    assert (trees.decide(shuffled) == judge.accepts(shuffled)).all()


@pytest.mark.slow
def test_lasting_is_what_every_learner_accepts(loans):
    """The judges of one learner each, fitted here by hand."""
    given = {"strengths": [0, 0.8], "n_refused": 50}
    alone = {
        kind: lasting_recourse(forest_of(loans), loans.frame, loans.target, robust_to=kind, **given)
        for kind in ALL
    }
    every = lasting_recourse(forest_of(loans), loans.frame, loans.target, robust_to=ALL, **given)
    together = np.all([one.trials["lasts"] for one in alone.values()], axis=0)
    assert every.trials["lasts"].to_numpy(bool).tolist() == together.tolist()
    shares = [one.share(0.8).value for one in alone.values()]
    assert 0 < every.share(0.8).value <= min(shares)
    run = Replicates(forest_of(loans), loans.frame, loans.target)
    trials, labels = alone["linear"].trials, np.asarray(loans.target)
    trials = trials[(trials["strength"] == 0.8) & (trials["judge"] == 3)]
    encoder = Encoder(loans.frame, loans.actions)
    matrix, rows = encoder.matrix(loans.frame), run.rows_of(3)
    others = np.setdiff1d(np.arange(len(labels)), rows)
    same = forest_of(loans).fit(loans.frame.iloc[rows], labels[rows])
    n_accepted = int((same.predict(loans.frame.iloc[others]) == "approved").sum())
    mean, spread = matrix[rows].mean(axis=0), matrix[rows].std(axis=0)
    scaled = (matrix - mean) / np.where(spread > 0, spread, 1)
    linear = LogisticRegression(max_iter=1000).fit(scaled[rows], labels[rows] == "approved")
    best = np.sort(linear.predict_proba(scaled[others])[:, 1])[::-1]
    cut = best[n_accepted - 1 : n_accepted + 1].mean()
    seen = 0
    for k in trials["planner"].unique():
        own = trials[(trials["planner"] == k) & trials["status"].isin(["optimal", "found"])]
        if not len(own):
            continue
        planner = forest_of(loans).fit(loans.frame.iloc[run.rows_of(k)], labels[run.rows_of(k)])
        plans = planner.recourse(loans.frame.iloc[own["person"].to_numpy()], strength=0.8)
        after = (encoder.matrix(plans.counterfactuals) - mean) / np.where(spread > 0, spread, 1)
        accepted = linear.predict_proba(after)[:, 1] >= cut
        assert accepted.tolist() == own["lasts"].tolist()
        seen += len(own)
    assert seen


@pytest.fixture(scope="module")
def calibrated(loans):
    model = RecourseBoostingClassifier(
        loans.actions, max_iter=15, n_replicates=2, lasting=PROMISE, random_state=0
    )
    fitted = model.set_params(lasting=None).fit(loans.frame, loans.target)
    fitted.set_params(lasting=PROMISE)
    return fitted.calibrate(loans.frame, loans.target, robust_to=ALL)


def test_promised_plans_win_as_much_of_a_plain_booster(calibrated, loans):
    curve, new = calibrated.lasting_, load_loans(200, random_state=1)
    strength = curve.strength_for(PROMISE)
    assert curve.robust_to == ALL and curve.rule == "strength" and strength is not None
    assert "a plain booster and a logistic regression" in str(curve)
    plans = calibrated.recourse(new.frame)
    after = plans.after[plans.lasts]
    assert len(after) and (curve.guard.stronger(strength).decide(after)).all()
    assert (plans.strength[plans.lasts] >= strength - 1e-9).all()
    # Those without get the strongest plan, and no promise.
    weaker = plans.found & ~plans.lasts & ~plans.accepted
    most = calibrated.recourse(new.frame, strength="most")
    assert weaker.any() and plans.strength[weaker] == pytest.approx(most.strength[weaker])
    # A cheaper plan of that strength that the booster refuses is no promised plan.
    alone = calibrated.recourse(new.frame, strength=strength)
    both = plans.lasts & ~plans.accepted
    assert (plans.cost[both] >= alone.cost[both] - 1e-9).all()
    assert (plans.cost[both] > alone.cost[both] + 1e-9).any()


def test_people_of_the_judge_act_before_it_is_fitted(loans, monkeypatch):
    seen, fit_on = [], replicates.fit_on

    def fitted(rows, estimator, X, y, sample_weight=None):
        seen.append((rows, X, y))
        return fit_on(rows, estimator, X, y, sample_weight)

    monkeypatch.setattr(replicates, "fit_on", fitted)
    labels = np.asarray(loans.target)
    run = Replicates(forest_of(loans), loans.frame, labels, adoption=0.5)
    k = 0
    assert len(run.models) == len(seen) == len(PLANNERS)
    seen.clear()
    [j] = [j for j, pair in enumerate(PLANNERS) if pair == (3, 4)]
    judge = run._same(k, j)
    assert judge is run._same(k, j)
    [(rows, X, y)] = seen
    moved = np.flatnonzero((loans.frame != X).any(axis=1))
    refused = rows[run.models[k].predict(loans.frame.iloc[rows]) == "refused"]
    assert set(moved) <= set(refused)
    assert len(moved) == pytest.approx(len(refused) / 2, rel=0.2)  # some have no plan
    plans = run.models[k].recourse(loans.frame.iloc[moved], strength="most", explain=False)
    assert plans.found.all()
    assert (plans.counterfactuals == X.iloc[moved].astype(loans.frame.dtypes)).all(axis=None)
    still = np.setdiff1d(np.arange(len(y)), moved)
    assert (y[still] == labels[still]).all() and (y[moved] != labels[moved]).any()


@pytest.mark.slow
def test_a_promise_can_be_asked_to_hold_when_many_act(loans, tmp_path):
    model = forest_of(loans).fit(loans.frame, loans.target).set_params(lasting=PROMISE)
    alone = model.calibrate(loans.frame, loans.target).lasting_
    many = model.calibrate(loans.frame, loans.target, adoption=0.3).lasting_
    assert (alone.adoption, many.adoption) == (0, 0.3)
    shares = [curve.to_frame().set_index("strength")["share"] for curve in (alone, many)]
    both = shares[0].index.intersection(shares[1].index)
    assert len(both) and shares[0][both].mean() != shares[1][both].mean()
    if many.strength_for(PROMISE) is not None:
        assert "30% of the refused had followed their plan" in str(many)
    save_model(model, tmp_path / "model.ract")
    assert load_model(tmp_path / "model.ract").lasting_ == many
    with pytest.raises(InvalidSpec, match="adoption must be a share"):
        calibrate(forest_of(loans), loans.frame, loans.target, adoption=2)
    with pytest.raises(InvalidSpec, match="pandas frame"):
        calibrate(forest_of(loans), loans.frame.to_numpy(), loans.target, adoption=0.3)


def test_a_file_keeps_learners_and_booster(calibrated, tmp_path):
    path, new = tmp_path / "model.ract", load_loans(60, random_state=2)
    save_model(calibrated, path)
    again = load_model(path)
    assert again.lasting_ == calibrated.lasting_ and again.lasting_.robust_to == ALL
    plans, same = (model.recourse(new.frame) for model in (again, calibrated))
    assert (plans.lasts == same.lasts).all()
    assert plans.cost == pytest.approx(same.cost, nan_ok=True)


def test_what_cannot_be_asked_is_refused(calibrated, loans):
    with pytest.raises(InvalidSpec, match="robust_to must name learners"):
        checked_learners(["forest"])
    with pytest.raises(InvalidSpec, match="robust_to must name learners"):
        calibrate(forest_of(loans), loans.frame, loans.target, robust_to=())
    with pytest.raises(InvalidSpec, match="leave rule out"):
        calibrate(
            forest_of(loans), loans.frame, loans.target, robust_to="boosting", rule="strongest"
        )
    people = loans.frame.head(20)
    with pytest.raises(InvalidSpec, match="together with a time"):
        calibrated.recourse(people, lasting=PROMISE, by=6)
    with pytest.raises(InvalidSpec):
        calibrated.recourse(people, lasting=PROMISE, at_least=True)
    assert not calibrated.recourse(people, at_least=True).question.lasting


def test_letters_go_without_what_several_models_cannot_be_asked_for(calibrated, loans):
    """At most three changes, and safe when people do more: no promise about other learners."""
    sized = ActionSpace(loans.actions.features, loans.desired, "size", "round")
    model = RecourseBoostingClassifier(
        sized, budget=1.0, max_iter=10, n_replicates=2, random_state=0
    ).fit(loans.frame, loans.target)
    people = loans.frame.head(30)
    plain = model.recourse(people)
    for curve in (calibrated.lasting_, LastingCurve((), 0.9, 0.9)):  # of which nothing was shown
        model.lasting_ = curve
        plans = model.recourse(people)
        assert plans.cost == pytest.approx(plain.cost) and plans.question.lasting is None

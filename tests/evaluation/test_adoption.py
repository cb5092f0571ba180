"""When many people act: trials done again by hand."""

import numpy as np
import pytest
from sklearn.base import clone

from ract import load_loans
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.loans import LoansModel
from ract.evaluation import AdoptionDisplay, simulate_adoption
from ract.evaluation.adoption import _least_cut
from ract.models.examples import loans_forest

TRUTH = LoansModel().approval_probability


@pytest.fixture(scope="module")
def model():
    return loans_forest(600, recourse_weight=0.3)[0]


@pytest.fixture(scope="module")
def new():
    return load_loans(500, random_state=1)


def test_nobody_and_everybody_by_hand(model, new):
    curve = simulate_adoption(model, new.frame, new.target, [0, 1], judge=TRUTH, n_draws=3)
    assert curve.trials["share"].tolist() == [0, 1, 1, 1]
    plans = model.recourse(new.frame, strength="most", explain=False)
    rows = np.flatnonzero(plans.found)
    after = plans.counterfactuals
    nobody = clone(model).fit(new.frame, new.target)
    holds = (nobody.predict(after.iloc[rows]) == "approved").mean()
    assert curve.trials["holds"][0] == pytest.approx(holds)
    table = curve.to_frame()
    assert table["adopters"].tolist() == [0, len(rows)] and (table["plans"] == len(rows)).all()
    # Everybody: the first draw, with the same random numbers.
    rng = np.random.default_rng(np.random.default_rng(0).integers(2**31, size=3)[0])
    order = rng.permutation(len(rows))
    now, labels = new.frame.copy(), np.asarray(new.target).copy()
    now.iloc[rows] = after.iloc[rows]
    good = TRUTH(after.iloc[rows])[order]
    labels[rows[order]] = np.where(rng.random(len(rows)) < 1 - good, "refused", "approved")
    again = clone(model).fit(now.astype(new.frame.dtypes), labels)
    holds = (again.predict(after.iloc[rows]) == "approved").mean()
    assert curve.trials["holds"][1] == pytest.approx(holds)
    accepted = again.predict(now) == "approved"
    bad = (np.asarray(new.target) != "approved").astype(float)
    bad[rows] = 1 - TRUTH(after.iloc[rows])
    assert curve.trials["bad rate"][1] == pytest.approx(bad[accepted].mean())
    assert curve.trials["cut"].tolist() == [0, 0, 0, 0]


def test_where_places_are_limited_the_cut_rises(model, new):
    given = {"judge": TRUTH, "n_draws": 2}
    free = simulate_adoption(model, new.frame, new.target, [0.5], **given).to_frame()
    tight = simulate_adoption(model, new.frame, new.target, [0.5], 0.5, **given).to_frame()
    counted = simulate_adoption(model, new.frame, new.target, [0.5], 250, **given).to_frame()
    assert tight.equals(counted)
    assert tight["approval rate"][0] <= 0.5 < free["approval rate"][0]
    assert tight["cut"][0] > 0 and tight["holds"][0] < free["holds"][0]


def test_the_least_cut_is_the_one_found_by_trying():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, places = rng.integers(0, 8, 12).astype(float), int(rng.integers(1, 12))
        tried = [s for s in sorted(scores) if (scores >= s).sum() <= places]
        assert _least_cut(scores, places) == (tried[0] if tried else np.inf)


def test_a_judge_of_the_same_people_is_the_default_and_a_picture(model, new):
    from matplotlib.figure import Figure

    curve = simulate_adoption(model, new.frame, new.target, [0, 0.3], n_draws=1)
    ax = AdoptionDisplay.from_curve(curve, ax=Figure().subplots()).ax_
    assert len(ax.get_legend().get_texts()) == 2
    same = simulate_adoption(model, new.frame, new.target, [0, 0.3], n_draws=1)
    assert same.trials.equals(curve.trials)


def test_what_makes_no_sense_is_refused(model, new):
    table = new.frame, new.target
    for given, words in (
        ({"share": [2]}, "share must be"), ({"slots": 0}, "slots must be"),
        ({"n_draws": 0}, "n_draws must be"), ({"judge": 3}, "judge must be"),
    ):  # fmt: skip
        with pytest.raises(InvalidSpec, match=words):
            simulate_adoption(model, *table, **given)
    with pytest.raises(InvalidSpec, match="fitted model of ract"):
        simulate_adoption(3, *table)
    with pytest.raises(InvalidData, match="500 rows"):
        simulate_adoption(model, new.frame, new.target[:3])

"""Whether plans last: shares, groups, and runs that go on from a checkpoint."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import ActionSpace, calibrate, import_model
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation.metrics import lasting_recourse
from ract.recourse.replicates import Replicates
from tests.recourse.test_calibration import forest_of


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500)


@pytest.fixture(scope="module")
def lasting(loans):
    forest = forest_of(loans)
    strengths = (0.0, 0.7, 0.85, "most")
    return lasting_recourse(
        forest, loans.frame, loans.target, strengths=strengths, n_refused=100, groups="Purpose"
    )


def test_stronger_plans_last_longer_and_shares_add_up(lasting):
    table = lasting.to_frame()
    assert table["share of plans"].iloc[2] > table["share of plans"].iloc[0]
    assert (table["last"] <= table["plans"]).all() and (table["plans"] <= table["refused"]).all()
    assert (table["low"] <= table["lasting recourse"]).all()
    whole = lasting.to_frame(by=["group", "changes"]).groupby("strength", sort=False)["last"].sum()
    assert whole.tolist() == table["last"].tolist()
    with_fallback = lasting.share(0.85, fallback=True).value
    assert with_fallback >= lasting.share(0.85).value
    at, most = (lasting.trials[lasting.trials["strength"] == s] for s in (0.85, "most"))
    found = at["status"].isin(["optimal", "found"]).to_numpy()
    by_hand = np.where(found, at["lasts"].to_numpy(), most["lasts"].to_numpy()).mean()
    assert with_fallback == pytest.approx(by_hand)
    with pytest.raises(InvalidSpec, match="was not asked for"):
        lasting.kept(0.5)


def test_a_run_goes_on_from_its_checkpoint(loans, tmp_path, monkeypatch):
    given = {"strengths": (0.0, 0.8), "n_refused": 40}
    few = loans.frame.head(500), loans.target[:500]
    whole = lasting_recourse(forest_of(loans), *few, **given)
    path, trials = tmp_path / "run.json", Replicates.trials

    def ends(self, k, *asked):
        if k == 4:
            raise KeyboardInterrupt
        return trials(self, k, *asked)

    monkeypatch.setattr(Replicates, "trials", ends)
    with pytest.raises(KeyboardInterrupt):
        lasting_recourse(forest_of(loans), *few, checkpoint=path, **given)
    assert len(json.loads(path.read_text())["parts"]) == 4
    asked = []
    monkeypatch.setattr(
        Replicates, "trials", lambda self, k, *given: asked.append(k) or trials(self, k, *given)
    )
    again = lasting_recourse(forest_of(loans), *few, checkpoint=path, **given)
    assert asked == [4, 5, 6, 7, 8, 9]
    pd.testing.assert_frame_equal(again.trials, whole.trials)
    with pytest.raises(InvalidData, match="another run"):
        lasting_recourse(forest_of(loans), *few, checkpoint=path, strengths=(0.0,), n_refused=40)
    path.write_text("[]")
    with pytest.raises(InvalidData, match="no checkpoint"):
        lasting_recourse(forest_of(loans), *few, checkpoint=path, **given)


def test_learners_of_other_libraries_are_measured_too(loans):
    numbers = loans.frame.select_dtypes("number")
    space = ActionSpace.infer(numbers, fixed=["Age"], desired="approved", limits=None)
    learner = RandomForestClassifier(n_estimators=15, min_samples_leaf=20, random_state=0)
    curve = calibrate(
        learner, numbers, loans.target, lasting=0.6, strengths=[0, 0.6, 0.7], n_refused=200,
        actions=space, budget=0.5,
    )  # fmt: skip
    assert curve.points[0].plans >= curve.points[-1].plans
    fitted = learner.fit(numbers, loans.target)
    imported = import_model(fitted, numbers, space, budget=0.5, lasting=curve)
    refused = numbers[imported.predict(numbers) == "refused"].head(20)
    assert imported.recourse(refused, strength=0.6, explain=False).found.any()

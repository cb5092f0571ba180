"""Outcomes of redeemed promises, and intervals that hold however often one looks."""

import json
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from typer.testing import CliRunner

from ract import OutcomeJudge, save_model
from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.apps.ledger import Conflict, Ledger, promise_outcomes, record_outcomes
from ract.apps.ledger.outcomes import confidence_sequence, evidence_against


@pytest.fixture
def where(tmp_path):
    return tmp_path / "promises.db"


@pytest.fixture
def redeemed(where, plans):
    """Promises, of which the first three are redeemed and the fourth is withdrawn."""
    with Ledger(where) as ledger:
        made = ledger.offer(plans, expires=timedelta(days=90))
        for promise in made[:3]:
            assert ledger.redeem(promise.person, promise.after).accepted
        ledger.withdraw(made[3].id, "A mistake")
    return [promise.id for promise in made]


def test_outcomes_are_events_of_which_the_last_counts(where, redeemed, plans):
    first, second, third, withdrawn = redeemed[:4]
    with Ledger(where) as ledger:
        before = promise_outcomes(ledger)
        assert before.counts == {
            "redeemed": 3, "withdrawn": 1, "repaid": 0, "defaulted": 0, "open": 3,
        }  # fmt: skip
        assert before.kept == 0.75 and before.table["ended"][0] == 0
        record_outcomes(ledger, {first: "open", second: "defaulted"})
        record_outcomes(ledger, {first: "repaid"}, by="J. Doe")
        found = promise_outcomes(ledger)
        assert (found.counts["repaid"], found.counts["defaulted"], found.counts["open"]) == (
            1,
            1,
            1,
        )
        assert "1 repaid, 1 defaulted, 1 open" in str(found)
        history = ledger.history(plans.labels[0])
        assert history["event"].tolist() == ["offered", "redeemed", "outcome", "outcome"]
        assert history["by"].iloc[-1] == "J. Doe"
        with pytest.raises(Conflict, match="only a redeemed one"):
            record_outcomes(ledger, {third: "repaid", withdrawn: "repaid"})
        assert promise_outcomes(ledger).counts == found.counts  # all or none
        with pytest.raises(InvalidSpec, match="An outcome is one of"):
            record_outcomes(ledger, {third: "paid"})
        assert ledger.verify()
        ledger.erase(plans.labels[0])
        assert ledger.verify() and promise_outcomes(ledger).counts["repaid"] == 0


def test_a_judge_is_asked_about_people_as_they_redeemed(where, redeemed, loans):
    judge = OutcomeJudge(loans.actions, n_splits=3).fit(loans.frame[:600], loans.target[:600])
    with Ledger(where) as ledger:
        record_outcomes(ledger, {redeemed[0]: "repaid", redeemed[1]: "defaulted"})
        found = promise_outcomes(ledger, judge, accepted=0.7)
        after = pd.DataFrame([ledger.get(id).after for id in redeemed[:2]])
    chance = judge.probability(after)["probability"]
    assert found.table["predicted"][0] == pytest.approx(chance.mean())
    assert found.table["group"].tolist() == ["everyone", "earned", "undecided", "granted"]
    assert found.table["ended"][1:].sum() == 2 and not found.warnings


def test_predictions_that_are_wrong_are_found_out_and_right_ones_are_not():
    assert evidence_against([False] * 20, [0.9] * 20) > 1e3
    rng = np.random.default_rng(0)
    found_out = 0
    for _ in range(400):  # looked at after every one of 60 outcomes
        chances = rng.uniform(0.3, 1.0, 60)
        happened = rng.random(60) < chances
        found_out += max(evidence_against(happened[:n], chances[:n]) for n in range(1, 61)) >= 10
    assert found_out <= 400 * 0.1


def naive_sequence(hits, n, confidence):
    """All shares on a grid whose mixture over a uniform prior, integrated, has not won enough."""
    won, _ = quad(lambda q: q**hits * (1 - q) ** (n - hits), 0, 1)
    grid = np.linspace(0, 1, 20001)
    inside = grid[won < grid**hits * (1 - grid) ** (n - hits) / (1 - confidence)]
    return inside.min(), inside.max()


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (1, 1), (3, 4), (18, 20), (0, 15), (30, 30)])
def test_the_sequence_is_that_of_a_grid(hits, n):
    low, high = naive_sequence(hits, n, 0.9)
    assert confidence_sequence(hits, n, 0.9) == pytest.approx((low, high), abs=1e-4)


def test_the_sequence_holds_at_all_times_at_once():
    rng, missed = np.random.default_rng(1), 0
    for _ in range(100):
        hits = np.cumsum(rng.random(50) < 0.8)
        ends = [confidence_sequence(int(h), n, 0.9) for n, h in enumerate(hits, 1)]
        missed += any(not low <= 0.8 <= high for low, high in ends)
    assert missed <= 10
    assert confidence_sequence(0, 0, 0.9) == (0.0, 1.0)


def test_on_the_command_line(where, redeemed, model, loans, tmp_path):
    judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame[:600], loans.target[:600])
    save_model(model, tmp_path / "model.ract", judge=judge)
    table = pd.DataFrame({"promise": redeemed[:2], "outcome": ["repaid", "repaid"]})
    table.to_csv(tmp_path / "repaid.csv", index=False)
    asked = ["promises", "outcomes", "--ledger", str(where)]
    more = [str(tmp_path / "repaid.csv"), "--model", str(tmp_path / "model.ract"), "--json"]
    result = CliRunner().invoke(app, [*asked, *more])
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["repaid"] == 2 and said["groups"][0]["share"] == 1.0
    assert 0 < said["groups"][0]["predicted"] < 1
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0 and "2 repaid, 0 defaulted, 1 open" in result.output

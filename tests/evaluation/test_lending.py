"""The lender's book: counted again by hand, on the loans model, whose truth is known."""

import numpy as np
import pandas as pd
import pytest

from ract import OutcomeJudge, audit, load_loans
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.loans import LoansModel
from ract.evaluation import BookDisplay, book, sendable
from ract.evaluation.outcomes import judge_error
from ract.models.examples import loans_forest


@pytest.fixture(scope="module")
def model():
    return loans_forest(800)[0]


@pytest.fixture(scope="module")
def new():
    return load_loans(400, random_state=1)


@pytest.fixture(scope="module")
def judge(new):
    return OutcomeJudge(new.actions, n_splits=3).fit(new.frame, new.target)


@pytest.fixture(scope="module")
def found(model, new, judge):
    return book(
        model, new.frame, new.target, judge, margin=3.0, loss=8.0, groups="Education"
    )  # fmt: skip


def naive(model, new, chance, strength):
    """Approval, bad rate and profit per 100 people, one person after the other."""
    plans = model.recourse(new.frame, strength=strength, explain=False)
    approved, bad = 0, 0.0
    for i, truth in enumerate(np.asarray(new.target)):
        if model.predict(new.frame.iloc[[i]])[0] == "approved":
            approved, bad = approved + 1, bad + (truth != "approved")
        elif plans[i].has_recourse:
            after = new.frame.iloc[[i]].copy()
            for change in plans[i].changes:
                after[change.feature] = change.after
            approved, bad = approved + 1, bad + 1 - chance(after.astype(new.frame.dtypes))
    return approved / 400, bad / approved, 100 * (3 * (approved - bad) - 8 * bad) / 400


@pytest.mark.parametrize(("pool", "strength"), [("cheapest", 0), ("strongest", "most")])
def test_rates_and_profit_are_those_counted_by_hand(model, new, pool, strength):
    truth = LoansModel().approval_probability
    found = book(model, new.frame, new.target, truth, plans=pool, margin=3.0, loss=8.0)
    by_hand = naive(model, new, lambda one: float(truth(one)[0]), strength)
    row = found.row(pool)
    assert tuple(row[["approval rate", "bad rate", "profit"]]) == pytest.approx(by_hand)
    assert row["rise"] == pytest.approx(by_hand[1] - found.row("today")["bad rate"])
    assert row["bad rate low"] < row["bad rate"] < row["bad rate high"]


def test_today_and_a_plain_model_of_the_same_size(model, new, judge, found):
    accepted, bad = model.predict(new.frame) == "approved", np.asarray(new.target) != "approved"
    today, plain = found.row("today"), found.row("plain model")
    assert today["accepted"] == plain["accepted"] == accepted.sum()
    assert today["bad rate"] == pytest.approx(bad[accepted].mean())
    best = np.argsort(-judge.probability(new.frame)["probability"].to_numpy(), kind="stable")
    assert plain["bad rate"] == pytest.approx(bad[best[: accepted.sum()]].mean())
    assert found.price.value == pytest.approx(today["bad rate"] - plain["bad rate"])
    assert found.price.low <= found.price.value <= found.price.high


def test_groups_add_up_to_everyone(found):
    for _, part in found.table.groupby("pool"):
        whole, groups = part.iloc[0], part.iloc[1:]
        for name in ("people", "accepted", "adopters"):
            assert whole[name] == groups[name].sum()
        bad = (groups["bad rate"] * groups["accepted"]).sum()
        assert whole["bad rate"] == pytest.approx(bad / whole["accepted"])
        weighted = (groups["profit"] * groups["people"]).sum() / whole["people"]
        assert whole["profit"] == pytest.approx(weighted)


def test_sendable_adopters_are_those_whose_letters_pass(model, new, found):
    plans = model.recourse(new.frame, strength=0, max_changes=3, at_least=True, explain=False)
    assert found.row("sendable")["adopters"] == sendable(plans).people["sendable"].sum() > 0


def test_earned_plans_need_a_second_judge(model, new, judge):
    with pytest.raises(InvalidSpec, match="seeking"):
        book(model, new.frame, new.target, judge, plans=["earned"])
    seeking, reporting = OutcomeJudge(new.actions, n_splits=2).fit_apart(new.frame, new.target)
    found = book(
        model, new.frame, new.target, reporting, plans=["cheapest", "earned"], seeking=seeking
    )
    assert 0 < found.row("earned")["adopters"] < found.row("cheapest")["adopters"]
    assert found.row("earned")["bad rate"] < found.row("cheapest")["bad rate"]


def test_what_the_judge_may_be_off_widens_the_interval(model, new, judge, found):
    certain = book(
        model, new.frame, new.target, lambda X: judge.probability(X)["probability"],
        plans="cheapest",
    ).row("cheapest")  # fmt: skip
    unsure = found.row("cheapest")
    width = unsure["rise high"] - unsure["rise low"]
    assert width > certain["rise high"] - certain["rise low"]
    halves = np.array([[0.2, 0.4], [0.3, np.nan]])
    by_hand = np.std([0.25, 0.4], ddof=1)
    assert judge_error(halves) == pytest.approx(by_hand)


def test_the_interval_of_the_truth_holds():
    """Of repeated draws of people, with the truth as judge; 90% intervals of the bad rate."""
    model, _ = loans_forest(500, n_estimators=5)
    truth = LoansModel().approval_probability
    many = load_loans(6000, random_state=9)
    given = {"plans": "cheapest", "confidence": 0.9}
    whole = book(model, many.frame, many.target, truth, **given).row("cheapest")
    inside = 0
    for k in range(20):
        part = slice(300 * k, 300 * (k + 1))
        row = book(model, many.frame[part], many.target[part], truth, **given).row("cheapest")
        inside += row["bad rate low"] <= whole["bad rate"] <= row["bad rate high"]
    assert inside >= 15


def test_what_makes_no_sense_is_refused(model, new, judge):
    table = new.frame, new.target
    for given, words in (
        ({"plans": ["best"]}, "plans are of"), ({"margin": 1.0}, "both margin and loss"),
        ({"margin": -1.0, "loss": 1.0}, "margin must be"),
    ):  # fmt: skip
        with pytest.raises(InvalidSpec, match=words):
            book(model, *table, judge, **given)
    with pytest.raises(InvalidSpec, match="judge must be"):
        book(model, *table, 3)
    with pytest.raises(InvalidData, match="400 rows but y"):
        book(model, new.frame, new.target[:5], judge)
    with pytest.raises(InvalidData, match="one probability"):
        book(model, *table, lambda X: np.full(len(X), 2.0))
    with pytest.raises(InvalidSpec, match="no pool"):
        book(model, *table, judge, plans=[]).row("strongest")


def test_a_picture_and_a_section_of_the_audit(model, new, judge, found):
    from matplotlib.figure import Figure

    ax = BookDisplay.from_book(found, ax=Figure().subplots()).ax_
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert any(text.startswith("today: ") for text in labels)
    assert any("loses money" in text for text in labels)
    assert len(labels) == 6
    assert "plain model: " in repr(found) and "price of recourse" in repr(found)
    page = audit(model, new.frame, new.target, judge=judge, groups="Education")
    assert isinstance(page.book.table, pd.DataFrame)
    text = page.to_html()
    assert "The book: what plans do" in text and "Bad rate of the accepted" in text
    assert audit(model, new.frame, judge=judge).book is None

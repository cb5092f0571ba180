"""Doing more than a plan asks, and the strongest plan, under rules: beside every action."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import RecourseForestClassifier, find_reasons, find_recourse, load_loans
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.apps.cli import app
from ract.recourse.additive.search import AdditiveSearch
from ract.recourse.common.search import Batch, Limits
from ract.recourse.exact.search import ExactSearch
from ract.recourse.options import Options
from ract.recourse.rules.ruling import Ruling
from ract.recourse.rules.search import RuledExplainer, RuledSearch
from tests import naive
from tests.builders import quick_of
from tests.recourse.rules.test_search import KINDS, OBJECTIVES, Case, naive_keeps


def asked(case, *, strongest=False, **options):
    """The answer to one person's question with options."""
    kind = AdditiveSearch if case.cost.norm != "max" else ExactSearch
    plain = kind(case.ensembles[0], case.encoder.axes, case.cost)
    plain = plain.graded if strongest else plain
    search = RuledSearch(plain, Ruling(case.space.rules, case.encoder.axes, case.cost))
    batch = Batch.of(case.person[None], np.inf, Limits())
    explainer = RuledExplainer(plain, plain, Options(**options))
    search.fill(batch, strongest=strongest, explainer=explainer)
    return batch.answers


def further(case, answers, *, told):
    """The rows at which people do more, or at which they do what they are told."""
    inside = np.ones(len(case.rows), bool)
    for a, axis in enumerate(case.encoder.axes):
        columns = list(axis.columns)
        at, own, plan = case.rows[:, columns], case.person[columns], answers.values[0][columns]
        if axis.is_categorical:
            same = (at == plan).all(axis=1)
            if not told and axis.feature.is_ordered and (own != plan).any():
                place, goal = at.argmax(axis=1), plan.argmax()
                rises = axis.feature.change == "increase"
                same |= place > goal if rises else place < goal
            inside &= same
        elif own[0] == plan[0]:
            inside &= at[:, 0] == own[0]
        elif told:
            low, high = answers.low[0, a], answers.high[0, a]
            assert low <= plan[0] <= high
            inside &= (at[:, 0] >= low) & (at[:, 0] <= high)
        else:
            inside &= (at[:, 0] - plan[0]) * np.sign(plan[0] - own[0]) >= 0
    return case.rows[inside]


def check_more(seed, kinds, objective, **how):
    """A plan that is proved to hold for everyone who does more; whether there was one."""
    case = Case(seed, kinds, objective, **how)
    best = min(case.costs[case.kept], default=np.inf)
    answers = asked(case, at_least=True)
    if np.isinf(best):
        assert answers.status[0] == Status.NONE
        return False
    values = answers.values
    assert answers.cost[0] >= best * (1 - 3e-9) and answers.bound[0] <= best * (1 + 3e-9)
    assert case.ensembles[0].decide(values)[0]
    assert all(naive_keeps(rule, case.encoder, case.person, values)[0] for rule in case.space.rules)
    if answers.status[0] == Status.OPTIMAL or not answers.beyond[0]:
        assert np.isclose(answers.cost[0], best, rtol=3e-9, atol=1e-12)
    if not answers.beyond[0]:
        return False
    assert naive.naive_decision(case.ensembles[0], further(case, answers, told=False)).all()
    rows = further(case, answers, told=True)
    for rule in case.space.rules:
        assert naive_keeps(rule, case.encoder, case.person, rows).all()
    return True


def won(ensemble, rows):
    """What rows win: votes, of a single tree that votes the share in its leaf, or the score."""
    if ensemble.combine == "votes" and len(ensemble.root) == 1:
        return ensemble.value[naive.naive_leaves(ensemble, rows)[:, 0]]
    return ensemble.score(rows)


def check_strongest(seed, kinds, objective, **how):
    """The plan that wins most of all that keep the rules, and of these the cheapest."""
    case = Case(seed, kinds, objective, **how)
    answers = asked(case, strongest=True)
    if not case.kept.any():
        assert answers.status[0] == Status.NONE
        return
    score = won(case.ensembles[0], case.rows[case.kept])
    assert answers.status[0] == Status.OPTIMAL
    assert won(case.ensembles[0], answers.values)[0] == score.max()
    best = case.costs[case.kept][score == score.max()].min()
    assert np.isclose(answers.cost[0], best, rtol=3e-9, atol=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("part", quick_of(1, range(20)))
def test_everyone_who_does_more_is_accepted_and_told_what_keeps_the_rules(objective, part):
    n = 0
    for k, kind in enumerate(KINDS):
        for seed in range(8 * part, 8 * part + 8):
            n += check_more([k, seed], [kind], objective)
    assert n > 5


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("part", quick_of(1, range(20)))
def test_the_strongest_of_all_plans_that_keep_rules_is_found(objective, part):
    for k, kind in enumerate(KINDS):
        for seed in range(8 * part, 8 * part + 8):
            check_strongest([k, seed], [kind, "implies"], objective)


@pytest.fixture(scope="module")
def ruled():
    loans = load_loans(900)
    space = loans.actions.with_rules(
        "Savings + Debt <= 60000", "if Education = Graduate then Age >= 22"
    )
    model = RecourseForestClassifier(space, n_estimators=15, random_state=0)
    model.fit(loans.frame, loans.target)
    refused = loans.frame[model.predict(loans.frame) == "refused"]
    return model, refused.head(25), loans.frame


def test_letters_keep_the_rules(ruled):
    model, people, _ = ruled
    plans = model.recourse(people, at_least=True, max_changes=3, n_alternatives=2)
    told = plans.answers.beyond
    assert told.sum() > 10
    for row in np.flatnonzero(told).tolist():
        goals = {change.feature: change.goal for change in plans[row].changes}
        after = {**people.iloc[row].to_dict(), **goals}
        assert after["Savings"] + after["Debt"] <= 60000 * (1 + 1e-9)
        assert after["Education"] != "Graduate" or after["Age"] >= 22


def test_a_user_with_rules_in_the_file_can_send_letters(tmp_path):
    def run(*arguments):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == 0, result.output

    data, actions, model = (tmp_path / name for name in ("data.csv", "actions.toml", "m.ract"))
    run("data", "loans", "-o", data, "--n-people", 600)
    run("init", data, "--target", "Decision", "--desired", "approved", "-o", actions)
    rules = 'rules = ["Savings + Debt <= 60000", "if ExistingLoans changes then Debt stays"]\n'
    actions.write_text(rules + actions.read_text(encoding="utf-8"), encoding="utf-8")
    run("fit", data, "--target", "Decision", "--actions", actions, "-o", model)
    people = pd.read_csv(data).drop(columns="Decision").head(60).assign(Id=range(60))
    people.to_csv(tmp_path / "people.csv", index=False)
    codes = tmp_path / "notice.toml"
    run("notice", "init", model, "-o", codes, "--creditor", "A", "--address", "B", "--contact", "C")
    run("notice", model, tmp_path / "people.csv", "-o", tmp_path / "letters", "--reasons", codes,
        "--reference", data, "--id", "Id")  # fmt: skip
    assert len(list((tmp_path / "letters").iterdir())) > 5
    run("audit", model, tmp_path / "people.csv", "-o", tmp_path / "report.html")


def test_reasons_promise_nothing_that_a_rule_could_undo(ruled):
    model, people, everyone = ruled
    free = dataclasses.replace(model.encoder_.space, rules=())
    plain = find_reasons(model, people, reference=everyone, actions=free)
    found = find_reasons(model, people, reference=everyone)
    question, n = found.question, 0
    for key, mending in found.mendings.items():
        row, a = key
        without = plain.mendings[key]
        assert mending.alone in (without.alone, None)
        if mending.alone:
            axis, n = question.encoder.axes[a], n + 1
            for value in np.linspace(mending.first, mending.last, 7):
                after = question.matrix[[row]]
                one_hot = np.arange(len(axis.columns)) == value
                after[:, list(axis.columns)] = one_hot if axis.is_categorical else value
                assert question.keeps_rules(np.array([row]), after)[0]
        assert not mending.with_others
    assert n > 0 and any(m.alone is None for m in found.mendings.values())


def test_what_rules_do_not_go_with_is_refused(ruled):
    model, people, _ = ruled
    with pytest.raises(InvalidSpec, match=r"'margin' needs .*; got rules between features"):
        model.recourse(people, margin=0.1)
    with pytest.raises(InvalidSpec, match=r"'at_least' needs .*; got rules between features"):
        find_recourse([model, model], people, at_least=True)

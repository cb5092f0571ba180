"""Plans with effects and plausible plans, as users get them: options, words, frames, limits."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
)
from ract._utils.errors import InvalidSpec
from ract._utils.status import Status
from ract.data.costs import make_cost
from ract.data.datasets import load_loans
from ract.data.effects import CausalEffects
from ract.data.encoder import Encoder
from ract.recourse.causal.search import CausalSearch, column_names
from ract.recourse.common.problem import CellProblem
from ract.recourse.exact.search import ExactSearch
from ract.recourse.plausible.plausibility import Plausibility, PlausibleSearch
from tests import naive
from tests.builders import random_causal_problem, stump_on

EDGES = {("Income", "Savings"): 0.3, ("Income", "Debt"): 0.15}
NUMBERS = ["Age", "Income", "Debt", "Savings", "LoanAmount"]


@pytest.fixture(scope="module")
def lending():
    loans = load_loans(n_people=1200, random_state=3)
    model = RecourseForestClassifier(
        loans.actions, desired="approved", n_estimators=20, min_samples_leaf=5, budget=0.3,
        random_state=0,
    ).fit(loans.frame, loans.target)  # fmt: skip
    return model, loans.frame, loans.frame[model.predict(loans.frame) == "refused"].head(40)


@pytest.fixture(scope="module")
def singles():
    """A scikit-learn forest on a table of single precision."""
    loans = load_loans(n_people=800, random_state=5)
    frame = loans.frame[NUMBERS].astype(np.float32)
    forest = RandomForestClassifier(20, max_depth=6, random_state=0).fit(frame, loans.target)
    space = ActionSpace.infer(frame, fixed=["Age"], increase=["Income", "Savings"], limits=None)
    return forest, frame, space


@pytest.mark.parametrize("kind", [{"effects": EDGES}, {"plausibility": "isolation_forest"}])
@pytest.mark.parametrize("other", ["rules", "method"])
def test_options_that_were_ignored_beside_effects_and_plausibility_are_refused(
    lending, kind, other
):
    model, _, people = lending
    ruled = {"actions": model.encoder_.space.with_rules("Debt <= Savings")}
    options = ruled if other == "rules" else {"method": "leaves"}
    with pytest.raises(InvalidSpec, match="cannot be asked for together"):
        model.recourse(people, **kind, **options)


@pytest.mark.parametrize("kind", [{"effects": EDGES}, {"plausibility": "isolation_forest"}])
def test_numbers_in_sentences_are_those_that_were_put_to_the_model(lending, kind):
    """They were rounded outward, beyond what had been tried; some plans failed as written."""
    model, frame, people = lending
    recourse = model.recourse(people, reference=frame, **kind)
    written = 0
    for plan in recourse:
        for change in plan.changes:
            if not change.by_itself and isinstance(change.after, float):
                text = change.describe().rsplit(" to exactly ", 1)[1]
                assert float(text.replace(",", "")) == change.after
                written += 1
    assert written > 10


@pytest.mark.parametrize("kind", [{"effects": EDGES}, {"plausibility": "isolation_forest"}])
def test_the_time_limit_ends_these_searches_too(lending, kind):
    model, frame, people = lending
    recourse = model.recourse(people, reference=frame, time_limit=0.0, **kind)
    assert not recourse.answers.nodes.any()
    assert set(recourse.status) <= {"unknown", "found", "optimal"}
    for wrong in (-1, "a"):
        with pytest.raises(InvalidSpec, match="time_limit must be a number of 0 or more"):
            model.recourse(people, time_limit=wrong, **kind)


def test_with_few_changes_a_plan_that_leaves_all_causes_alone_is_found():
    """It was missed: what was tried changed more features than allowed."""
    met = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost, effects = random_causal_problem(rng)
        people = matrix[~ensemble.decide(matrix)][:6]
        causes = effects.among(column_names(encoder.axes)).total.any(axis=0)
        alone = [
            replace(axis, feature=replace(axis.feature, change="fixed"))
            if causes[list(axis.columns)].any()
            else axis
            for axis in encoder.axes
        ]
        plain = ExactSearch(ensemble, alone, cost).solve(people, max_changes=1)
        search = CausalSearch(ensemble, encoder.axes, cost, effects)
        causal = search.solve(people, max_changes=1)
        assert causal.found[plain.found].all()
        met += int((plain.found & (plain.cost > 0)).sum())
    assert met > 5


def test_plans_hold_when_each_direct_effect_is_off_against_brute_force():
    """Outcomes were perturbed, not effects: with opposite signs, weaker effects broke plans."""
    tried = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost, effects = random_causal_problem(rng)
        causes = np.argwhere(effects.direct)
        if not 0 < len(causes) <= 6:
            continue
        search = CausalSearch(ensemble, encoder.axes, cost, replace(effects, uncertainty=0.3))
        answers = search.solve(matrix)
        for shares in itertools.product((0.7, 1.0, 1.3), repeat=len(causes)):
            if 1.0 in shares and set(shares) != {1.0}:
                continue
            direct = effects.direct.copy()
            direct[tuple(causes.T)] *= shares
            total = naive.total_effects(direct)
            for i in np.flatnonzero(answers.found & (answers.cost > 0)):
                ends = naive.outcome(matrix[i], answers.values[i], total)
                assert naive.naive_votes(ensemble, np.array([ends]))[0] >= ensemble.cutoff
                tried += 1
    assert tried > 200


def test_perturbed_effects_are_the_corners_of_few_and_a_sample_of_many():
    few = CausalEffects.from_edges({("a", "b"): 1.0, ("a", "c"): -2.0})
    ways = few.perturbed(0.5)
    assert sorted(map(tuple, ways[:, 1:, 0])) == [
        (0.5, -3.0),
        (0.5, -1.0),
        (1.5, -3.0),
        (1.5, -1.0),
    ]
    assert not len(few.perturbed(0.0))
    assert not len(few.perturbed(0.5, np.array([False, True, True])))
    many = CausalEffects("abcdefghij", np.tril(np.ones((10, 10)), -1))
    assert len(many.perturbed(0.3)) == 18


def test_outcomes_of_integers_can_be_put_to_the_model(lending):
    model, frame, people = lending
    whole = next(c for c in frame if frame[c].dtype.kind == "i" and c != "Age")
    recourse = model.recourse(people, effects={("Income", whole): 1e-4, **EDGES}, reference=frame)
    found = recourse.found
    assert found.sum() > 5
    assert (model.predict(recourse.outcomes[found]) == "approved").all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_hold_what_the_model_decided_on(singles, dtype):
    """Singles, and last digits of x + a + E a, turned outcomes around."""
    forest, frame, space = singles
    frame = frame.astype(dtype)
    people = frame.head(150)
    recourse = find_recourse(
        forest,
        people,
        actions=space,
        desired="approved",
        reference=frame,
        effects=EDGES,
        budget=0.3,
    )
    found = recourse.found
    assert found.sum() > 10
    outcomes, after = recourse.outcomes[found], recourse.counterfactuals[found]
    assert (outcomes.dtypes == dtype).all() and (after.dtypes == dtype).all()
    assert (forest.predict(outcomes) == "approved").all()
    effects = CausalEffects.from_edges(EDGES, NUMBERS)
    before = people[found].to_numpy(np.float64)
    ends = effects.after(before, after.to_numpy(np.float64) - before)
    again = pd.DataFrame(ends, columns=NUMBERS, index=after.index).astype(dtype)
    assert (forest.predict(again) == "approved").all()


def test_none_at_any_cost_differs_from_none_within_the_budget():
    """Both were blamed on the budget."""
    frame = pd.DataFrame({"work": np.arange(11.0), "savings": np.arange(11.0)})
    space = ActionSpace(
        [Feature("work", change="increase"), Feature("savings", change="fixed")], limits=None
    )
    encoder = Encoder(frame, space)
    matrix = encoder.matrix(frame)
    cost = make_cost("range").fit(matrix.T, encoder.weights)
    people = np.array([[2.0, 3.0]])
    for weight, needed in ((0.5, np.nan), (0.01, np.inf)):
        effects = CausalEffects.from_edges({("work", "savings"): weight})
        answers = CausalSearch(stump_on(1, 4.0), encoder.axes, cost, effects).solve(people, 0.1)
        assert answers.status[0] == Status.NONE
        np.testing.assert_equal(answers.obstacles[0].budget, needed)
    for column, needed in ((0, np.nan), (1, np.inf)):
        problem = CellProblem(stump_on(column, 6.0), encoder.axes, cost)
        search = PlausibleSearch(problem, Plausibility().fit(matrix), matrix)
        answers = search.solve(people, 0.1)
        assert answers.status[0] == Status.NONE
        np.testing.assert_equal(answers.obstacles[0].budget, needed)


def test_no_budget_helps_says_the_sentence_too():
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.tile([0.0, 1.0], 20)})
    space = ActionSpace([Feature("a", change="fixed"), Feature("b")], desired=True, limits=None)
    model = RecourseTreeClassifier(space, max_depth=1, recourse_weight=0.0, budget=0.2)
    model.fit(frame, frame["a"] > 30)
    recourse = model.recourse(frame.head(5), effects={("b", "a"): 1e-3}, reference=frame)
    assert set(recourse.status) == {"none"}
    assert recourse[0].describe() == "No allowed change leads to class True."


def test_plausible_plans_are_found_where_efforts_add_up(lending):
    """Ways began in regions that had used up the budget; a third of these people were unknown."""
    model, frame, people = lending
    recourse = model.recourse(
        people, plausibility="isolation_forest", cost="l1", budget=1.0, reference=frame
    )
    assert recourse.found.mean() > 0.8
    assert (recourse.cost[recourse.found] <= 1.0).all()
    assert (model.predict(recourse.counterfactuals[recourse.found]) == "approved").all()


@pytest.mark.parametrize(
    ("effects", "words"),
    [
        ({("Income", "Savings"): "much"}, "must be a number, got 'much'"),
        ({("Income", "Savings"): None}, "must be a number, got None"),
        ({"Income": 1.0}, "a pair .cause, effect. of names, got 'Income'"),
        ({("Income", "Savings", "Debt"): 1.0}, "a pair"),
    ],
)
def test_wrong_weights_and_keys_are_refused_in_a_sentence(lending, effects, words):
    model, _, people = lending
    with pytest.raises(InvalidSpec, match=words):
        model.recourse(people, effects=effects)


def test_a_wrong_uncertainty_is_refused_in_a_sentence():
    effects = CausalEffects.from_edges(EDGES)
    for wrong in ("a", -1, True, float("inf")):
        with pytest.raises(InvalidSpec, match="uncertainty must be a number of 0 or more"):
            replace(effects, uncertainty=wrong)


def test_effects_are_estimated_once_for_a_model_and_its_reference(lending, monkeypatch):
    model, frame, refused = lending
    estimated, estimate = [], CausalEffects.estimate

    def counted(table):
        estimated.append(len(table))
        return estimate(table)

    monkeypatch.setattr(CausalEffects, "estimate", staticmethod(counted))
    first = [
        find_recourse(model, refused.head(n), effects="estimate", reference=frame, explain=False)
        for n in (2, 1)
    ]
    assert estimated == [1200] and first[0].cost[0] == first[1].cost[0]
    find_recourse(model, refused.head(1), effects="estimate", reference=frame.head(900))
    assert estimated == [1200, 900]

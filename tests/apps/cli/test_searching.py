"""Which plans are sought, and how what was found is counted and said."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest

from ract import load_model
from ract.apps.cli.messages import BadInput
from ract.apps.cli.searching import PlanOptions, search_sentence, search_summary, searched
from ract.data.csv import TableFormat
from tests.apps.cli.builders import NEW, SMALL

ALWAYS = {
    "budget": None,
    "n_alternatives": 0,
    "strict": False,
    "time_limit": 10.0,
    "max_nodes": None,
    "n_jobs": -1,
}


def test_what_was_not_asked_for_is_left_to_the_model():
    asked = PlanOptions(max_changes=2, strength="0.8", margin=0.1)
    assert PlanOptions().parameters(SMALL.actions, for_people=False) == ALWAYS
    found = asked.parameters(SMALL.actions, for_people=False)
    assert found == ALWAYS | {"max_changes": 2, "strength": 0.8, "margin": 0.1}


@pytest.mark.parametrize("strength", [None, "0.8", "most"])
def test_plans_that_people_read_have_ranges_and_allow_doing_more(strength):
    asked = PlanOptions(strength=strength)
    expected = asdict(asked) | {"ranges": True, "at_least": strength != "most"}
    del expected["features"], expected["forbidden"]
    expected["strength"] = {"0.8": 0.8}.get(strength, strength)
    assert asked.parameters(SMALL.actions, for_people=True) == expected


def test_features_are_restricted_in_the_space_of_the_model():
    asked = PlanOptions(features=["Income", "Debt"], forbidden=["Debt"])
    space = asked.parameters(SMALL.actions, for_people=False)["actions"]
    assert [feature.name for feature in space if feature.actionable] == ["Income"]


def test_a_count_by_hand():
    found = search_summary(Counter({"optimal": 3, "accepted": 4, "none": 1, "within": 6}))
    counts = {"accepted": 4, "optimal": 3, "none": 1}
    assert found == {"people": 8, "statuses": counts, "recourse_ratio": 0.75}
    assert list(found["statuses"]) == list(counts)
    assert search_sentence(found) == (
        "8 people: 4 accepted, 3 optimal, 1 none; 75.0% are accepted or have a plan within the "
        "budget."
    )


def test_shares_are_of_those_who_could_be_read():
    found = search_summary(Counter({"accepted": 3, "invalid": 6, "within": 2, "only supplied": 1}))
    assert found["recourse_ratio"] == 2 / 3 and found["only_supplied"] == 1
    assert "66.7% of those who could be read are accepted" in search_sentence(found)
    assert search_sentence(found).endswith("1 plans only supply missing values.")


def test_chunks_are_searched_and_counted(trees, tmp_path, monkeypatch):
    monkeypatch.setattr("ract.data.csv.files.CHUNK", 30)
    model, people = load_model(trees / "model.ract"), tmp_path / "people.csv"
    names = [f"P-{k}" for k in range(len(NEW))]
    NEW.assign(Name=names).to_csv(people, index=False)
    given = PlanOptions().parameters(model.encoder_.space, for_people=False)
    counts, what = Counter(), (model.recourse, model.encoder_, str(people), TableFormat(), "Name")
    chunks = list(searched(*what, given, counts, is_named=True))
    whole = model.recourse(NEW)
    assert [len(X) for X, _ in chunks] == [30, 30, 10]
    assert [name for X, _ in chunks for name in X.index] == names
    costs = np.concatenate([plans.cost for _, plans in chunks])
    np.testing.assert_array_equal(costs, whole.cost)
    within = int(whole.within_budget.sum())
    assert +counts == Counter(whole.status.tolist()) + Counter(within=within)
    pd.DataFrame(NEW.assign(Name=[None, *names[1:]])).to_csv(people, index=False)
    with pytest.raises(BadInput, match="--id names 'Name', which is empty for some people"):
        list(searched(*what, given, counts, is_named=True))

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from typer.testing import CliRunner

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_reasons,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.cli import app
from ract.data.datasets import load_loans
from ract.recourse.reasons.find import protected_reasons
from tests.builders import keeping_reference

LOANS = load_loans(n_people=600)
PEOPLE = LOANS.frame.head(40)


@cache
def loans_forest():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=15, random_state=0)
    return keeping_reference(forest.fit(LOANS.frame, LOANS.target), LOANS.frame)


def test_values_add_up_and_only_the_refused_have_reasons():
    reasons = loans_forest().reasons(PEOPLE, reference=LOANS.frame)
    assert len(reasons) == 40 and reasons.values.shape == (40, len(reasons.feature_names))
    np.testing.assert_allclose(reasons.values.sum(axis=1), reasons.score - reasons.base, atol=1e-12)
    refused = loans_forest().predict(PEOPLE) != "approved"
    assert np.array_equal(reasons.refused, refused) and 0 < refused.sum() < 40
    assert ((reasons.score < reasons.cutoff) == refused).all()
    for person, out in zip(reasons, refused, strict=True):
        assert bool(person.reasons) == bool(out)
        hurt = [reason.contribution for reason in person.reasons]
        assert len(hurt) <= 4 and hurt == sorted(hurt) and all(value < 0 for value in hurt)


NUMBERS = LOANS.frame[["Age", "Income", "Savings", "Debt"]].astype(float)
SPACE = ActionSpace(
    [Feature("Age", change="fixed"), *map(Feature, ["Income", "Savings", "Debt"])], limits=None
)


@pytest.mark.parametrize("kind", [RandomForestClassifier, GradientBoostingClassifier])
def test_models_of_other_libraries_have_reasons_imported_or_not(kind, tmp_path):
    model = kind(n_estimators=8, max_depth=4, random_state=0).fit(NUMBERS, LOANS.target)
    with pytest.raises(InvalidSpec, match="give reference="):
        find_reasons(model, NUMBERS.head(30), actions=SPACE, desired="approved")
    found = find_reasons(
        model, NUMBERS.head(30), actions=SPACE, desired="approved", reference=NUMBERS
    )
    np.testing.assert_allclose(found.values.sum(axis=1), found.score - found.base, atol=1e-9)
    imported = import_model(model, NUMBERS, SPACE, desired="approved", budget=np.inf)
    save_model(imported, tmp_path / "other.ract", keep_reference=NUMBERS)
    kept = load_model(tmp_path / "other.ract").reasons(NUMBERS.head(30))
    np.testing.assert_allclose(kept.values, found.values, atol=1e-12)
    assert [p.describe() for p in kept] == [p.describe() for p in found]


def test_people_of_any_library_and_those_who_cannot_be_read():
    plain = loans_forest().reasons(PEOPLE)
    assert loans_forest().reasons(pl.from_pandas(PEOPLE))[2].reasons == plain[2].reasons
    holes = PEOPLE.copy()
    holes["Income"] = holes["Income"].astype(object)
    holes.loc[holes.index[1], "Income"] = "much"
    marked = loans_forest().reasons(holes)
    assert marked.status[1] == "invalid" and "'much'" in marked[1].describe()
    assert np.isnan(marked.values[1]).all() and not marked[1].reasons
    assert marked[2].reasons == plain[2].reasons
    assert marked.to_frame()["message"].notna().sum() == 1
    with pytest.raises(InvalidData, match="'Income'"):
        loans_forest().reasons(holes, strict=True)


def test_what_cannot_be_asked_is_refused_in_one_sentence():
    with pytest.raises(InvalidSpec, match="against must be one of"):
        loans_forest().reasons(PEOPLE, against="median")
    with pytest.raises(InvalidSpec, match="max_reasons must be a whole number of 0 or more"):
        loans_forest().reasons(PEOPLE, max_reasons=-1)
    with pytest.raises(InvalidSpec, match="n_reference must be a whole number of 1 or more"):
        loans_forest().reasons(PEOPLE, n_reference=0)
    with pytest.raises(InvalidSpec, match="Reasons are those of one model"):
        find_reasons([loans_forest(), loans_forest()], PEOPLE)
    refused = LOANS.frame[loans_forest().predict(LOANS.frame) != "approved"]
    with pytest.raises(InvalidData, match="accepts nobody of the"):
        loans_forest().reasons(PEOPLE, reference=refused)
    assert isinstance(loans_forest().reasons(PEOPLE, max_reasons=2).to_frame(), pd.DataFrame)


def people(weight, n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(size=n), "age": rng.normal(size=n)})
    good = frame["income"] + weight * frame["age"] + rng.normal(0, 0.3, n) > 0
    return frame, np.where(good, "yes", "no")


def fitted(weight):
    frame, target = people(weight)
    space = ActionSpace([Feature("income"), Feature("age", change="fixed")], "yes", limits=None)
    model = RecourseTreeClassifier(space, max_depth=4, recourse_weight=0)
    return model.fit(frame, target), frame


def test_the_share_is_that_of_the_refused():
    model, frame = fitted(1.0)
    share = protected_reasons(model, frame)["age"]
    reasons = model.reasons(frame, reference=frame, responsiveness=False)
    given = [
        "age" in {r.feature for r in one.reasons} for one in reasons if one.status == "refused"
    ]
    assert share == np.mean(given) and share > 0.3


def test_an_attribute_that_no_tree_asks_about_is_none():
    frame, target = people(1.0)
    unused = ActionSpace([Feature("income"), Feature("age", use=False)], "yes", limits=None)
    model = RecourseTreeClassifier(unused, max_depth=2).fit(frame, target)
    assert protected_reasons(model, frame) == {}


def test_fit_warns(tmp_path):
    frame, target = people(1.0)
    frame.assign(good=target).to_csv(tmp_path / "data.csv", index=False)
    start, actions = 'desired = "yes"\n[features.income]\n[features.age]\n', tmp_path / "a.toml"
    for rule, warned in (('change = "fixed"', True), ("use = false", False)):
        actions.write_text(start + rule)
        result = CliRunner().invoke(app, [
            "fit", f"{tmp_path}/data.csv", "--target", "good", "--actions", str(actions),
            "--model", "tree", "--max-depth", "4", "--lasting", "0", "-o", f"{tmp_path}/m.ract",
        ])  # fmt: skip
        assert result.exit_code == 0, result.output
        assert (
            "'age' looks like a protected attribute and is a principal" in result.stderr
        ) == warned

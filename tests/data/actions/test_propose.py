"""What is proposed for a table, in Python: the same as ``ract init`` writes."""

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import ActionSpace, RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.data.csv import TableFormat

N = 200


def table(**more):
    rng = np.random.default_rng(0)
    income, debt = rng.lognormal(10, 0.4, N).round(), rng.lognormal(8, 1, N).round(2)
    frame = pd.DataFrame({
        "client": [f"C{k}" for k in range(N)], "income": income, "debt": debt, "land": "DE",
        "phone": rng.choice(["yes", "no", "Yes"], N), "sex": rng.choice(["f", "m"], N), **more,
    })  # fmt: skip
    good = income / (debt + 5000) + rng.normal(0, 0.5, N) > 2.4
    return frame.assign(good=np.where(good, "yes", "no"))


def test_python_proposes_what_the_command_writes(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "data.csv", index=False)
    proposal = ActionSpace.propose(frame, "good", desired="yes", fixed=["phone"])
    command = ["init", f"{tmp_path}/data.csv", "--target", "good", "--desired", "yes", "--fixed",
               "phone", "-o", f"{tmp_path}/actions.toml"]  # fmt: skip
    assert CliRunner().invoke(app, command).exit_code == 0
    text = (tmp_path / "actions.toml").read_text()
    assert proposal.to_toml_text() == text
    path = tmp_path / "actions.toml"
    assert ActionSpace.from_toml(path) == proposal.space
    assert TableFormat.from_toml(path) == proposal.form


def test_a_model_is_fitted_on_what_was_proposed():
    frame = table()
    proposal = ActionSpace.propose(frame, "good", desired="yes")
    X = proposal.read(frame)
    assert "client" not in X and "land" not in X and X["phone"].nunique() == 2
    model = RecourseTreeClassifier(proposal.space, max_depth=3, desired="yes")
    assert set(model.fit(X, proposal.y).predict(X)) == {"yes", "no"}


def test_a_polars_frame_will_do():
    polars = pytest.importorskip("polars")
    frame = table()
    proposal = ActionSpace.propose(polars.from_pandas(frame), "good")
    assert proposal.space == ActionSpace.propose(frame, "good").space


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "x"}, "There is no target 'x'"),
        ({"desired": "maybe"}, "desired is 'maybe'; the classes are 'no', 'yes'"),
        ({"dates": "weeks"}, "dates must be 'years' or 'days', or None, got 'weeks'"),
        ({"keep": ["x"]}, "keep names 'x'; the table has"),
        ({"increase": ["sex"]}, "'sex', whose values 'f', 'm' are text without an order"),
    ],
)
def test_what_cannot_be_meant_is_refused(given, message):
    with pytest.raises(InvalidSpec, match=message):
        ActionSpace.propose(table(), **{"target": "good", **given})


WORDS = {
    "de": ("Einkommen", "Schulden", "Alter", "Mahnungen", "arbeitslos", "Laufzeit"),
    "es": ("ingresos_netos", "deudas", "edad", "impagos", "desempleado", "plazo"),
    "fr": ("RevenuNet", "dettes", "âge", "retards", "chômage", "durée"),
    "en": ("monthly_income", "DebtRatio", "age", "TimesLate", "unemployed", "length"),
}


def borrowers(names, n=600):
    """A lender's table in which income helps, the rest harms, late payments have codes."""
    rng = np.random.default_rng(5)
    income, debt = rng.lognormal(8, 0.5, n).round(), rng.lognormal(7, 1, n).round()
    late = rng.choice([0, 1, 2, 98], n, p=[0.6, 0.2, 0.15, 0.05])
    jobless, length = rng.integers(0, 2, n), rng.integers(6, 60, n)
    score = income / 3000 - debt / 3000 - jobless - (late % 97) / 2 + rng.normal(0, 0.7, n)
    values = (income, debt, rng.integers(18, 80, n), late, jobless, length)
    return pd.DataFrame(dict(zip(names, values, strict=True))).assign(ok=score > 0)


@pytest.mark.parametrize("language", WORDS)
def test_an_analyst_would_propose_the_same(language):
    income, debt, age, late, jobless, length = names = WORDS[language]
    frame = borrowers(names)
    proposal = ActionSpace.propose(frame, "ok", desired=True)
    space, said = proposal.space, proposal.comments
    assert (space[income].change, space[debt].change) == ("increase", "decrease")
    assert space[late].change == "fixed" and proposal.form.codes == {late: (98.0,)}
    assert space[jobless].change == "decrease" and space.unused == {age}
    assert space[length].change == "fixed"
    assert "neither its name nor the data say" in said[f"features.{length}"][0]
    assert "of AUC (" in said[f"features.{age}"][0]
    text = proposal.to_toml_text()
    assert text.count("# proposed") == 6 and "98" in text.split("[table.codes]")[1]
    X = proposal.read(frame)
    assert age not in X and X[late].isna().sum() == (frame[late] == 98).sum()


def test_without_the_desired_class_only_names_speak():
    names = ("a", "b", "c", "d", "e", "f")
    frame = borrowers(names)
    assert {f.change for f in ActionSpace.propose(frame, "ok").space} == {"any"}
    ways = {f.name: f.change for f in ActionSpace.propose(frame, "ok", desired=True).space}
    assert ways == {"a": "increase", "b": "decrease", "c": "fixed", "d": "decrease",
                    "e": "decrease", "f": "fixed"}  # fmt: skip
    other = {f.name: f.change for f in ActionSpace.propose(frame, "ok", desired=False).space}
    assert (other["a"], other["b"]) == ("decrease", "increase")


def test_names_that_the_data_contradict_are_pointed_out():
    frame = borrowers(("debt", "income", "c", "d", "e", "f"))
    proposal = ActionSpace.propose(frame, "ok", desired=True)
    assert proposal.space["debt"].change == "decrease"
    assert any("look into this column" in line for line in proposal.comments["features.debt"])


def test_what_was_said_is_not_proposed_otherwise():
    frame = borrowers(WORDS["en"])
    given = {"increase": ["age"], "fixed": ["monthly_income"], "keep": ["TimesLate"]}
    proposal = ActionSpace.propose(frame, "ok", desired=True, **given)
    assert proposal.space["age"].change == "increase" and not proposal.space.unused
    assert proposal.space["monthly_income"].change == "fixed" and not proposal.form.codes


def test_columns_of_zeros_are_warned_about():
    frame = borrowers(WORDS["en"])
    frame["DebtRatio"] = frame["DebtRatio"].where(np.arange(len(frame)) % 3 > 0, 0)
    notes = ActionSpace.propose(frame, "ok", desired=True).notes
    assert any(note.startswith("'DebtRatio': 0 in 33% of the rows") for note in notes)


def test_a_letter_asks_for_no_category_that_is_not_better():
    frame = borrowers(("a", "b", "c", "d", "e", "f")).assign(
        home=np.resize(["rent", "own", "parents"], 600),
        savings=np.resize(["few", "some", "many"], 600),
    )
    proposal = ActionSpace.propose(frame, "ok", desired=True)
    assert proposal.space["home"].change == proposal.space["savings"].change == "fixed"
    assert "of which none is better; say any" in proposal.comments["features.home"][0]
    assert "list them from the lowest" in proposal.comments["features.savings"][0]
    said = " ".join(proposal.notes)
    assert "'home' (categories without an order, of which none is better)" in said

"""``ract init``: an action file that says how a table is written and what it holds."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import ActionSpace
from ract.apps.cli import app
from ract.data.csv import TableFormat
from tests.apps.cli.builders import GERMAN_FILES, SMALL, run


def test_init_writes_a_file_that_fit_takes(folder, tmp_path):
    out = tmp_path / "actions.toml"
    result = run(
        "init", folder / "data.csv", "--target", "Decision", "--desired", "approved", "-o", out,
        "--fixed", "Age", "--increase", "Income", "--json",
    )  # fmt: skip
    assert json.loads(result.stdout)["may_change"] == 7  # nor what is past or has no order
    space = ActionSpace.from_toml(out)
    assert space["Age"].change == "fixed" and space["Income"].change == "increase"
    assert space.desired == "approved" and "Decision" not in space
    printed = run("init", folder / "data.csv", "--target", "Decision", "--drop", "Age")
    assert "Age" not in ActionSpace.from_toml_text(printed.stdout)
    assert "11 features" not in printed.stdout and "10 features" in printed.stderr


def test_an_order_of_words_is_asked_for(trees):
    given = ("init", trees / "data.csv", "--target", "Decision", "--increase", "Purpose")
    result = run(*given, code=2)
    assert "the lowest first, such as order 'Purpose=Bu" in result.stderr
    values = sorted(SMALL.frame["Purpose"].unique(), reverse=True)
    written = run(*given, "--order", f"Purpose={'<'.join(values)}").stdout
    assert list(ActionSpace.from_toml_text(written)["Purpose"].categories) == values


@pytest.mark.parametrize("name", [*GERMAN_FILES, "table.parquet"])
def test_init_tells_how_a_table_is_written_and_what_its_columns_are(bank, tmp_path, name):
    path = bank / (name if "." in name else f"{name}.csv")
    out = tmp_path / "actions.toml"
    said = run("init", path, "--target", "Bewertung", "--desired", "gut", "-o", out).stderr
    assert "'Kundennummer' (a different value in each of 240 rows" in said
    assert "'Land' (the same value, 'DE', in every row)" in said
    assert "'Geburtsdatum' (dates; read as years or days" in said
    assert "are one feature: 'wohnen' (3 columns)." in said
    assert "left out of the model: 'Geschlecht' (sex or gender); leaving it out" in said
    assert "proposed to increase only: 'Einkommen'." in said
    assert "proposed to decrease only: 'Schulden'." in said
    assert " different values; leave it out, or put those of fewer than 20 people" in said
    text = out.read_text(encoding="utf-8")
    form, space = TableFormat.from_toml(out), ActionSpace.from_toml(out)
    assert set(form.drop) == {"Kundennummer", "Land", "Geburtsdatum"}
    if "." not in name:
        how = GERMAN_FILES[name]
        assert (form.delimiter, form.decimal, form.thousands) == (how["sep"], ",", ".")
        assert form.encoding == {"bom": "utf-8"}.get(name, how["encoding"])
    assert space["Einkommen"].kind == "continuous" and space["Einkommen"].upper > 20_000
    assert space["Telefon"].categories == ("nein", "ja")
    assert space["wohnen"].categories == ("eigen", "miete", "frei")
    assert not space["Geschlecht"].actionable and space.unused == {"Geschlecht"}
    assert (space["Einkommen"].change, space["Schulden"].change) == ("increase", "decrease")
    assert "# Land: the same value, 'DE', in every row." in text
    assert "[features.Geschlecht]\n# proposed to be left out of the model: a protected" in text


def with_gaps(values):
    return [None if k in (3, 50, 90) else value for k, value in enumerate(values)]


DRAWN = np.random.default_rng(3).permutation(90_000)[:120]
NAMES_ROWS = {
    "text": [f"K{k}x" for k in DRAWN],
    "text with gaps": with_gaps([f"K{k}x" for k in DRAWN]),
    "a count": np.random.default_rng(4).permutation(120) + 500,
    "a count with gaps": with_gaps(range(120)),
    "rising": np.sort(DRAWN),
    "falling": -np.sort(-DRAWN),
    "client_id": DRAWN,
}
AMOUNTS = {"whole": DRAWN, "whole with gaps": with_gaps(DRAWN.tolist())}


@pytest.mark.parametrize("name", [*NAMES_ROWS, *AMOUNTS, "decimals", "repeated"])
def test_what_differs_in_every_row_is_left_out_or_kept_with_a_word(tmp_path, name):
    """Names of rows are no features. Amounts may all differ; whole ones look like names."""
    others = {"decimals": DRAWN + 0.5, "repeated": [*DRAWN[:-1], DRAWN[0]]}
    column = (NAMES_ROWS | AMOUNTS | others)[name]
    frame = pd.DataFrame({name: column, "debt": DRAWN % 7, "label": np.arange(120) % 2})
    frame.to_csv(tmp_path / "people.csv", index=False)
    out = tmp_path / "actions.toml"
    command = ("init", tmp_path / "people.csv", "--target", "label", "-o", out)
    said = " ".join(run(*command).stderr.split())
    rows = "the 117 rows that have one" if "gaps" in name else "120 rows"
    assert (name in ActionSpace.from_toml(out)) == (name not in NAMES_ROWS)
    named = f"left out: {name!r} (a different value in each of {rows}, so it names rows and"
    kept = f"{name!r}: a different value in each of {rows}, kept as an amount; if it only names"
    assert (named in said) == (name in NAMES_ROWS)
    assert (kept in said) == (name in AMOUNTS)
    assert ("kept as an amount" in out.read_text()) == (name in AMOUNTS)


def test_dates_become_years_and_rare_categories_one(bank):
    form, space = (kind.from_toml(bank / "actions.toml") for kind in (TableFormat, ActionSpace))
    assert form.dates["Geburtsdatum"].format == "%d.%m.%Y"
    assert form.others == {"Stadt": "other"}
    assert space["Stadt"].categories == ("Köln", "Ulm", "other")
    assert 15 < space["Geburtsdatum"].lower < 30 and not space["Geburtsdatum"].actionable
    assert space["Telefon"].change == "increase"


def test_what_tells_the_target_alone_is_named(tmp_path):
    rng = np.random.default_rng(1)
    good = rng.random(200) < 0.5
    frame = pd.DataFrame({"income": rng.normal(size=200) + good, "late": np.where(good, 0, 3)})
    frame["code"] = np.where(good, "A", "B")
    frame["Risk"] = np.where(good, "good", "bad")
    frame.to_csv(tmp_path / "data.csv", index=False)
    said = run("init", tmp_path / "data.csv", "--target", "Risk", "-o", tmp_path / "a.toml").stderr
    assert "'late': tells 'Risk' almost alone (AUC 1.000); if it is known only after" in said
    assert "'code': tells 'Risk'" in said and "'income': tells" not in said


def test_spellings_of_yes_and_no_and_words_for_missing_values(tmp_path):
    n = 60
    frame = pd.DataFrame({
        "phone": ["yes", "no", "Yes"] * 20, "income": [*map(str, range(100, 100 + n - 1)), "?"],
        "Good": ["Y", "n", "y"] * 20,
    })  # fmt: skip
    frame["income"] = frame["income"].where(frame["income"] != "101", "150")
    frame.to_csv(tmp_path / "data.csv", index=False)
    given = frame.to_csv(index=False).encode()
    result = CliRunner().invoke(app, ["init", "-", "--target", "Good"], input=given)
    assert "'?' is read as a missing value; it is in 'income'." in result.stderr
    (tmp_path / "whole.csv").write_bytes(given.replace(b"?", b"170"))
    out = tmp_path / "a.toml"
    said = run("init", tmp_path / "whole.csv", "--target", "Good", "-o", out).stderr
    assert ("'phone': read 'Yes' as 'yes'." in said and "'Good': read 'y' as 'Y'." in said) or (
        "'Good': read 'Y' as 'y'." in said
    )
    form = TableFormat.from_toml(out)
    assert form.words["phone"] == {"yes": ("Yes",)} and "Good" in form.words
    assert ActionSpace.from_toml(out)["phone"].categories == ("no", "yes")


def test_usual_words_for_a_missing_value_are_named_where_they_may_be_categories(tmp_path):
    frame = pd.DataFrame({
        "region": ["EU", "NA", "nan"] * 10, "income": ["12", "NaN", "17"] * 10,
        "Risk": ["good", "bad", "bad"] * 10,
    })  # fmt: skip
    frame.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "a.toml"
    said = run("init", tmp_path / "data.csv", "--target", "Risk", "-o", out).stderr
    for word in ("NA", "nan"):
        assert f"'{word}' is read as a missing value in 'region'; if it is a category" in said
    assert "'NaN'" not in said  # nobody takes it for an income
    assert "missing values: " in said and "'region' (20), 'income' (10), of 30 rows." in said


def test_a_target_that_nobody_has_is_refused(tmp_path):
    (tmp_path / "data.csv").write_text("x,Risk\n" + "1,\n2,\n" * 20)
    said = run("init", tmp_path / "data.csv", "--target", "Risk", code=2).stderr
    assert said == f"Error: The target 'Risk' is missing in every row of {tmp_path / 'data.csv'}.\n"


@pytest.mark.parametrize(
    ("cells", "arguments", "says"),
    [
        (["4.5%", "5%"], (), "save plain numbers such as 1234.56, without '%'."),
        (["1,234", "7,001"], (), "written in two ways: '1,234' with decimals after ','"),
        (["a", "b"], ("--increase", "x"), "the lowest first, such as order 'x=a<b'."),
        (["a", "b"], ("--order", "x"), "--order takes such as 'School=none<middle<high', got 'x'."),
        (["a", "b"], ("--dates", "weeks"), "--dates must be years or days, got 'weeks'."),
        (["a", "b"], ("--keep", "y"), "--keep names 'y', but"),
        (["a", "b"], ("--decimal", "::"), "--decimal must be one character, got '::'."),
    ],
)  # fmt: skip
def test_what_init_asks(tmp_path, cells, arguments, says):
    frame = pd.DataFrame({"x": cells * 15, "Risk": ["good", "bad", "bad"] * 10})
    frame.to_csv(tmp_path / "data.csv", index=False, sep=";")
    result = run("init", tmp_path / "data.csv", "--target", "Risk", *arguments, code=2)
    assert says in result.stderr and result.stderr.count("\n") == 1

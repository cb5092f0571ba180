"""Tables as people have them, from ``ract init`` to letters, audit and certificate."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import ActionSpace
from ract.apps.cli import app
from ract.data.csv import TableFormat
from ract.io import read_model_file

N = 240


def run(*arguments, code=0, given=None):
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def german(value):
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def plain_table():
    """People of a German bank as numbers and plain words."""
    rng = np.random.default_rng(0)
    income, debt = rng.lognormal(10, 0.4, N).round(2), rng.lognormal(8, 1, N).round(2)
    home = rng.integers(0, 3, N)
    frame = pd.DataFrame({
        "Kundennummer": [f"K{k:05}" for k in range(N)], "Einkommen": income, "Schulden": debt,
        "Geburtsdatum": pd.Timestamp("1950-01-13") + pd.to_timedelta(rng.integers(0, 2e4, N), "D"),
        "Telefon": rng.choice(["ja", "nein"], N), "Geschlecht": rng.choice(["m", "w"], N),
        "Land": "DE", "Stadt": rng.choice(["Köln", "Ulm", *(f"Ort {k}" for k in range(90))], N,
                                          p=[0.3, 0.3, *[0.4 / 90] * 90]),
        **{f"wohnen_{name}": (home == k) * 1 for k, name in enumerate(["eigen", "miete", "frei"])},
    })  # fmt: skip
    frame["Bewertung"] = np.where(
        income / (debt + 5000) + rng.normal(0, 0.7, N) > 2.5, "gut", "rot"
    )
    return frame


def as_written(frame):
    money = {name: frame[name].map(german) for name in ("Einkommen", "Schulden")}
    dates = {"Geburtsdatum": frame["Geburtsdatum"].dt.strftime("%d.%m.%Y")}
    return frame.assign(**money, **dates)


WAYS = {
    "cp1252": {"sep": ";", "encoding": "cp1252"},
    "excel": {"sep": "\t", "encoding": "utf-16"},
    "bom": {"sep": ";", "encoding": "utf-8-sig"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same table in several writings, an action file and a model of the first."""
    folder, frame = tmp_path_factory.mktemp("awkward"), plain_table()
    for name, how in WAYS.items():
        as_written(frame).to_csv(folder / f"{name}.csv", index=False, **how)
    frame.to_parquet(folder / "table.parquet")
    run(
        "init", folder / "cp1252.csv", "--target", "Bewertung", "--desired", "gut", "-o",
        folder / "actions.toml", "--dates", "years", "--rare", 10, "--increase", "Telefon",
        "--keep", "Geburtsdatum",
    )  # fmt: skip
    run(
        "fit", folder / "cp1252.csv", "--target", "Bewertung", "--actions",
        folder / "actions.toml", "--model", "tree", "--max-depth", 4, "--lasting", 0,
        "-o", folder / "model.ract",
    )  # fmt: skip
    return folder


@pytest.mark.parametrize("name", [*WAYS, "table.parquet"])
def test_init_tells_how_a_table_is_written_and_what_its_columns_are(folder, tmp_path, name):
    path = folder / (name if "." in name else f"{name}.csv")
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
        how = WAYS[name]
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


def test_dates_become_years_and_rare_categories_one(folder):
    form, space = (kind.from_toml(folder / "actions.toml") for kind in (TableFormat, ActionSpace))
    assert form.dates["Geburtsdatum"].format == "%d.%m.%Y"
    assert form.others == {"Stadt": "other"}
    assert space["Stadt"].categories == ("Köln", "Ulm", "other")
    assert 15 < space["Geburtsdatum"].lower < 30 and not space["Geburtsdatum"].actionable
    assert space["Telefon"].change == "increase"


def test_the_reading_travels_with_the_model(folder, tmp_path):
    """The same people, written in four ways, get the same decisions and plans."""
    kept = read_model_file(folder / "model.ract").table
    assert kept == TableFormat.from_toml(folder / "actions.toml")
    answers = []
    for name, more in (("cp1252.csv", ()), ("excel.csv", ("--delimiter", "\t")), ("bom.csv", ()),
                       ("table.parquet", ())):  # fmt: skip
        found = []
        for command in ("predict", "recourse"):
            out = tmp_path / f"{command}.csv"
            run(command, folder / "model.ract", folder / name, "-o", out, *more)
            found.append(pd.read_csv(out))
        answers.append(found)
    decided, plans = answers[0]
    assert set(decided["prediction"]) == {"gut", "rot"} and decided["message"].isna().all()
    assert {"accepted", "optimal"} <= set(plans["status"])
    assert set(plans["feature"].dropna()) <= {"Einkommen", "Schulden", "Stadt", "Telefon", "wohnen"}
    for other, more in answers[1:]:
        pd.testing.assert_frame_equal(other, decided)
        pd.testing.assert_frame_equal(more, plans)
    says = run("predict", folder / "model.ract", folder / "excel.csv", code=2).stderr
    assert r"has no ';' in its first line, but '\t'; say what separates its columns with" in says


@pytest.fixture(scope="module")
def spoiled(folder):
    """Good rows and bad ones, in CSV and in Parquet."""
    rows = {3: ("Einkommen", "viel"), 9: ("Schulden", ""), 11: ("Geburtsdatum", "neulich"),
            20: ("Telefon", "vielleicht")}  # fmt: skip
    frame = as_written(plain_table()).head(40).astype(object)
    for row, (name, cell) in rows.items():
        frame.loc[row, name] = cell
    frame.to_csv(folder / "bad.csv", index=False, sep=";", encoding="cp1252")
    frame = frame.astype({"Einkommen": str}).replace({"": None})
    frame.to_parquet(folder / "bad.parquet")
    return sorted(rows)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_bad_rows_do_not_stop_any_command(folder, tmp_path, monkeypatch, spoiled, end):
    monkeypatch.setattr("ract.data.csv.files.CHUNK", 7)
    model, bad = folder / "model.ract", folder / f"bad.{end}"
    for command in ("predict", "recourse"):
        out = tmp_path / f"{command}.csv"
        said = run(command, model, bad, "-o", out).stderr
        assert "4 of whom could not be read" in said or "4 invalid" in said
        found = pd.read_csv(out)
        marked = found[found["message"].notna()]
        assert marked["person"].tolist() == spoiled
        assert "'Einkommen' holds 'viel', not a finite number" in marked["message"].iloc[0]
        assert "'Geburtsdatum' holds 'neulich', not a finite" in marked["message"].iloc[2]
        assert run(command, model, bad, "-o", out, "--strict", code=2).stderr.startswith("Error: ")
    out, letters = tmp_path / "plans.csv", tmp_path / "letters"
    run("recourse", model, bad, "-o", out, "--id", "Kundennummer")
    settings = tmp_path / "notice.toml"
    contact = ("--creditor", "A", "--address", "B", "--contact", "C")
    run("notice", "init", model, "-o", settings, *contact)
    run(
        "notice",
        model,
        bad,
        "-o",
        letters,
        "--reasons",
        settings,
        "--without-reasons",
        "--id",
        "Kundennummer",
    )
    plans = pd.read_csv(out)
    refused = plans[~plans["status"].isin(["accepted", "invalid"])]["person"].unique()
    assert sorted(page.stem for page in letters.iterdir()) == sorted(refused)
    for command, out in (("audit", tmp_path / "page.html"), ("certify", tmp_path / "record.json")):
        said = run(command, model, bad, "-o", out).stderr
        assert "Note: 4 of 40 rows of" in said and "cannot be read and are set aside" in said
        assert ("line 5" if end == "csv" else "row 3") in said
        assert run(command, model, bad, "-o", out, "--strict", code=2).stderr.startswith("Error: ")
    assert json.loads((tmp_path / "record.json").read_text())["everyone"]["people"] == 36


def test_people_without_a_class_are_set_aside_and_counted(folder, tmp_path):
    frame = as_written(plain_table())
    frame.loc[[4, 7], "Bewertung"] = None
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False, sep=";", encoding="cp1252")
    says = "'Bewertung' is missing in 2 of 240 rows of"
    out = tmp_path / "actions.toml"
    assert says in run("init", path, "--target", "Bewertung", "-o", out).stderr
    model = tmp_path / "m.ract"
    fit = ("fit", path, "--target", "Bewertung", "--actions", folder / "actions.toml", "--model",
           "tree", "--max-depth", 2, "--lasting", 0, "-o", model, "--json")  # fmt: skip
    result = run(*fit)
    assert says in result.stderr and json.loads(result.stdout)["people"] == 238
    audit = run("audit", model, path, "-o", tmp_path / "page.html")
    assert says in audit.stderr and "238 people" in audit.stderr


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


def test_options_of_fit(tmp_path):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"income": rng.normal(size=300), "debt": rng.normal(size=300)})
    frame["weight"] = rng.integers(1, 4, 300)
    frame["Risk"] = np.where(frame["income"] - frame["debt"] > 1, "good", "bad")
    frame.to_csv(tmp_path / "data.csv", index=False)
    fit = ("fit", tmp_path / "data.csv", "--target", "Risk", "--desired", "good", "--lasting", 0,
           "--n-estimators", 10, "--recourse-weight", 0, "--no-oob-score",
           "-o", tmp_path / "m")  # fmt: skip
    run(*fit, "--threshold", 0.65, "--class-weight", "balanced", "--weights", "weight",
        "--monotone", "income=+1", "--monotone", "debt=-1")  # fmt: skip
    model = read_model_file(tmp_path / "m").model
    assert model.ensemble_.cutoff == 0.65 and model.class_weight == "balanced"
    assert model.feature_names_in_.tolist() == ["income", "debt"]
    assert model.monotonic == {"income": 1, "debt": -1}
    run(*fit, "--class-weight", "good=3, bad=1", "--drop", "weight")
    assert read_model_file(tmp_path / "m").model.class_weight == {"good": 3.0, "bad": 1.0}
    for more, says in [
        (("--threshold", 2), "threshold must be a share between 0 and 1, or None, got 2.0."),
        (("--threshold", 0.5, "--approval-rate", 0.7), "A model has one cut; give one of"),
        (("--class-weight", "best=3"), "--class-weight must be balanced or weights such as 'bad="),
        (("--monotone", "income"), "--monotone takes such as Income=+1 or Debt=-1, got 'income'."),
        (("--weights", "w"), "--weights names 'w', but"),
    ]:  # fmt: skip
        assert says in run(*fit, *more, code=2).stderr

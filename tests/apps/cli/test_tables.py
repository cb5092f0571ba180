"""Rows that cannot be read or have no class are set aside and counted."""

import json

import pandas as pd
import pytest

from tests.apps.cli.builders import as_written, german_table, run


@pytest.fixture(scope="module")
def spoiled(bank):
    """Good rows and bad ones, in CSV and in Parquet."""
    rows = {3: ("Einkommen", "viel"), 9: ("Schulden", ""), 11: ("Geburtsdatum", "neulich"),
            20: ("Telefon", "vielleicht")}  # fmt: skip
    frame = as_written(german_table()).head(40).astype(object)
    for row, (name, cell) in rows.items():
        frame.loc[row, name] = cell
    frame.to_csv(bank / "bad.csv", index=False, sep=";", encoding="cp1252")
    frame = frame.astype({"Einkommen": str}).replace({"": None})
    frame.to_parquet(bank / "bad.parquet")
    return sorted(rows)


@pytest.mark.parametrize("end", ["csv", "parquet"])
def test_bad_rows_do_not_stop_any_command(bank, tmp_path, monkeypatch, spoiled, end):
    monkeypatch.setattr("ract.data.csv.files.CHUNK", 7)
    model, bad = bank / "model.ract", bank / f"bad.{end}"
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


def test_people_without_a_class_are_set_aside_and_counted(bank, tmp_path):
    frame = as_written(german_table())
    frame.loc[[4, 7], "Bewertung"] = None
    path = tmp_path / "holes.csv"
    frame.to_csv(path, index=False, sep=";", encoding="cp1252")
    says = "'Bewertung' is missing in 2 of 240 rows of"
    out = tmp_path / "actions.toml"
    assert says in run("init", path, "--target", "Bewertung", "-o", out).stderr
    model = tmp_path / "m.ract"
    fit = ("fit", path, "--target", "Bewertung", "--actions", bank / "actions.toml", "--model",
           "tree", "--max-depth", 2, "--lasting", 0, "-o", model, "--json")  # fmt: skip
    result = run(*fit)
    assert says in result.stderr and json.loads(result.stdout)["people"] == 238
    audit = run("audit", model, path, "-o", tmp_path / "page.html")
    assert says in audit.stderr and "238 people" in audit.stderr

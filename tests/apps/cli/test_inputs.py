"""What commands open, and how a table is written: as options say, else as the file does."""

import getpass
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.apps.cli.inputs import (
    actor,
    cost_named,
    format_of,
    format_options,
    open_actions,
    open_decider,
    open_ledger,
    open_model,
    require_libraries,
)
from ract.apps.cli.messages import BadInput
from ract.apps.cli.options import Csv
from ract.apps.ledger.store import OldLedger
from ract.data.costs import make_cost
from ract.data.csv import TableFormat
from ract.io import read_model_file
from ract.io.decider import decided
from tests.apps.cli.builders import run

OLD = Path(__file__).parents[2] / "data" / "v02" / "ledger.db"


def test_the_reading_travels_with_the_model(bank, tmp_path):
    """The same people, written in four ways, get the same decisions and plans."""
    kept = read_model_file(bank / "model.ract").table
    assert kept == TableFormat.from_toml(bank / "actions.toml")
    answers = []
    for name, more in (("cp1252.csv", ()), ("excel.csv", ("--delimiter", "\t")), ("bom.csv", ()),
                       ("table.parquet", ())):  # fmt: skip
        found = []
        for command in ("predict", "recourse"):
            out = tmp_path / f"{command}.csv"
            run(command, bank / "model.ract", bank / name, "-o", out, *more)
            found.append(pd.read_csv(out))
        answers.append(found)
    decided, plans = answers[0]
    assert set(decided["prediction"]) == {"gut", "rot"} and decided["message"].isna().all()
    assert {"accepted", "optimal"} <= set(plans["status"])
    assert set(plans["feature"].dropna()) <= {"Einkommen", "Schulden", "Stadt", "Telefon", "wohnen"}
    for other, more in answers[1:]:
        pd.testing.assert_frame_equal(other, decided)
        pd.testing.assert_frame_equal(more, plans)
    says = run("predict", bank / "model.ract", bank / "excel.csv", code=2).stderr
    assert r"has no ';' in its first line, but '\t'; say what separates its columns with" in says


def test_options_go_before_the_file_and_the_file_before_the_usual():
    file = TableFormat(delimiter=";", decimal=",")
    assert format_options(Csv(decimal=".")) == {"decimal": "."}
    assert format_of(Csv()) == TableFormat()
    assert format_of(Csv(), file) == file
    assert format_of(Csv(decimal="."), file) == TableFormat(delimiter=";", decimal=".")
    with pytest.raises(BadInput, match="^--decimal must be one character, got '::'"):
        format_of(Csv(decimal="::"))


@pytest.mark.parametrize("opened", [open_model, open_decider, open_actions])
def test_what_cannot_be_opened_is_said(tmp_path, opened):
    with pytest.raises(InvalidFile, match=f"^There is no file {tmp_path / 'none'}.$"):
        opened(tmp_path / "none")
    with pytest.raises(InvalidFile, match=f"^{tmp_path} is a folder, not a file.$"):
        opened(tmp_path)


def test_action_files_hold_the_space_and_the_writing_of_tables(bank):
    space, form = open_actions(bank / "actions.toml")
    assert space == ActionSpace.from_toml(bank / "actions.toml")
    assert form == TableFormat.from_toml(bank / "actions.toml")
    assert open_actions(None) == (None, None)


def test_models_and_their_decisions_are_opened(trees):
    people = pd.read_csv(trees / "people.csv")
    model, decider = open_model(trees / "model.ract").model, open_decider(trees / "model.ract")
    found = decided(decider, people)["prediction"]
    assert found.tolist() == model.predict(people).tolist()


@pytest.mark.parametrize("name", ["percentile", "log-percentile", "l1"])
def test_costs_are_exact_where_that_makes_a_difference(name):
    assert cost_named(name, exact=False) == name
    found = cost_named(name, exact=True)
    assert found == (name if name == "l1" else replace(make_cost(name), exact=True))


def test_an_action_file_holds_a_space_and_how_tables_are_written(tmp_path):
    path = tmp_path / "actions.toml"
    path.write_text("[features.age]\nchange = 'fixed'\n[table]\ndecimal = ','\n")
    space, form = open_actions(path)
    assert space == ActionSpace([Feature("age", change="fixed")])
    assert form == TableFormat(decimal=",")
    path.write_text("[features.age]\n[table]\ndecimal = 'comma'\n")
    with pytest.raises(InvalidSpec, match=r"actions.toml: decimal must be one character"):
        open_actions(path)


def test_the_user_acts_or_the_shell_where_there_are_no_names(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert actor() == "ada (shell)"

    def nobody():
        raise KeyError("uid 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert actor() == "shell"


@pytest.mark.parametrize("library", ["sqlalchemy", "cryptography"])
def test_a_library_that_is_not_there_is_named(monkeypatch, tmp_path, library):
    require_libraries()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InvalidSpec, match=rf'{library} is needed .*"ract\[promises\]"'):
        open_ledger(str(tmp_path / "promises.db"), "create")
    assert not list(tmp_path.iterdir())


def test_an_old_ledger_is_upgraded_only_where_that_is_allowed(tmp_path, capsys):
    path = shutil.copy(OLD, tmp_path / "old.db")
    before = path.read_bytes()
    with pytest.raises(OldLedger):
        open_ledger(str(path), "read", upgrade=False)
    assert path.read_bytes() == before and not capsys.readouterr().err
    with open_ledger(str(path), "read") as ledger:
        assert ledger.verify()
    assert capsys.readouterr().err.startswith(f"{path} is of ract 0.2; its events are signed now,")
    with open_ledger(str(path), "read", upgrade=False) as ledger:  # once
        assert ledger.verify()

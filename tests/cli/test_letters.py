"""Letters: what they say holds, they reach the right person, and no text in them is obeyed."""

import re
from dataclasses import replace
from html import unescape
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import RecourseForestClassifier, load_model, save_model
from ract.cli import app
from ract.cli.letters import letter
from ract.datasets import load_loans
from ract.recourse.plan import Change, Plan

LOANS = load_loans(800)
NEW = load_loans(70, random_state=1).frame


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("letters")
    model = RecourseForestClassifier(LOANS.actions, n_estimators=20, random_state=0)
    save_model(model.fit(LOANS.frame, LOANS.target), folder / "model.ract")
    named = NEW.assign(Name=[f"<b>{k}</b>/../\x1b[31mx" for k in range(len(NEW))])
    named.to_csv(folder / "people.csv", index=False)
    return folder


def asked(folder, letters, *more):
    return [
        "recourse", folder / "model.ract", folder / "people.csv", "--letters", letters,
        "--id", "Name", *more,
    ]  # fmt: skip


def names_of(text):
    return int(re.search(r"Reference: <b>(\d+)</b>", unescape(text))[1])


def test_one_letter_for_each_refused_person(folder, tmp_path):
    letters = tmp_path / "letters"
    result = run(*asked(folder, letters, "--n-alternatives", 1, "--budget", 0.15))
    assert result.stdout == ""
    recourse = load_model(folder / "model.ract").recourse(NEW, n_alternatives=1, budget=0.15)
    refused = np.flatnonzero(recourse.status != "accepted")
    pages = {names_of(page.read_text(encoding="utf-8")): page for page in letters.iterdir()}
    assert sorted(pages) == refused.tolist() and len(refused) > 10
    for i, page in pages.items():
        text, plan = page.read_text(encoding="utf-8"), recourse[i]
        assert page.name.startswith(f"%3Cb%3E{i}%3C%2Fb%3E")
        assert f"&lt;b&gt;{i}&lt;/b&gt;" in text and "<b>" not in text and "\x1b" not in text
        assert "http" not in text and "src=" not in text
        for change in plan.changes:
            assert change.feature in text
        assert ("Your way to" if plan.changes else "not a judgement of you") in text
    assert {bool(recourse[int(i)].changes) for i in refused} == {True, False}


WAY = re.compile(r"<table>(.*?)</table>")
ROW = re.compile(r"<tr><td>(\w+)</td><td>.*?</td><td>(.*?)</td></tr>")
NUMBER = r"<strong>([-\d.,e]+)</strong> \(anything from ([-\d.,e]+) to ([-\d.,e]+) will do\)"


def carried_out(person, steps, take):
    """Someone after the steps of a letter, at one of the values that each says will do."""
    for feature, goal in steps:
        word = re.search(r"<strong>(.*)</strong>", goal)[1]
        if (numbers := re.search(NUMBER, goal)) is not None:
            value = float(numbers[1 + take].replace(",", ""))
        elif "exactly" in goal:
            value = float(word.replace(",", ""))
        else:
            value = {"yes": True, "no": False}.get(word, word)
        person = {**person, feature: value}
    return person


def test_every_number_in_a_letter_does_what_the_letter_says(folder, tmp_path):
    """Doing a little more than a single number asked for lost the decision for one in three."""
    letters = tmp_path / "letters"
    run(*asked(folder, letters, "--n-alternatives", 1))
    after, n_ranges = [], 0
    for page in letters.iterdir():
        text = page.read_text(encoding="utf-8")
        person = NEW.iloc[names_of(text)].to_dict()
        for way in WAY.findall(text):
            steps = ROW.findall(way)
            assert steps
            for _, goal in steps:
                assert "will do" in goal or "exactly" in goal or goal.startswith("change it to")
                n_ranges += "will do" in goal
            assert ("stay within the values that will do" in text) == (" will do)" in text)
            after += [carried_out(person, steps, take) for take in (0, 1, 2)]
    people = pd.DataFrame(after).astype(NEW.dtypes.to_dict())
    assert n_ranges > 20
    assert (load_model(folder / "model.ract").predict(people) == "approved").all()


PLAN = Plan("A", "approved", "optimal", 0.2, 0.2, 0.3, (Change("Income", 4.1, 4.65, 0.2),))


def test_a_number_without_a_proved_range_is_said_to_be_exact():
    assert "raise it to exactly <strong>4.65</strong>" in letter(PLAN, "refused")
    narrow = Change("Income", 4.1, 4.65000001, 0.2, 4.65000001, 4.65000002)
    text = letter(replace(PLAN, changes=(narrow,)), "refused")
    assert "<strong>4.65000001</strong> (anything from 4.65000001 to 4.65000002 will do)" in text
    for low, high, words in ((4.65, None, "4.65 or more"), (None, 4.65, "4.65 or less")):
        text = letter(replace(PLAN, changes=(replace(narrow, low=low, high=high),)), "refused")
        assert f"({words} will do)" in text


def none(**obstacle):
    obstacle = SimpleNamespace(
        **{"proved": True, "budget": np.inf, "features": (), "options": ()} | obstacle
    )
    return letter(Plan("A", "approved", "none", np.inf, np.inf, 0.3, obstacle=obstacle), "refused")


def test_what_the_operator_barred_is_not_called_a_fact_of_life():
    both = none(features=("Age",), options=("Income", "Debt"))
    assert "<strong>Age</strong>, which nobody can be asked to change" in both
    assert "Changes of <strong>Income</strong> and <strong>Debt</strong> were left out" in both
    only = none(options=("Income",))
    assert "nobody can be asked" not in only and "limit of the rules" not in only
    assert "limit of the rules" in none(features=("Age",))


def test_letters_of_another_run_are_never_left_among_new_ones(folder, tmp_path):
    letters = tmp_path / "letters"
    run(*asked(folder, letters, "--budget", 0.1))
    old = {page.name: page.read_text(encoding="utf-8") for page in letters.iterdir()}
    (letters / "stranger.html").write_text("of somebody else")
    assert "holds" in run(*asked(folder, letters), code=2).stderr
    assert len(list(letters.iterdir())) == len(old) + 1
    run(*asked(folder, letters, "--replace"))
    new = {page.name: page.read_text(encoding="utf-8") for page in letters.iterdir()}
    assert new.keys() == old.keys() and new != old
    (letters / "ledger.csv").write_text("a,b")
    assert "'ledger.csv'" in run(*asked(folder, letters, "--replace"), code=2).stderr
    assert (letters / "ledger.csv").exists() and len(list(letters.iterdir())) == len(new) + 1


def test_letters_need_names_that_are_there_and_differ(folder, tmp_path):
    letters = tmp_path / "letters"
    people, model = tmp_path / "people.csv", folder / "model.ract"
    ask = ["recourse", model, people, "--letters", letters]
    NEW.assign(Name="same").to_csv(people, index=False)
    assert "needs --id" in run(*ask, code=2).stderr
    assert "more than one person 'same'" in run(*ask, "--id", "Name", code=2).stderr
    NEW.assign(Name=[None, *range(1, len(NEW))]).to_csv(people, index=False)
    assert "is empty for some" in run(*ask, "--id", "Name", code=2).stderr
    assert not letters.exists()
    NEW.assign(Name=["A/a" * 200 + str(k) for k in range(len(NEW))]).to_csv(people, index=False)
    run(*ask, "--id", "Name")
    assert all(len(page.name) < 255 for page in letters.iterdir())


def test_text_that_a_spreadsheet_would_run_is_quoted(folder, tmp_path):
    out, people = tmp_path / "plans.csv", tmp_path / "people.csv"
    names = ["=HYPERLINK(1)", "+1", "-2.5", "-x", "@SUM(A1)", " =1+1", "\t=1", "A\x1b[2J\x07B"]
    few = NEW.head(len(names)).assign(Name=names)
    few.to_csv(people, index=False)
    for command in ("recourse", "predict"):
        run(command, folder / "model.ract", people, "-o", out, "--id", "Name")
        table = pd.read_csv(out, dtype={"person": str})
        assert table["person"].unique().tolist() == [
            "'=HYPERLINK(1)", "+1", "-2.5", "'-x", "'@SUM(A1)", "' =1+1", "'\t=1", "A[2JB",
        ]  # fmt: skip
        assert "\x1b" not in out.read_text(encoding="utf-8")
    changes = pd.read_csv(out)
    assert changes["probability"].dtype == float
    run("predict", folder / "model.ract", people, "-o", tmp_path / "o.jsonl", "--id", "Name")
    exact = pd.read_json(tmp_path / "o.jsonl", lines=True, dtype={"person": str})
    assert exact["person"].tolist()[:2] == names[:2]  # programs get the names as they are

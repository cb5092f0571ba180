"""Whatever is wrong: one sentence on standard error, an exit code, no traceback, no half file."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import Feature, RecourseForestClassifier
from ract.apps.cli import app
from ract.apps.cli.messages import (
    BadInput,
    percent,
    print_summary,
    refuse_both,
    say_if_unrestricted,
)
from tests.apps.cli.builders import SMALL, failing, fit, german_number, run, written

DATA = SMALL.frame.assign(Decision=SMALL.target)


def test_bad_training_tables(trees, tmp_path):
    out = tmp_path / "model.ract"
    good = trees / "data.csv"
    german = DATA.assign(Income=[german_number(v) for v in DATA["Income"]])
    american = DATA.assign(Income=[f"{v:,.0f}" for v in DATA["Income"]])
    three = DATA.assign(Decision=np.where(DATA["Age"] > 50, "maybe", DATA["Decision"]))
    infinite = DATA.assign(Income=DATA["Income"].where(DATA.index != 7, np.inf))
    no_target = DATA.assign(Decision=DATA["Decision"].where(DATA.index < 0))
    umlaut = DATA.assign(Purpose="Möbel").to_csv(index=False)
    table = [
        (fit(good, out, target="decision"), "--target names 'decision'"),
        (fit(tmp_path / "nothing.csv", out), "There is no file"),
        (fit(trees, out), "is a folder without Parquet files"),
        (fit(tmp_path, out), "cannot be read as Parquet"),  # among other files
        (fit(written(tmp_path, "empty.csv", b""), out), "is empty"),
        (fit(written(tmp_path, "blank.csv", "\n"), out), "is empty"),
        (fit(written(tmp_path, "head.csv", "Income,Decision\n"), out), "has a head but no rows"),
        (fit(written(tmp_path, "latin.csv", umlaut.encode("cp1252")), out), "not utf-8 text"),
        (fit(written(tmp_path, "wide.csv", umlaut.encode("utf-16-le")), out), "not utf-8 text"),
        (fit(written(tmp_path, "zero.csv", b"a\0b,c\n1,2\n"), out), "is not text"),
        (fit(written(tmp_path, "book.xlsx", b"PK\x03\x04rest"), out), "workbook"),
        (fit(written(tmp_path, "german.csv", german), out), "spreadsheet's writing"),
        (fit(written(tmp_path, "american.csv", american), out), "'Income' holds"),
        (fit(written(tmp_path, "three.csv", three), out), "has 3 class(es)"),
        (fit(written(tmp_path, "one.csv", DATA.assign(Decision="a")), out), "has 1 class(es)"),
        (fit(written(tmp_path, "inf.csv", infinite), out), "'Income' is infinite"),
        (fit(written(tmp_path, "nt.csv", no_target), out), "'Decision' is missing in every row"),
        (fit(good, out, desired="yes"), "the classes are 'approved', 'refused'"),
        (fit(good, out, "--drop", "Nmae"), "--drop names 'Nmae'"),
        (fit(good, out, "--budget", -1), "budget must be"),
        (fit(good, out, "--model", "bush"), "--model must be"),
        (fit(good, out, "--cost", "money"), "Unknown cost"),
        (fit(good, out, "--encoding", "klingon"), "unknown"),
        (fit(written(tmp_path, "more.csv", "a,b\n1,2,3\n1,2,3\n"), out), "more values"),
        (fit(written(tmp_path, "ragged.csv", "a,b\n1,2\n1,2,3\n"), out), "."),
        (fit(written(tmp_path, "twice.csv", "a,a,Decision\n1,2,3\n"), out), "called 'a'"),
        (fit(written(tmp_path, "index.csv", ",a\n0,1\n"), out), "has no name"),
        (fit(written(tmp_path, "q.csv", 'a,"b\n1,2'), out), "."),
        (fit(written(tmp_path, "only.csv", DATA[["Decision"]]), out), "no column beside"),
        (fit(written(tmp_path, "bad.parquet", b"PAR1 and so on"), out), "Parquet"),
        (["fit", good, "--target", "Decision", "-o", out], "Say which class people want"),
    ]
    for arguments, sentence in table:
        assert sentence in failing(*arguments), arguments
    assert not out.exists()


def test_bad_action_files(trees, tmp_path):
    out = tmp_path / "model.ract"
    other = '[features.Blood]\nkind = "continuous"\n'
    for content, sentence in [
        (other, "names 'Blood', which the table does not have"),
        ("[features.Income\n", "Malformed TOML"),
        ("", "declares no feature"),
        ('[features.Income]\nchange = "up"\n', "'up' is not one of"),
        (b"\xff\xfe\x00", "not UTF-8"),
        ("[features.Purpose]\nkind = 'integer'\n", "is not a number"),
    ]:
        path = written(tmp_path, "actions.toml", content)
        assert sentence in failing(*fit(trees / "data.csv", out, "--actions", path))
    missing = fit(trees / "data.csv", out, "--actions", tmp_path / "no.toml")
    assert "There is no file" in failing(*missing)
    assert not out.exists()


def test_bad_people_and_models(trees, tmp_path):
    model, people = trees / "model.ract", trees / "people.csv"
    out = tmp_path / "plans.csv"

    def ask(model=model, people=people, *more):
        return ["recourse", model, people, "-o", out, *more]

    frame = SMALL.frame
    german = frame.assign(Income=[german_number(v) for v in frame["Income"]])
    other = pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    table = [
        (ask(model=tmp_path / "no.ract"), "There is no file"),
        (ask(model=people), "cannot be read as a model: it is not a model file"),
        (ask(model=written(tmp_path, "cut.ract", model.read_bytes()[:-100])), "damaged"),
        (ask(people=tmp_path / "no.csv"), "There is no file"),
        (ask(people=written(tmp_path, "other.csv", other)), "lacks 'Age'"),
        (ask(people=written(tmp_path, "less.csv", frame.drop(columns="Debt"))), "lacks 'Debt'"),
        (ask(people=written(tmp_path, "g.csv", german)), "spreadsheet's writing"),
        (ask(people=written(tmp_path, "p.csv", frame.assign(Purpose="Boat"))), "holds 'Boat'"),
        (ask(people=written(tmp_path, "a.csv", frame.assign(Age="old"))), "'old'"),
        (ask(people=written(tmp_path, "i.csv", frame.assign(Age=30.5))), "'Age' is integer"),
        (ask(model, people, "--forbidden", "Height"), "'Height' is not a feature"),
        (ask(model, people, "--id", "Name"), "--id names 'Name'"),
        (ask(model, people, "--margin", 2), "margin must be"),
        (["recourse", model, people, "-o", tmp_path / "plans.doc"], "must end in"),
        (["predict", model, tmp_path / "no.csv"], "There is no file"),
        (["export", tmp_path / "no.ract", "-o", tmp_path / "m.json"], "There is no file"),
        (["import", tmp_path / "no.json", people, "-o", out], "There is no file"),
        (["import", people, people, "-o", out], "must end in"),
        (["import", written(tmp_path, "m.json", "{}"), people, "-o", out], "."),
        (["import", written(tmp_path, "m.pkl", b"x"), people, "--trust", "-o", out], "be loaded"),
        (["data", "iris"], "There is no data set 'iris'"),
        (["init", trees / "data.csv", "--target", "Decision", "--fixed", "X"], "No column called"),
    ]  # fmt: skip
    for arguments, sentence in table:
        assert sentence in failing(*arguments), arguments
    assert not out.exists()


def test_a_bad_row_far_down_is_found(trees, tmp_path):
    people = pd.concat([SMALL.frame] * 10, ignore_index=True)
    people.loc[2500, "Purpose"] = "Boat"
    path = written(tmp_path, "people.csv", people)
    arguments = ("recourse", trees / "model.ract", path, "-o", tmp_path / "plans.csv")
    sentence = failing(*arguments, "--strict")
    assert f"'Boat' in line 2502 of {path}" in sentence
    assert not (tmp_path / "plans.csv").exists()


def test_results_that_cannot_be_written(trees, tmp_path, monkeypatch):
    sentence = failing(*fit(trees / "data.csv", tmp_path / "no" / "model.ract"), code=3)
    assert "No such folder" in sentence

    def full(*_):
        raise OSError(28, "No space left on device", "model.ract")

    monkeypatch.setattr(os, "replace", full)
    sentence = failing(*fit(trees / "data.csv", tmp_path / "model.ract"), code=3)
    assert "No space left on device" in sentence
    for command in ("predict", "recourse"):
        arguments = [command, trees / "model.ract", trees / "people.csv"]
        failing(*arguments, "-o", tmp_path / "out.csv", code=3)
    assert not list(tmp_path.iterdir())


def test_a_bug_is_owned_up_to(trees, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise KeyError("leaf")

    monkeypatch.setattr(RecourseForestClassifier, "fit", broken)
    sentence = failing(*fit(trees / "data.csv", tmp_path / "model.ract"), code=1)
    assert "Unexpected KeyError: 'leaf' This is a bug in ract" in sentence


def test_wrong_options_are_usage_errors():
    for arguments in (["fit"], ["recourse", "x"], ["fly"], ["data", "--n-people", "0"]):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 2 and "Usage: " in result.stderr


def started(*arguments, **given):
    return subprocess.Popen(
        [sys.executable, "-m", "ract", *map(str, arguments)],
        stderr=subprocess.PIPE, text=True, **given,
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output(trees):
    with open("/dev/full", "wb") as full:
        run = started("predict", trees / "model.ract", trees / "people.csv", stdout=full)
        _, stderr = run.communicate(timeout=120)
    assert run.returncode == 3
    assert "No space left on device" in stderr and "Traceback" not in stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(trees, tmp_path, sent):
    out = tmp_path / "plans.csv"
    run = started("recourse", trees / "model.ract", "-", "-o", out, stdin=subprocess.PIPE)
    end = time.monotonic() + 120
    while not list(tmp_path.iterdir()) and time.monotonic() < end:
        time.sleep(0.05)  # until the file has been begun
    assert list(tmp_path.iterdir()) and run.poll() is None
    run.send_signal(sent)
    _, stderr = run.communicate(timeout=60)
    assert run.returncode == 130
    assert stderr.splitlines()[-1] == "Interrupted; no file was left half written."
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_within_text_that_is_run_has_an_exit_code(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "import ract.apps.cli\n"
        "def main():\n"
        "    try:\n"
        "        exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt:\n"
        "        sys.exit(130)\n"
        "ract.apps.cli.main = main\n"
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    run = started(env={**os.environ, "PYTHONPATH": path})
    run.communicate(timeout=120)
    assert run.returncode == 130


@pytest.mark.skipif(sys.platform == "win32", reason="pipes differ")
def test_a_reader_that_has_seen_enough(trees):
    run = started("predict", trees / "model.ract", trees / "people.csv", stdout=subprocess.PIPE)
    run.stdout.close()
    _, stderr = run.communicate(timeout=120)
    assert run.returncode == 0 and "Traceback" not in stderr


def test_too_little_memory_is_not_a_bug(trees, monkeypatch):
    def no_room(*_, **__):
        raise MemoryError("Allocation failed (probably too large).")

    monkeypatch.setattr(RecourseForestClassifier, "fit", no_room)
    sentence = failing(*fit(trees / "data.csv", trees / "m.ract"), code=3)
    assert "memory" in sentence and not (trees / "m.ract").exists()


@pytest.mark.parametrize("command", ["fit", "recourse", "audit", "certify", "tradeoff"])
def test_nobody_gets_a_plan_from_an_inferred_space_without_a_word(trees, tmp_path, command):
    data = trees / "data.csv"
    train = (data, "--target", "Decision", "--desired", "approved", "--model", "tree")
    for name, n_notes in (("inferred", 1), ("model", 0)):
        model = trees / f"{name}.ract"
        actions = () if n_notes else ("--actions", trees / "actions.toml")
        arguments = {
            "fit": (*train, "--lasting", 0, "-o", tmp_path / "m.ract", "--max-depth", 2, *actions),
            "tradeoff": (*train, "-o", tmp_path / "c.csv", "--values", "0", "--cv", 2, *actions),
            "recourse": (model, data, "-o", tmp_path / "p.csv"),
            "audit": (model, data, "-o", tmp_path / "r.html"),
            "certify": (model, data),
        }[command]
        said = run(command, *arguments).stderr
        assert said.count("Note: plans may change every column") == n_notes
        assert said.count("'Age'") == n_notes


def test_a_space_that_restricts_something_needs_no_word(capsys):
    with warnings.catch_warnings():
        say_if_unrestricted([Feature("Age", change="fixed"), Feature("Debt")])
        assert capsys.readouterr().err == ""
        say_if_unrestricted([Feature("Age"), Feature("Debt")])
    said = capsys.readouterr()
    assert "without the others: 'Age', 'Debt'. Nothing was said" in said.err and not said.out


@pytest.mark.parametrize("as_json", [True, False])
def test_programs_get_json_and_people_a_sentence(capsys, as_json):
    print_summary({"people": 3, "share": 0.5}, "3 people.", as_json=as_json)
    shown = capsys.readouterr()
    expected = ('{"people": 3, "share": 0.5}\n', "") if as_json else ("", "3 people.\n")
    assert (shown.out, shown.err) == expected


def test_standard_output_takes_one_of_result_and_summary():
    for output, as_json in (("-", False), ("plans.csv", True), (None, True)):
        refuse_both(output, as_json)
    with pytest.raises(BadInput, match="needs a file: -o FILE"):
        refuse_both("-", True)


def test_shares_in_percent():
    assert [percent(part) for part in (0, 0.125, 2 / 3, 1)] == ["0.0%", "12.5%", "66.7%", "100.0%"]

"""What commands say on standard error: what they assumed, and how far they are."""

import os
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import ActionSpace
from ract._utils import progress as _progress
from ract._utils.progress import progress_bar
from ract.apps.cli import app
from ract.data.datasets import load_loans

DATA = load_loans(300)


def run(*arguments):
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("said")
    DATA.frame.assign(Decision=DATA.target).to_csv(folder / "data.csv", index=False)
    DATA.actions.to_toml(folder / "actions.toml")
    for name, more in (("inferred", ()), ("declared", ("--actions", folder / "actions.toml"))):
        run(
            "fit", folder / "data.csv", "--lasting", 0,
            "--target", "Decision", "--desired", "approved", "--model",
            "tree", "--max-depth", 3, "-o", folder / f"{name}.ract", *more,
        )  # fmt: skip
    return folder


@pytest.mark.parametrize("command", ["fit", "recourse", "audit", "certify", "tradeoff"])
def test_nobody_gets_a_plan_from_an_inferred_space_without_a_word(folder, tmp_path, command):
    data = folder / "data.csv"
    train = (data, "--target", "Decision", "--desired", "approved", "--model", "tree")
    for name, n_notes in (("inferred", 1), ("declared", 0)):
        model = folder / f"{name}.ract"
        actions = () if n_notes else ("--actions", folder / "actions.toml")
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


def test_an_order_of_words_is_asked_for(folder):
    given = ("init", folder / "data.csv", "--target", "Decision", "--increase", "Purpose")
    result = CliRunner().invoke(app, [str(one) for one in given])
    assert result.exit_code == 2
    assert "the lowest first, such as order 'Purpose=Bu" in result.stderr
    values = sorted(DATA.frame["Purpose"].unique(), reverse=True)
    written = run(*given, "--order", f"Purpose={'<'.join(values)}").stdout
    assert list(ActionSpace.from_toml_text(written)["Purpose"].categories) == values


def test_a_long_run_without_a_terminal_prints_a_line_now_and_then(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    with progress_bar("Searching", 200) as report:
        for done in range(1, 101):
            now[0] += 1
            report(done)
    assert capsys.readouterr().err.splitlines() == [
        "Searching: 15% done.", "Searching: 30% done.", "Searching: 45% done.",
    ]  # fmt: skip


def test_training_people_are_not_called_held_out(folder, tmp_path):
    run("audit", folder / "declared.ract", folder / "data.csv", "-o", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "300 of these people are equal to people of the training table" in page
    assert "of 300 people are" in page and "held-out" not in page


def test_control_characters_do_not_reach_the_page(folder, tmp_path):
    groups = ["A\x1b[31m", "B\u202e"] * 150
    frame = pd.read_csv(folder / "data.csv").assign(Group=groups)
    frame.to_csv(tmp_path / "data.csv", index=False)
    run(
        "audit", folder / "declared.ract", tmp_path / "data.csv", "--groups", "Group",
        "-o", tmp_path / "r.html",
    )  # fmt: skip
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert ">A[31m<" in page and "\x1b" not in page and "\u202e" not in page


def test_predicting_loads_no_training_and_no_search(folder, tmp_path):
    """Importing scikit-learn's models and the searches took longer than the prediction."""
    script = (
        "import sys; from ract.apps.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    arguments = ["predict", folder / "declared.ract", folder / "data.csv", "-o", tmp_path / "o.csv"]
    found = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True, text=True, check=True, env=os.environ,
    )  # fmt: skip
    loaded = set(found.stderr.split())
    heavy = {"sklearn", "scipy.stats", "ract.recourse.find", "joblib", "jinja2"}
    assert "ract.trees.ensemble" in loaded and not heavy & loaded

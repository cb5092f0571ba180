"""What commands say on standard error: what they assumed."""

import warnings

import pytest

from ract import Feature
from ract.apps.cli.failures import BadInput
from ract.apps.cli.messages import (
    percent,
    print_summary,
    progress,
    refuse_both,
    say_if_unrestricted,
)
from tests.apps.cli.builders import run


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


def test_progress_is_said_on_standard_error_or_not_at_all(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("ract._utils.progress.monotonic", lambda: now[0])
    for show in (True, False):
        with progress("Searching", show=show) as done:
            now[0] += 100
            done(0.25)
        shown = capsys.readouterr()
        assert shown.err == ("Searching: 25% done.\n" if show else "") and not shown.out

"""The progress bar goes to the error stream and says how much is done."""

import sys

from ract._utils import progress as _progress
from ract._utils.progress import progress_bar, track


def on_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")


def test_items_pass_through_and_move_the_bar_by_their_size(capsys, monkeypatch):
    on_a_terminal(monkeypatch)
    assert list(track(["a", "bcd"], 4, "Reading", size=len)) == ["a", "bcd"]
    shown = capsys.readouterr()
    assert "Reading" in shown.err and "100%" in shown.err and not shown.out


def test_a_share_is_reported_and_nothing_is_shown_unless_asked(capsys, monkeypatch):
    on_a_terminal(monkeypatch)
    with progress_bar("Searching") as report:
        report(0.5)
    assert "50%" in capsys.readouterr().err
    with progress_bar("Searching", show=False) as report:
        report(0.5)
    assert not capsys.readouterr().err


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

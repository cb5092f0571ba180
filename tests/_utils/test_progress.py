"""The progress bar goes to the error stream and says how much is done."""

import sys

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

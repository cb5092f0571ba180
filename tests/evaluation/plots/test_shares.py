"""Displays of shares and promises: what is drawn is what was counted."""

import matplotlib as mpl
import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from ract._utils.errors import InvalidSpec
from ract.evaluation.metrics import recourse_report, sendable
from ract.evaluation.plots import (
    GroupDisplay,
    PromisesDisplay,
    SendableDisplay,
)

mpl.use("Agg")


def test_sendable_shares_are_those_that_were_counted(forest, loans, ax):
    sent = sendable(forest, loans.frame[500:], groups="Education")
    SendableDisplay.from_sendable(sent, ax=ax)
    drawn = np.asarray(ax.containers[0].lines[0].get_xdata(), float)
    assert drawn[0] == pytest.approx(sent.share)
    assert len(drawn) == 2 + len(sent.checks) and len(ax.containers) == 4


def test_groups_have_their_intervals(forest, loans, ax):
    report = recourse_report(forest, loans.frame[500:], groups="Education")
    GroupDisplay(report).plot(metric="mean cost", ax=ax)
    rows = report[report["metric"] == "mean cost"]
    drawn = np.asarray(ax.lines[0].get_xdata(), float)
    np.testing.assert_allclose(drawn, rows["value"][1:].astype(float))
    with pytest.raises(InvalidSpec, match="the report has 'accepted'"):
        GroupDisplay(report).plot(metric="moon")
    display = GroupDisplay.from_estimator(forest, loans.frame[500:], groups="Guarantor", ax=ax)
    assert set(display.report["group"]) == {"everyone", False, True}


@pytest.mark.parametrize("needed", [0.6, np.nan])
def test_a_promise_is_a_line_to_what_its_plan_wins(ax, needed):
    table = pd.DataFrame({
        "verdict": ["kept", "broken", "broken", "unknown", "kept"],
        "accepted": [True, False, True, True, True],
        "strength": [0.9, 0.4, 0.65, 0.7, 0.6],
        "needed": needed,
    })  # fmt: skip
    PromisesDisplay(table).plot(ax=ax)
    ends = [segment[:, 1] for lines in ax.collections for segment in lines.get_segments()]
    start = 0 if np.isnan(needed) else needed
    assert sorted(map(tuple, ends)) == sorted((start, won) for won in table["strength"])
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said[:4] == [
        "kept (2)", "broken: the plan is refused (1)", "broken: doing more is refused (1)",
        "not proved (1)",
    ]  # fmt: skip
    assert len(said) == 4 + (needed == 0.6)
    assert ax.get_title() == "5 open promises: 2 kept, 3 by exception"


def test_no_promises_are_drawn_as_none(ax):
    columns = ["verdict", "accepted", "strength", "needed"]
    PromisesDisplay(pd.DataFrame([], columns=columns)).plot(ax=ax)
    assert ax.get_title().startswith("0 open promises") and not ax.collections

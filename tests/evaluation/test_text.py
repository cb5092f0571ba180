"""Trees in words."""

import matplotlib as mpl
import matplotlib.colors
import matplotlib.figure
import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract.data.datasets import load_loans
from ract.evaluation.text import export_text

mpl.use("Agg")


@pytest.fixture(scope="module")
def model():
    loans = load_loans(n_people=1000)
    return RecourseTreeClassifier(loans.actions, recourse_weight=1.0, max_depth=4).fit(
        loans.frame, loans.target
    )


def leaf_lines(text):
    return [line for line in text.splitlines() if "%" in line]


def test_text_has_every_leaf_and_marks_those_for_recourse(model):
    text = export_text(model)
    ensemble, leaves = model.ensemble_, model.ensemble_.leaves
    assert len(leaf_lines(text)) == len(leaves)
    against = (ensemble.label[leaves] == 1) & (ensemble.value[leaves] < 0.5)
    assert text.count("for recourse") == against.sum() > 0
    assert text.count("refused (") == (ensemble.label[leaves] == 0).sum()


def test_text_of_each_kind_of_split():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "i": rng.integers(0, 4, 300),
            "x": rng.choice([-1.5, -0.501, 0.493, 2.0], 300),
            "c": rng.choice(["red", "blue", "green"], 300),
            "b": rng.random(300) < 0.5,
        }
    )
    actions = ActionSpace([Feature(name) for name in frame], desired=True, limits=None)
    for y, left, right in (
        (frame["i"] > 1, "i <= 1", "i >= 2"),
        (frame["c"] == "red", "c is not red", "c is red"),
        (frame["b"], "b is 0", "b is 1"),
        (frame["x"] > 0.0, "x <= -0.00", "x > -0.00"),
    ):
        model = RecourseTreeClassifier(actions, recourse_weight=0, max_bins=300)
        text = export_text(model.fit(frame, y.to_numpy()))
        assert text.splitlines()[0] == f"|--- {left}"
        assert f"|--- {right}" in text.splitlines()


def test_deep_branches_are_cut(model):
    assert export_text(model, max_depth=1).count("...") == 2

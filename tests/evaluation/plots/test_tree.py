"""Trees, drawn."""

import sys

import matplotlib as mpl
import matplotlib.colors
import matplotlib.figure
import pytest

from ract import RecourseTreeClassifier
from ract.data.datasets import load_loans
from ract.evaluation.plots import plot_tree
from ract.evaluation.plots.style import DESIRED, RECOURSE, UNDESIRED
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


def test_drawing_has_a_box_per_node_and_colours_by_label(model, tmp_path):
    figure = mpl.figure.Figure()
    ax = plot_tree(model, ax=figure.subplots())
    boxes = [t.get_bbox_patch().get_facecolor() for t in ax.texts]
    assert len(boxes) == len(model.ensemble_.feature)
    colours = [mpl.colors.to_hex(c) for c in boxes]
    text = export_text(model)
    assert colours.count(RECOURSE) == text.count("for recourse")
    assert colours.count(UNDESIRED) == text.count("refused (")
    assert colours.count(DESIRED) + colours.count(RECOURSE) == (
        len(leaf_lines(text)) - text.count("refused (")
    )
    figure.savefig(tmp_path / "tree.png")
    assert (tmp_path / "tree.png").stat().st_size > 5_000
    assert len(plot_tree(model, ax=figure.subplots(), max_depth=1).texts) == 3


def test_a_missing_matplotlib_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "ract\[plot\]"'):
        plot_tree(model)

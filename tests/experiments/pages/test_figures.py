"""The paper's figures."""

import pandas as pd
import pytest

from experiments.data import DATA
from experiments.pages.figures import draw_figures
from experiments.paper.recorded import IMPORTANCE, Recorded
from experiments.paper.settings import METHODS
from tests.experiments.builders import run_small


def test_recorded_results_of_other_features_leave_the_figure_without_them(tmp_path, small):
    pytest.importorskip("matplotlib")
    store = run_small(tmp_path / "ours", n_folds=1)
    file = tmp_path / "recorded" / IMPORTANCE.format(DATA["compas"].letter)
    file.parent.mkdir(parents=True)
    theirs = {"Method": list(METHODS), "Alpha": 0.06, "Fold": 1, "other": 1.0}
    pd.DataFrame(theirs).to_csv(file, index=False)
    draw_figures(store, Recorded(tmp_path / "recorded"), tmp_path / "figures")
    assert (tmp_path / "figures" / "importance.svg").exists()

"""The comparison with the recorded results."""

import pytest

from experiments.pages.comparison import comparison_page
from experiments.pages.tables import model_or_search, paper_tables
from experiments.paper.recorded import Recorded
from ract._utils.errors import InvalidSpec
from tests.experiments.builders import run_small


def test_without_recorded_results_the_page_says_so(tmp_path, small, monkeypatch):
    monkeypatch.delenv("RACT_RECORDED", raising=False)
    store = run_small(tmp_path, n_folds=1)
    assert Recorded.find(None) is None
    assert "not at hand" in comparison_page(store, None)
    assert "Accuracy" in paper_tables(store, None)
    assert "COMPAS" in model_or_search(store)
    with pytest.raises(InvalidSpec, match="no folder of recorded results"):
        Recorded.find(tmp_path / "nowhere")

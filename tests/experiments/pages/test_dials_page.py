"""Accuracy against lasting recourse, over weight and floor."""

import pandas as pd
import pytest

from experiments.pages.dials_page import dials_page, draw_dials, summary
from experiments.store import Store


@pytest.fixture
def store(tmp_path):
    rows = [
        {"data": "bail", "split": split, "people": 40, "min_samples_leaf": 20,
         "recourse_weight": weight, "min_leaf_share": floor, "auc": 0.6 + split / 10,
         "accuracy": 0.7 - weight, "accepted": 0.5, "strength": strength,
         "lasting": weight + (strength - 0.6) * (1 - 2 * floor)}
        for split in (0, 1)
        for weight, floor in ((0.0, 0.0), (0.1, 0.0), (0.1, 0.5))
        for strength in (0.6, 0.8)
    ]  # fmt: skip
    (tmp_path / "defaults").mkdir()
    pd.DataFrame(rows).to_csv(tmp_path / "defaults" / "bail.csv", index=False)
    return Store(tmp_path)


def test_means_are_over_splits_and_the_best_over_strengths(store):
    table = summary(store.read("defaults", "bail"))
    assert table["auc"].tolist() == pytest.approx([0.65] * 3)
    assert table["best"].tolist() == pytest.approx([0.2, 0.3, 0.1])


def test_the_page_has_a_table_and_a_picture_for_what_was_run(store, tmp_path):
    pytest.importorskip("matplotlib")
    drawn = draw_dials(store, tmp_path / "figures")
    assert list(drawn) == ["dials-bail"] and drawn["dials-bail"].exists()
    text = dials_page(store, {"dials-bail": "figures/dials-bail.svg"})
    assert "**Bail**, 2 splits" in text and "figures/dials-bail.svg" in text
    assert "| 20 | 0.1 | 0 | 0.650 | 0.600 | 0.50 | 0.10 | 0.30 | 0.30 |" in text
    assert "Most lasting recourse: 0.30 (weight 0.1, floor 0), with AUC 0.650" in text
    assert "the highest accuracy (weight 0, floor 0) 0.700, with lasting recourse 0.20" in text
    assert "FICO" not in text
    assert dials_page(Store(tmp_path / "empty")) == ""

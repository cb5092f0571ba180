"""The benchmark's page."""

import pandas as pd

from ract.experiments.pages.benchmark_page import dominated_by


def test_a_dominating_model_is_named():
    rows = pd.DataFrame(
        {
            "Model": ["ract", "forest", "xgboost"],
            "AUC": [0.8, 0.81, 0.9],
            "Recourse": [0.9, 0.8, 0.5],
            "Unknown": [0.0, 0.1, 0.3],
        }
    )
    assert dominated_by(rows, "ract") == []
    assert dominated_by(rows, "ract", doubts=True) == ["forest"]
    assert dominated_by(rows.assign(Recourse=[0.5, 0.8, 0.6]), "ract") == ["forest", "xgboost"]

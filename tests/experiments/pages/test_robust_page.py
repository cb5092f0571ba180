"""Tables of what survives a change of learner, from rows that are known."""

import pandas as pd

from experiments.pages.robust_page import robust_page


def test_nothing_is_shown_of_what_is_not_there(tmp_path):
    assert robust_page(tmp_path) == ""


def test_shares_are_of_all_refused_and_of_those_with_a_plan(tmp_path):
    row = {"table": "t", "model": "m", "plans": "p", "auc": 0.8, "refused": 50, "found": 20}
    rows = [
        row | {"same": 20, "LightGBM": 10, "logistic": 5, "features": 0, "drift": None},
        row | {"same": 20, "LightGBM": 0, "logistic": 5, "features": 0, "drift": None},
    ]
    (tmp_path / "robust_to").mkdir()
    pd.DataFrame(rows).to_csv(tmp_path / "robust_to" / "rows.csv", index=False)
    text = robust_page(tmp_path)
    line = "| t | m | p | 0.800 | 100 | 0.40 | 0.40 (1.00) | 0.10 (0.25) | 0.10 (0.25) |"
    assert line in text and "DiRARTE" not in text


def test_promises_protocol_and_pool(tmp_path):
    promise = {
        "table": "t",
        "promise": "forest, all",
        "of": 0.7,
        "strength": 0.8,
        "refused": 10,
        "promised": 4,
        "same": 4,
        "LightGBM": 3,
        "logistic": 2,
        "all": 1,
    }
    dirarte = {
        "table": "t",
        "model": "forest",
        "strength": 0.0,
        "draw": 1,
        "refused": 4,
        "plans": 4,
        "valid": 1,
        "cost": 8,
        "changes": 6,
        "proved": 4,
        "seconds": 2,
    }
    pool = {
        "table": "t",
        "limit": 0.01,
        "offered": 3,
        "refused": 12,
        "today": 0.2,
        "rise": 0.004,
        "rise high": 0.009,
        "rise outside": 0.003,
    }
    for name, row in (("promise", promise), ("dirarte", dirarte), ("pool_risk", pool)):
        (tmp_path / name).mkdir()
        pd.DataFrame([row]).to_csv(tmp_path / name / "rows.csv", index=False)
    text = robust_page(tmp_path)
    assert "| t | forest, all | 70% | 1 of 1 | 0.40 | 1.00 | 0.75 | 0.50 | 0.25 |" in text
    assert "| t | forest | cheapest | 1 | 4 | 1.00 | 0.25 | 2.00 | 1.5 | 1.00 | 0.50 |" in text
    assert "| t | +1 points | 0.25 | 0.200 | 0.004 | 0.009 | 0.003 |" in text

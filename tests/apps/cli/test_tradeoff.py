"""``ract tradeoff``: accuracy against recourse, as a table and a picture."""

import json
from io import StringIO

import pandas as pd

from tests.apps.cli.builders import run


def test_a_trade_off_is_a_table_and_a_picture(folder, tmp_path):
    out, picture = tmp_path / "curve.csv", tmp_path / "curve.svg"
    result = run(
        "tradeoff", folder / "data.csv", "--target", "Decision",
        "--actions", folder / "actions.toml", "--model", "tree", "--values", "0, 0.1,1",
        "--cv", 2, "-o", out, "--plot", picture, "--json",
    )  # fmt: skip
    table = pd.read_csv(out)
    assert table["recourse_weight"].tolist() == [0, 0.1, 1]
    assert len(json.loads(result.stdout)["rows"]) == 3
    assert "<svg" in picture.read_text(encoding="utf-8")
    result = run(
        "tradeoff", folder / "data.csv", "--target", "Decision", "--values", "0", "--cv", 2,
        "--model", "tree", "--plot", tmp_path / "curve.doc", code=2,
    )  # fmt: skip
    assert "writes PNG, SVG or PDF" in result.stderr


def test_a_trade_off_shows_plans_that_last(folder):
    given = ("tradeoff", folder / "data.csv", "--target", "Decision", "--actions",
             folder / "actions.toml", "--model", "tree", "--values", "0.1", "--cv", 2)  # fmt: skip
    table = pd.read_csv(StringIO(run(*given, "--strength", "most").stdout))
    assert 0 <= table["lasting low"][0] <= table["lasting"][0] <= table["lasting high"][0] <= 1
    result = run(*given, "--strength", "strong", code=2)
    assert "strength must be a share from 0 to 1, or 'most', or None, got 'strong'" in result.stderr

"""``ract leak``: how well a copy agrees, as Python measures it."""

import json

import pandas as pd

from ract import load_model
from ract.evaluation import measure_leak
from tests.apps.cli.builders import run


def test_the_table_is_that_of_python(trees, tmp_path):
    out = tmp_path / "leak.csv"
    asked = ("leak", trees / "model.ract", trees / "people.csv", "--queries", 20)
    result = run(*asked, "-o", out, "--json")
    people = pd.read_csv(trees / "people.csv")
    expected = measure_leak(load_model(trees / "model.ract"), people, [10, 20])
    pd.testing.assert_frame_equal(pd.read_csv(out), expected.table)
    last = expected.table[expected.table["queries"] == 20]
    fidelity = dict(zip(last["given"], last["fidelity"].round(4), strict=True))
    assert json.loads(result.stdout) == {"queries": 20, "fidelity": fidelity}

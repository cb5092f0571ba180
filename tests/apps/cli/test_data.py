"""``ract data``: a list of data sets, and each as a table."""

import pandas as pd

from ract import ActionSpace
from ract.data.datasets import load_loans
from tests.apps.cli.builders import run


def test_data_lists_and_prints():
    assert run("data").stdout.split()[0] == "loans"
    printed = run("data", "loans", "--n-people", 3)
    assert printed.stdout.count("\n") == 4 and "'approved'" in printed.stderr


def test_people_are_named_and_actions_written(tmp_path):
    table, actions = tmp_path / "loans.csv", tmp_path / "loans.toml"
    run(
        "data", "loans", "-o", table, "--n-people", 5, "--random-state", 3, "--id", "Name",
        "--actions", actions,
    )  # fmt: skip
    loans, found = load_loans(5, random_state=3), pd.read_csv(table)
    assert found.columns.tolist() == ["Name", *loans.frame.columns, "Decision"]
    assert found["Name"].tolist() == [f"P-{k}" for k in range(1, 6)]
    pd.testing.assert_frame_equal(found[list(loans.frame)], loans.frame, check_dtype=False)
    assert ActionSpace.from_toml(actions) == loans.actions

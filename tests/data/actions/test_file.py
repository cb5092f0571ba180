"""Action files: both parts of one."""

import pytest

from ract import ActionSpace, Feature
from ract._utils.errors import InvalidSpec
from ract.data.actions.file import read_action_file
from ract.data.csv import TableFormat


def test_a_file_holds_a_space_and_how_tables_are_written(tmp_path):
    path = tmp_path / "actions.toml"
    path.write_text("[features.age]\nchange = 'fixed'\n[table]\ndecimal = ','\n")
    space, form = read_action_file(path)
    assert space == ActionSpace([Feature("age", change="fixed")])
    assert form == TableFormat(decimal=",")
    path.write_text("[features.age]\n[table]\ndecimal = 'comma'\n")
    with pytest.raises(InvalidSpec, match=r"actions.toml: decimal must be one character"):
        read_action_file(path)

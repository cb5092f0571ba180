"""TOML files, and what is wrong with one."""

import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.toml import parsed_toml, read_toml


def test_mistakes_have_a_line_and_the_name_of_the_file(tmp_path):
    assert parsed_toml("a = 1") == {"a": 1}
    with pytest.raises(InvalidSpec, match="Malformed TOML: .*line 2"):
        parsed_toml("a = 1\nb = [")
    path = tmp_path / "some.toml"
    path.write_text("a = = 1")
    with pytest.raises(InvalidSpec, match="some.toml: Malformed TOML"):
        read_toml(path, parsed_toml)


@pytest.mark.parametrize("text", ["a = " + "9" * 5000, "a = " + "[" * 100_000])
def test_what_is_beyond_all_bounds_is_refused(text):
    with pytest.raises(InvalidSpec, match="beyond all bounds"):
        parsed_toml(text)

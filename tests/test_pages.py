"""Every Python and TOML block of the README and the docs works as printed."""

import re
from pathlib import Path

import pytest

from ract import ActionSpace

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language):
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for k, match in enumerate(re.finditer(rf"```{language}\n(.*?)```", text, re.DOTALL)):
            yield pytest.param(match[1], id=f"{page.name}-{k}")


@pytest.mark.parametrize("code", list(blocks("python")))
def test_python_block_runs(code):
    exec(compile(code, "block", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("text", list(blocks("toml")))
def test_toml_block_is_an_action_file(text):
    assert len(ActionSpace.from_toml_text(text)) > 0


def test_the_readme_has_an_example():
    assert list(blocks("python")) and list(blocks("toml"))

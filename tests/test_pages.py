"""Every Python and TOML block of the README and the docs works as printed."""

import re
from pathlib import Path

import pytest

from ract import ActionSpace

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language, pages=PAGES):
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for k, match in enumerate(re.finditer(rf"```{language}\n(.*?)```", text, re.DOTALL)):
            yield pytest.param(match[1], id=f"{page.name}-{k}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_one_after_the_other(page):
    names = {"__name__": "__main__"}
    for k, block in enumerate(blocks("python", [page])):
        exec(compile(block.values[0], f"{page.name} block {k}", "exec"), names)


@pytest.mark.parametrize("text", list(blocks("toml")))
def test_toml_block_is_an_action_file(text):
    assert len(ActionSpace.from_toml_text(text)) > 0


def test_the_readme_has_an_example():
    assert list(blocks("python")) and list(blocks("toml"))

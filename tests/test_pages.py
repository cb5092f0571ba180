"""Pages are true: their blocks work as printed, and they list the names and version there are."""

import re
import shlex
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ract
from ract import ActionSpace
from ract.apps.cli import app
from ract.recourse.calibration import calibrate

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```(python|sh|toml)\n(.*?)^```\n(?:\n(?:prints\n\n)?((?:^ {4}[^\n]*\n)+))?",
    re.DOTALL | re.MULTILINE,
)


def blocks(page):
    """Language, text and printed result (or "") of every block of a page."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def agree(printed, shown):
    """Whether a page shows what was printed, lines broken anywhere and "..." for what it omits."""
    shown = map(re.escape, " ".join(shown.split()).split("..."))
    return re.fullmatch(".*".join(shown), " ".join(printed.split()))


def commands(text):
    """Lines of a shell block that call ract, continued lines joined, comments left out."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line.startswith("ract ")]


def run(line):
    """Run one command; "< file" and "> file" work as in a shell."""
    words = shlex.split(line, comments=True)
    given, out = None, None
    if "<" in words:
        at = words.index("<")
        given, words = Path(words[at + 1]).read_bytes(), words[:at] + words[at + 2 :]
    if ">" in words:
        at = words.index(">")
        out, words = Path(words[at + 1]), words[:at] + words[at + 2 :]
    result = CliRunner().invoke(app, words[1:], input=given)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    if out is not None:
        out.write_bytes(result.stdout_bytes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_run_one_after_the_other(page, tmp_path, monkeypatch, request, capsys):
    monkeypatch.chdir(tmp_path)
    rough = partial(calibrate, n_refused=60)
    monkeypatch.setattr("ract.calibrate", rough)
    if page.name not in ("choose.md", "lasting.md"):  # the others only need a curve, however rough
        monkeypatch.setattr("ract.recourse.for_models.calibrate", rough)
    if page.name == "reproduce.md":
        monkeypatch.setenv("RACT_DATA_HOME", str(request.getfixturevalue("data_home")))
    names = {"__name__": "__main__"}
    for k, (language, text, shown) in enumerate(blocks(page)):
        if language == "python":
            capsys.readouterr()
            exec(compile(text, f"{page.name} block {k}", "exec"), names)
            printed = capsys.readouterr().out
            assert not shown or agree(printed, shown), f"{page.name} shows\n{shown}\nnot\n{printed}"
        elif language == "sh":
            for line in commands(text):
                run(line)
        else:
            assert len(ActionSpace.from_toml_text(text)) > 0


def test_the_pages_have_examples_of_every_kind():
    found = [language for page in PAGES for language, *_ in blocks(page)]
    assert {"python", "sh", "toml"} == set(found)
    shown = {page.name for page in PAGES for *_, text in blocks(page) if text}
    assert {"README.md", "index.md", "reasons.md", "which-model.md"} <= shown
    readme = [line for language, text, _ in blocks(PAGES[0]) if language == "sh"
              for line in commands(text)]  # fmt: skip
    assert [line.split()[1] for line in readme] == [
        "data", "init", "fit", "data", "recourse", "notice", "notice", "audit",
    ]  # fmt: skip


def test_citation_and_changelog_name_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {ract.__version__}\n" in citation
    releases = re.findall(r"^## \[(\d.*?)\]", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)
    assert releases[0] == ract.__version__


def test_the_first_page_is_short():
    assert len(PAGES[0].read_text(encoding="utf-8").splitlines()) <= 120

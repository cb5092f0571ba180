"""What is public: the lists of the sub-packages, and nothing deeper."""

import importlib
import inspect
import re
import runpy
from pathlib import Path

import pytest

from ract._utils.renamed import MOVED

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
API = runpy.run_path(str(ROOT / "docs" / "write_api.py"))


def test_the_reference_is_what_the_packages_list():
    written = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    assert written == API["api_page"](), "run python docs/write_api.py"


@pytest.mark.parametrize("package", API["PACKAGES"])
def test_public_names_exist_and_are_described(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert name == "__version__" or inspect.getdoc(getattr(module, name)), name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_import_public_names_only(page):
    text = page.read_text(encoding="utf-8")
    for module, names in re.findall(r"from (ract[\w.]*) import (\([^)]*\)|[^\n#]+)", text):
        assert module in API["PACKAGES"], f"{module} in {page.name}"
        public = importlib.import_module(module).__all__
        for name in re.findall(r"\w+", re.sub(r"\w+ as ", "", names)):
            assert name in public or name in ("as",), f"{module}.{name} in {page.name}"


def is_public(name):
    """Whether a dotted name is a public module, or begins with a public name of one."""
    parts = name.split(".")
    parents = {k: ".".join(parts[:k]) for k in range(1, len(parts))}
    return name in API["PACKAGES"] or any(
        module in API["PACKAGES"] and parts[k] in importlib.import_module(module).__all__
        for k, module in parents.items()
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_public_names_only(page):
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`(ract(?:\.\w+)+)", text)
    assert [name for name in named if not is_public(name)] == []


def test_the_gallery_shows_every_drawing():
    gallery = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    cells = "".join(re.findall(r"```\{code-cell\} python3\n(.*?)```", gallery, re.S))
    for name in importlib.import_module("ract.evaluation.plots").__all__:
        assert re.search(rf"^{name}[.(]", cells, re.MULTILINE), name


@pytest.mark.parametrize("old", sorted(MOVED))
def test_modules_of_0_2_are_found_by_their_old_names(old):
    new = importlib.import_module(MOVED[old])
    stand_in = importlib.import_module(old)
    names = [name for name in getattr(new, "__all__", vars(new)) if not name.startswith("_")]
    if not names:
        return
    name = names[0]
    vars(stand_in).pop(name, None)
    with pytest.warns(FutureWarning, match=rf"{old}.{name} is now ract"):
        assert getattr(stand_in, name) is getattr(new, name)


def test_what_is_gone_says_so():
    with pytest.raises(ImportError, match=r"ract.forest.Nothing is gone from ract 0.3"):
        from ract.forest import Nothing  # noqa: F401

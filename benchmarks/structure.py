"""What the package looks like from outside, in numbers: entries, layers, walks, names, lines.

    python benchmarks/structure.py [FOLDER]

FOLDER is a checkout, this one by default; 0.2 and later can be counted.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]


def files_of(root: Path) -> list[Path]:
    """The source files of the package."""
    return sorted((root / "src" / "ract").rglob("*.py"))


def lines_of_code(text: str) -> int:
    """Lines without docstrings, comments and blanks."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                docstrings |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    empty = {
        tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
        tokenize.ENDMARKER,
    }  # fmt: skip
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in empty:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def counts(root: Path) -> dict[str, Any]:
    """What can be counted without running anything."""
    files, code, names = files_of(root), 0, defaultdict(set)
    texts = {path: path.read_text(encoding="utf-8") for path in files}
    for path, text in texts.items():
        code += lines_of_code(text)
        for node in ast.parse(text).body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name[0] != "_":
                names[node.name].add(path)
    contracts = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    top = [p for p in (root / "src" / "ract").iterdir() if p.name != "__pycache__"]
    return {
        "entries at the top": len(top),
        "layers": len(layers),
        "files": len(files),
        "lines of code": code,
        "names in several modules": sum(len(where) > 1 for where in names.values()),
        ": Any": sum(text.count(": Any") for text in texts.values()),
        "fmt: skip": sum(text.count("fmt: skip") for text in texts.values()),
        "files above 450 lines": sum(len(text.splitlines()) > 450 for text in texts.values()),
        "modules with a like-named test": share_tested(root, files),
    }


def share_tested(root: Path, files: list[Path]) -> str:
    """Modules that have a test module of their name."""
    tests = {path.stem.removeprefix("test_") for path in (root / "tests").rglob("test_*.py")}
    modules = [path.stem for path in files if not path.stem.startswith("__")]
    return f"{sum(name in tests for name in modules)} of {len(modules)}"


def loaded(root: Path, statement: str) -> int:
    """Modules of the package that a statement loads, in a process of its own."""
    code = (
        f"{statement}\nimport sys\nprint(sum(name.split('.')[0] == 'ract' for name in sys.modules))"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(root / "src"), "PATH": ""},
    )  # fmt: skip
    return int(found.stdout)


# Each walk is run twice, the first time so that everything is loaded and compiled. Names are those
# of 0.3 where there are such, else those of 0.2.
PREPARED = """
import json, os, sys, tempfile, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from ract import RecourseForestClassifier, save_model
try:
    from ract import load_loans
except ImportError:
    from ract.datasets import load_loans
folder = Path(tempfile.mkdtemp())
os.chdir(folder)
loans = load_loans(400)
model = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
model.fit(loans.frame, loans.target)
refused = loans.frame[model.predict(loans.frame) != "approved"].head(2)
"""
COMMAND = """
try:
    from ract.apps.cli import main
except ImportError:
    from ract.cli import main
loans.frame.assign(Decision=loans.target).to_csv("data.csv", index=False)
loans.actions.to_toml("actions.toml")
def call():
    sys.argv = "ract fit data.csv --target Decision --actions actions.toml -o m.ract".split()
    try:
        main()
    except SystemExit as end:
        assert not end.code, end.code
"""
SERVICE = """
try:
    from ract.apps.web import App, Settings
    from ract.apps.web.service import publish_model as publish
    from ract.apps.web.state import ServiceState as State
    from ract.apps.ledger import Ledger
except ImportError:
    from ract.serve import App, Settings
    from ract.serve.service import publish
    from ract.serve.state import State
    from ract.promises import Ledger
from fastapi.testclient import TestClient
from inspect import signature
def save(path):
    try:
        save_model(model, path, keep_reference=loans.frame)
    except TypeError:
        save_model(model.set_params(keep_reference=True).fit(loans.frame, loans.target), path)
def by(function):
    return {"by": "Test"} if "by" in signature(function).parameters else {}
save(folder / "model.ract")
content = (folder / "model.ract").read_bytes()
settings = Settings(str(folder / "promises.db"), str(folder / "model.ract"))
with Ledger(settings.ledger) as ledger:
    state = State(ledger.store)
    publish(ledger, state, content, **by(publish))
    key = state.add_key("case-worker", "Someone", **by(state.add_key))
client = TestClient(App(settings), base_url="http://127.0.0.1")
client.__enter__()
numbers = iter(range(9))
values = [row.to_dict() for _, row in refused.round(0).iterrows()]
def call():
    person = {"person": f"A-{next(numbers)}", "values": values[0]}
    headers = {"authorization": f"Bearer {key}"}
    answer = client.post("/promises", json={"people": [person]}, headers=headers)
    assert answer.status_code == 201, answer.text
"""
WALKS = {
    "forest.fit": "call = lambda: model.fit(loans.frame, loans.target)",
    "recourse()[0].describe()": "call = lambda: model.recourse(refused)[0].describe()",
    "ract fit": COMMAND,
    "a promise by the service": SERVICE,
}
# Threads that a service starts are traced too: the profile is there before they are.
TRACER = """
import threading
files, made, counting = set(), set(), []
def trace(frame, event, _):
    name = frame.f_code.co_filename
    if not counting or event != "call":
        return
    if "/ract/" in name:
        files.add(name)
    if frame.f_code.co_name == "__init__" and "self" in frame.f_locals:
        kind = type(frame.f_locals["self"])
        if kind.__module__.startswith("ract."):
            made.add((kind.__module__, kind.__qualname__))
threading.setprofile(trace)
"""
COUNTED = """
call()
counting.append(True)
sys.setprofile(trace)
call()
sys.setprofile(None)
counting.clear()
print("counted", len(files), len(made), flush=True)
os._exit(0)
"""


def walked(root: Path, walk: str) -> tuple[int, int]:
    """Files in which a function ran, and classes of the package that were instantiated."""
    found = subprocess.run(
        [sys.executable, "-c", PREPARED + TRACER + walk + COUNTED], capture_output=True, text=True,
        env={"PYTHONPATH": str(root / "src"), "PATH": "", "HOME": "/tmp"},
    )  # fmt: skip
    last = found.stdout.splitlines()[-1:]
    if not last or not last[0].startswith("counted"):
        raise SystemExit(f"A walk ended: {found.stderr[-2000:]}")
    files, classes = last[0].split()[1:]
    return int(files), int(classes)


def main() -> None:
    """Print all of it."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    for name, value in counts(root).items():
        print(f"{name:<34} {value}")
    if (root / "src" / "ract" / "models").exists():
        print(f"{'modules that ract.models loads':<34} {loaded(root, 'import ract.models')}")
    forest = "from ract import RecourseForestClassifier"
    print(f"{'... with the forest':<34} {loaded(root, forest)}")
    for name, walk in WALKS.items():
        files, classes = walked(root, walk)
        print(f"{'walk: ' + name:<34} {files} files, {classes} classes")


if __name__ == "__main__":
    main()

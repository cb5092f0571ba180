"""What the package looks like from outside, in numbers: entries, layers, walks, names, lines.

    python benchmarks/structure.py [FOLDER]

FOLDER is a checkout, this one by default; an older one may lack names that the walks need.
"""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Callable
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


def walked(call: Callable[[], Any]) -> int:
    """Files of the package in which a function ran."""
    seen: set[str] = set()

    def trace(frame: Any, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and "/ract/" in name:
            seen.add(name)

    sys.setprofile(trace)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen)


def walks() -> dict[str, int]:
    """Two walks from call to result, second time round, so that nothing is compiled."""
    from ract import RecourseForestClassifier
    from ract.data.datasets import load_loans

    loans = load_loans(400)
    model = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    model.fit(loans.frame, loans.target)
    refused = loans.frame[model.predict(loans.frame) != loans.desired].head(2)
    model.recourse(refused)[0].describe()
    return {
        "forest.fit": walked(lambda: model.fit(loans.frame, loans.target)),
        "recourse()[0].describe()": walked(lambda: model.recourse(refused)[0].describe()),
    }


def main() -> None:
    """Print all of it."""
    root = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else HERE
    for name, value in counts(root).items():
        print(f"{name:<34} {value}")
    print(f"{'modules that ract.models loads':<34} {loaded(root, 'import ract.models')}")
    if root == HERE:
        forest = loaded(root, "from ract import RecourseForestClassifier")
        print(f"{'... with the forest':<34} {forest}")
        for name, files in walks().items():
            print(f"{'walk: ' + name:<34} {files} files")


if __name__ == "__main__":
    main()

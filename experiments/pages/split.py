"""The long page of results as one short page of findings and a page for each part.

python -m experiments.pages.split docs/results.md cuts a page that was written in one piece.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from experiments.pages.markdown import page
from ract._utils.files import write_whole

# Where each part begins in the long page, and the page that it goes to.
PARTS = {
    "## The benchmark: plans that last": "results-benchmark",
    "## The same learner, or another one": "results-learners",
    "## Beside RABIT": "results-rabit",
    "## The paper's experiments": "results-paper",
    "### Every number of the paper's comparison": "results-numbers",
    "## The paper's tables": "results-paper",
}
WHAT = {
    "results-benchmark": "every model on every data set",
    "results-learners": "other learners, promises, DiRARTE's protocol and the accepted pool",
    "results-rabit": "boosting for recourse, by RABIT's protocol and on unseen rows",
    "results-paper": "tables, figures, and what was found on the way",
    "results-numbers": "each recorded mean beside ours, with its interval",
}
IN_SHORT = r"^In short\.(?:.*\n)+?\n(?:\|.*\n?)+"
DIFFERS = r"^## Where ours differs from the paper\n(?:(?!## ).*\n)+"
COMPARED = r"^## Beside the recorded results\n(?:(?!### ).*\n)+"


def split(text: str) -> dict[str, str]:
    """By the name of each page: its text; ``results`` has the findings and links to the others."""
    starts = sorted((text.find(f"\n{head}"), head) for head in PARTS if f"\n{head}" in text)
    if not starts:
        return {"results": text}
    ends = [start for start, _ in starts[1:]] + [len(text)]
    parts: dict[str, str] = {}
    for (start, head), end in zip(starts, ends, strict=True):
        name, own = PARTS[head], text[start:end].strip("\n")
        parts[name] = f"{parts[name]}\n\n{own}" if name in parts else own
    links = [f"- [{_title(parts[n])}]({n}.md): {what}" for n, what in WHAT.items() if n in parts]
    short = page(text[: starts[0][0]], *_findings(text), "## All numbers", "\n".join(links))
    return {"results": short} | {name: _raised(own) for name, own in parts.items()}


def write_split(text: str, target: Path) -> None:
    """Write the short page to a path, and the others beside it."""
    for name, own in split(text).items():
        write_whole(target if name == "results" else target.with_name(f"{name}.md"), own)


def _findings(text: str) -> list[str]:
    """The summary of the benchmark, how many recorded numbers are reproduced, what differs."""
    found = [
        (heading, match[0])
        for heading, pattern in (("## Plans that last", IN_SHORT), ("", COMPARED), ("", DIFFERS))
        if (match := re.search(pattern, text, re.MULTILINE))
    ]
    return [part for pair in found for part in pair]


def _title(own: str) -> str:
    return own.split("\n", 1)[0].lstrip("# ")


def _raised(own: str) -> str:
    """The text with its first heading as that of a page, and the others below it."""
    head, _, rest = own.partition("\n")
    level = len(head) - len(head.lstrip("#"))
    if not re.search(rf"^#{{{level}}} ", rest, re.MULTILINE):
        rest = re.sub(rf"^#{{{level - 1}}}(?=#+ )", "", rest, flags=re.MULTILINE)
    return f"# {_title(head)}\n{rest}".rstrip("\n") + "\n"


if __name__ == "__main__":
    long = Path(sys.argv[1])
    write_split(long.read_text(encoding="utf-8"), long)

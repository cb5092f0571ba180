"""A folder of notices, one for each person who is refused: all of them or none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from shutil import rmtree
from typing import Any
from urllib.parse import quote

from ract._utils.errors import listing
from ract._utils.files import write_whole
from ract.apps.cli.messages import BadInput
from ract.notices import Notices
from ract.recourse.plan import Plan
from ract.recourse.result import Recourse

# Takes the plans of people who are refused and their reasons, in their order, or None.
WriteNotices = Callable[[Sequence[Plan], Sequence[Any] | None], int]

WAITING = ".notices-"
LONGEST_NAME = 200  # bytes of a file's name; longer ones end in a hash
ENDS = {"html": ".html", "text": ".txt", "json": ".json"}


@contextmanager
def notice_writer(
    folder: Path, notices: Notices, forms: Sequence[Any], *, replace: bool
) -> Iterator[WriteNotices]:
    """A function that writes the notices of a batch into a folder and says for how many people.

    The folder gets all notices or none: until the end they wait in a folder inside it.

    Parameters
    ----------
    folder : path
        It must not hold anything, so that nobody gets a notice of another run.
    notices : Notices
    forms : sequence of {"html", "text", "json"}
    replace : bool
        Remove notices that the folder holds.
    """
    old = _existing_notices(folder, replace)
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    waiting = Path(tempfile.mkdtemp(prefix=WAITING, dir=folder))

    def write(plans: Sequence[Plan], reasons: Sequence[Any] | None) -> int:
        for k, plan in enumerate(plans):
            why = None if reasons is None else reasons[k]
            notices.check_sendable(why)
            values = notices.values(plan, why)
            for form in forms:
                target = waiting / _file_name(str(plan.person), ENDS[form])
                if target.exists():
                    raise BadInput(
                        f"--id names more than one person {str(plan.person)!r}, and each notice "
                        "needs a name of its own."
                    )
                write_whole(target, notices.render_values(values, form))
        return len(plans)

    try:
        yield write
        for file in old:
            file.unlink()
        for file in waiting.iterdir():
            file.replace(folder / file.name)
    finally:
        rmtree(waiting)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def refused_of(found: Recourse) -> list[int]:
    """Positions of the people who are refused: neither accepted nor impossible to read."""
    return [int(i) for i in (~found.accepted & ~found.invalid).nonzero()[0]]


def _existing_notices(folder: Path, replace: bool) -> list[Path]:
    """Notices that a folder holds; refused are other things in it, and notices if not replaced."""
    if not folder.exists():
        return []
    if not folder.is_dir():
        raise BadInput(f"{folder} is a file; --output takes a folder.")
    existing = list(folder.iterdir())
    for interrupted in [path for path in existing if path.name.startswith(WAITING)]:
        existing.remove(interrupted)
        rmtree(interrupted)
    ends = set(ENDS.values())
    foreign = [path.name for path in existing if not (path.suffix in ends and path.is_file())]
    if foreign:
        raise BadInput(f"{folder} holds {listing(foreign)}; --output takes a folder of its own.")
    if existing and not replace:
        raise BadInput(
            f"{folder} holds {len(existing)} notice(s) already; name another folder, or remove "
            "them with --replace."
        )
    return existing


def _file_name(person: str, end: str) -> str:
    """A file's name for a person's own: harmless letters, and no two alike."""
    name = quote(person, safe=" ")
    if len(name) > LONGEST_NAME:
        name = name[:LONGEST_NAME] + "-" + sha256(person.encode()).hexdigest()[:16]
    return f"{name}{end}"

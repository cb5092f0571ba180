"""What the command line says: each session is run in a folder of its own, with relative names."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from contextlib import chdir
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

from tests.pins.loans import as_text, visible
from tests.pins.names import HERE, __version__, app, load_model, model_fingerprint

FIT = "fit loans.csv --target Decision --actions actions.toml --n-jobs 1"
ENGLISH = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
GERMAN = (
    "Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember",
)  # fmt: skip
MANY = "--n-jobs 1 --time-limit 60"
# A session is a list of commands; "cat" shows a file or folder that a command has written, of a
# model file its fingerprint.
SESSIONS: dict[str, Sequence[str]] = {
    "init": (
        "init loans.csv --target Decision --desired approved",
        "init loans.csv --target Decision --desired approved -o new.toml --fixed LatePayments "
        "--increase Income --increase Education --order Education=HighSchool<College<Graduate",
        "cat new.toml",
        "init loans.csv --target Decision --desired approved -o new.toml --json",
        "init holes.csv --target Decision --desired approved",
        "init people.csv --target Decision --drop Purpose",
        "init loans.csv --target Nothing",
        "init nowhere.csv --target Decision",
    ),
    "fit": (
        f"{FIT} --n-estimators 9 --lasting 0 -o new.ract",
        "cat new.ract",
        f"{FIT} --n-estimators 9 --lasting 0 -o new.ract --json",
        f"{FIT} --model tree --max-depth 4 --lasting 0 --min-recourse 0.8 --confidence 0.9 "
        "-o new.ract",
        "cat new.ract",
        f"{FIT} --model boosting --n-estimators 8 --lasting 0 -o new.ract",
        "cat new.ract",
        f"{FIT} --model tree --max-depth 3 --lasting 0.7 -o new.ract",
        "cat new.ract",
        "fit holes.csv --target Decision --actions holes.toml --model tree --max-depth 4 --lasting "
        "0 -o new.ract",
        "cat new.ract",
        "fit people.csv --target Decision --desired approved --drop Applicant --model tree "
        "--max-depth 2 --lasting 0 -o new.ract",
        "cat new.ract",
        "data loans --n-people 1500 -o many.csv",
        "fit many.csv --target Decision --actions actions.toml --n-jobs 1 --n-estimators 25 "
        "--lasting 0.6 -o new.ract",
        "cat new.ract",
        f"{FIT} --model forst -o new.ract",
        f"{FIT} --desired nobody -o new.ract",
    ),
    "predict": (
        "predict forest.ract people.csv --id Applicant",
        "predict forest.ract people.csv --id Applicant -o out.csv --json",
        "predict boosting.ract people.csv",
        "predict forest-missing.ract people-holes.csv --id Applicant",
        "predict forest.ract people-holes.csv --id Applicant",
        "predict forest.ract people-holes.csv --strict",
        "predict imported.ract people.csv --id Applicant",
        "predict actions.toml people.csv",
    ),
    "recourse": (
        f"recourse forest.ract people.csv --id Applicant {MANY}",
        f"recourse forest.ract people.csv --id Applicant {MANY} -o out.csv --json",
        f"recourse boosting.ract people.csv --id Applicant {MANY} --max-changes 2 --ranges",
        f"recourse forest-missing.ract people-holes.csv --id Applicant {MANY}",
        f"recourse forest-lasting.ract people.csv --id Applicant {MANY}",
        f"recourse forest.ract people.csv --also boosting.ract --id Applicant {MANY} --budget 0.2",
        "recourse forest.ract people.csv --features Nothing",
    ),
    "letters": (
        f"notice forest.ract people.csv --id Applicant {MANY} -o letters --reasons notice-en.toml "
        "--without-reasons",
        "cat letters",
        "notice init forest-missing.ract -o holes.toml --language de --creditor A --address B "
        "--contact C",
        f"notice forest-missing.ract people-holes.csv --id Applicant {MANY} -o holes --reasons "
        "holes.toml --without-reasons",
        "cat holes",
        "notice forest.ract people.csv -o none --reasons notice-en.toml --without-reasons",
    ),
    "reasons": (
        f"reasons forest.ract people.csv --id Applicant {MANY}",
        f"reasons tree.ract people.csv --id Applicant {MANY} --reference loans.csv --max-reasons 2 "
        "-o out.csv --report report.csv --groups Education",
        "cat out.csv",
        "cat report.csv",
        f"reasons forest.ract people.csv --id Applicant {MANY} -o out.csv --json",
        "reasons tree.ract people.csv",
    ),
    "notice": (
        "notice init forest.ract",
        "notice init forest.ract --language fr --codes hmda -o codes.toml --json",
        "cat codes.toml",
        f"notice forest.ract people.csv -o named --reasons notice-en.toml --id Applicant {MANY}",
        "fit loans.csv --target Decision --desired approved --drop Age --model tree --max-depth 4 "
        "--lasting 0 -o tree4.ract",
        "notice init tree4.ract -o tree.toml --creditor A --address B --contact C",
        f"notice tree4.ract people.csv -o notices --reasons tree.toml --id Applicant {MANY} "
        "--date 2021-03-14 --form text --reference loans.csv",
        "cat notices",
        f"notice tree4.ract people.csv -o german --reasons tree.toml --id Applicant {MANY} "
        "--date 2021-03-14 --form json --reference loans.csv --json",
        "notice forest.ract people.csv -o more --reasons notice-en.toml",
    ),
    "certify": (
        f"certify forest.ract people.csv {MANY} -o new.json --groups Education",
        f"certify forest.ract people.csv {MANY} --json",
        f"certify forest.ract people.csv {MANY} --groups Education --check certificate.json "
        "--witnesses witnesses.json",
        f"certify boosting.ract people.csv {MANY} --check certificate.json",
        f"certify forest.ract people.csv {MANY} --max-risk 0.01",
    ),
    "audit": (
        f"audit forest.ract people.csv {MANY} -o page.html --groups Education --training loans.csv",
        f"audit judged.ract people.csv {MANY} -o page.html --id Applicant --json",
        f"audit forest-missing.ract people-holes.csv {MANY} -o page.html",
    ),
    "promises": (
        "promises open --ledger ledger.db",
        "promises history P-02 --ledger ledger.db",
        "promises verify --ledger ledger.db --json",
        "promises check forest.ract --ledger ledger.db",
        "promises check boosting.ract --ledger ledger.db -o checked.csv",
        "cat checked.csv",
        "promises check boosting.ract --ledger ledger.db --share 0 --json",
        "promises verify --ledger ledger.db --head 0000",
        "promises history nobody --ledger ledger.db",
    ),
    "promises-new": (
        "promises redeem back.csv --id Applicant --ledger ledger.db",
        "promises redeem back.csv --id Applicant --ledger ledger.db",
        "promises expire --ledger ledger.db",
        "promises erase P-02 --ledger ledger.db",
        "promises open --ledger ledger.db",
        "promises offer forest.ract people.csv --id Applicant --expires 2099-12-31 --by Desk "
        f"{MANY} --ledger new.db",
        "promises open --ledger new.db",
        "promises verify --ledger new.db --json",
    ),
    "others": (
        "data loans --n-people 5 --id Applicant",
        "export forest.ract -o out.json",
        "tradeoff loans.csv --target Decision --actions actions.toml --model tree --values "
        "0,0.3 --cv 3 --n-jobs 1",
        "import actions.toml loans.csv -o new.ract",
    ),
}  # fmt: skip


def session_pin(name: str, folder: Path) -> str:
    """A session: every command, its exit code, and what it wrote."""
    for path in (*HERE.glob("*.csv"), *HERE.glob("*.toml"), *HERE.glob("models/*.ract")):
        shutil.copy(path, folder)
    for name_of_file in ("actions.toml", "holes.toml"):  # as files of 0.2 meant
        file = folder / name_of_file
        file.write_text('limits = "none"\n' + file.read_text(encoding="utf-8"), encoding="utf-8")
    for path in ("certificate.json", "witnesses.json", "ledger.db"):
        shutil.copy(HERE / path, folder)
    with chdir(folder):
        text = "\n".join(_shown(command.split()) for command in SESSIONS[name])
    text = _timeless(text).replace(__version__, "<version>")
    for days in (0, -1, 1):  # a session may run past midnight, and clocks have zones
        text = _without_day(text, datetime.now(UTC).date() + timedelta(days=days))
    return _numbered(text) if name == "promises-new" else text


def _shown(words: list[str]) -> str:
    if words[0] == "cat":
        return "\n".join(_content(path) for path in _files(Path(words[1])))
    result = CliRunner().invoke(app, words, prog_name="ract")
    parts = [f"$ ract {' '.join(words)}", f"exit code {result.exit_code}"]
    # Whether kernels are compiled depends on what ran before.
    said = re.sub(r"^ract: compiling.*\n", "", result.stderr, flags=re.MULTILINE)
    for name, text in (("output", result.stdout), ("said", said)):
        parts += [f"--- {name}", text.rstrip("\n")] if text else []
    return "\n".join([*parts, ""])


def _files(path: Path) -> list[Path]:
    """A file; of a folder the first three, after the names of all."""
    return sorted(path.iterdir())[:3] if path.is_dir() else [path]


def _content(path: Path) -> str:
    if path.suffix == ".ract":
        return f"$ cat {path}\n{model_fingerprint(load_model(path))}\n"
    text = path.read_text(encoding="utf-8")
    beside = " ".join(sorted(p.name for p in path.parent.iterdir())) if path.parent.name else ""
    text = visible(text) if path.suffix == ".html" else text
    return f"$ cat {path}\n{beside}\n{text}".replace("\n\n", "\n")


def _timeless(text: str) -> str:
    """Without the time of a certificate, and the digest that follows from it; 12 digits."""
    text = re.sub(r"-?\d+\.\d{10,}(e-?\d+)?", lambda found: f"{float(found[0]):.12g}", text)
    text = re.sub(r'"date": "[^"]+"', '"date": "<time>"', text)
    text = re.sub(r'("head": "|Head: )[0-9a-f]{64}', r"\1<head>", text)
    return re.sub(r'"digest": "\w+"', '"digest": "<digest>"', text)


def options_pin(_: Path) -> str:
    """Every command and its options, whatever help looks like."""
    return as_text(_options(get_command(app)))


def _options(command: object) -> object:
    if hasattr(command, "commands"):
        return {name: _options(one) for name, one in sorted(command.commands.items())}
    return {
        " ".join([*one.opts, *one.secondary_opts]): [one.required, one.multiple, str(one.default)]
        for one in command.params
        if one.param_type_name == "option" and one.name != "help"
    } | {"arguments": [one.name for one in command.params if one.param_type_name == "argument"]}


def _without_day(text: str, day: date) -> str:
    """Without a day, as records and letters in English and German write it."""
    english = f"{ENGLISH[day.month - 1]} {day.day}, {day.year}"
    german = f"{day.day}. {GERMAN[day.month - 1]} {day.year}"
    for written in (day.isoformat(), english, german):
        text = text.replace(written, "<today>")
    return text


def _numbered(text: str) -> str:
    """Random numbers of promises, and the hashes that follow from them, in their order."""
    seen: dict[str, str] = {}
    return re.sub(
        r"\b(?:[0-9a-f]{64}|[0-9a-f]{32})\b",
        lambda found: seen.setdefault(found[0], f"<number {len(seen) + 1}>"), text,
    )  # fmt: skip

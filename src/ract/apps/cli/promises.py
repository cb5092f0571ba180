"""``ract promises``: offer plans as promises, redeem them, and check a model against them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import typer

from ract.apps.cli import options
from ract.apps.cli.inputs import format_of, open_ledger, open_model
from ract.apps.cli.messages import BadInput, print_summary, say

app = typer.Typer(
    help="Promises of recourse: made, kept, and checked before a model is replaced.",
    epilog="Exit code of check: 4 if the candidate does not keep enough promises; of verify: 2 "
    "if the ledger was changed, or is not there.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@options.command(app, "offer")
def offer_promises(
    model: Path,
    people: str,
    *,
    id: str,
    expires: str,
    ledger: str = "ract-promises.db",
    by: str = "",
    zone: str = "UTC",
    pin: list[str] | None = None,
    also: list[Path] | None = None,
    lasting: float | None = None,
    max_changes: int | None = None,
    time_limit: float = 10.0,
    n_jobs: int = -1,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Find a plan for everyone who is refused, and promise it.

    Plans hold for everyone who does more than they ask, where that can be proved.

    Example: ract promises offer model.ract people.csv --id Applicant --expires 180d
    """
    from ract.apps.cli.tables import held_out
    from ract.recourse.find import find_recourse

    until = _until(expires)
    files = [open_model(path) for path in (model, *(also or ()))]
    models = [file.model for file in files]
    table = held_out(people, format_of(csv, files[0].table), models[0], id=id).frame
    given: dict[str, Any] = {"max_changes": max_changes, "time_limit": time_limit, "n_jobs": n_jobs}
    if len(models) > 1:
        if lasting is not None:
            raise BadInput("--lasting was measured for one model; leave it out with --also.")
        plans = find_recourse(models, table, progress=True, explain=False, **given)
    else:
        plans = models[0].recourse(
            table, lasting=lasting, at_least=True, progress=True, explain=False, **given
        )
    with open_ledger(ledger, "create", zone=zone) as book:
        made = book.offer(plans, expires=until, by=by or None, pinned=pin or ())
    summary = {"people": len(plans), "accepted": int(plans.accepted.sum()), "promises": len(made)}
    sentence = (
        f"{summary['people']} people: {summary['accepted']} are accepted already, "
        f"{summary['promises']} got a promise. It is kept in {ledger}."
    )
    print_summary(summary, sentence, as_json=json)


@options.command(app, "redeem")
def redeem_promises(
    people: str,
    *,
    id: str,
    ledger: str = "ract-promises.db",
    output: str | None = "-",
    csv: options.Csv,
) -> None:
    """Accept people who come back and meet the conditions of their promise.

    Example: ract promises redeem back.csv --id Applicant -o decisions.csv
    """
    import pandas as pd

    from ract.apps.cli.outputs import table_writer
    from ract.apps.cli.tables import require_column
    from ract.data.csv import read_whole

    frame = read_whole(people, format_of(csv))
    require_column(id, frame, "--id", people)
    rows = []
    with open_ledger(ledger) as book, table_writer(output) as write:
        for row in frame.to_dict("records"):
            key = str(row.pop(id))
            found = book.redeem(key, {str(name): value for name, value in row.items()})
            promise = None if found.promise is None else found.promise.id
            rows.append((key, found.accepted, promise, " ".join(found.faults)))
        write(pd.DataFrame(rows, columns=["person", "accepted", "promise", "missing"]))
    accepted = sum(row[1] for row in rows)
    say(
        f"{len(rows)} people: {accepted} are accepted by their promise, {len(rows) - accepted} not."
    )


@options.command(app, "withdraw")
def withdraw_promise(promise: str, *, reason: str, ledger: str = "ract-promises.db") -> None:
    """Withdraw an open promise.

    Example: ract promises withdraw 04b8a3c8594f2e829c087ee90697ce3f --reason "Forged payslip"
    """
    with open_ledger(ledger) as book:
        say(str(book.withdraw(promise, reason)))


@options.command(app, "expire")
def expire_promises(*, ledger: str = "ract-promises.db") -> None:
    """End the open promises whose time is over.

    Example: ract promises expire
    """
    with open_ledger(ledger) as book:
        say(f"{len(book.expire())} promises have expired.")


@options.command(app, "open")
def list_open(*, ledger: str = "ract-promises.db", output: str | None = "-") -> None:
    """List the promises that can be redeemed.

    Example: ract promises open -o open.csv
    """
    import pandas as pd

    from ract.apps.cli.outputs import table_writer

    columns = ["promise", "person", "offered", "expires", "plan", "strength", "lasting", "by"]
    with open_ledger(ledger, "read") as book, table_writer(output) as write:
        rows = [
            (
                p.id,
                p.person,
                f"{p.offered:%Y-%m-%d}",
                f"{p.expires:%Y-%m-%d}",
                p.plan,
                p.strength,
                p.lasting,
                p.by,
            )
            for p in book.each_open()
        ]
        write(pd.DataFrame(rows, columns=columns))


@options.command(app, "history")
def history(person: str, *, ledger: str = "ract-promises.db") -> None:
    """Say what happened to the promises of a person.

    Example: ract promises history A-17
    """
    with open_ledger(ledger, "read") as book:
        happened = book.history(person)
    if not len(happened):
        raise BadInput(f"The ledger holds no promise to {person!r}.")
    for row in happened.to_dict("records"):
        what = row["details"].get("plan") or row["details"].get("reason") or ""
        typer.echo(f"{row['at'][:19]}  {row['event']:<10} {row['promise']}  {what}".rstrip())


@options.command(app, "erase")
def erase_person(person: str, *, ledger: str = "ract-promises.db") -> None:
    """Remove everything that the ledger knows of a person; it still verifies.

    Example: ract promises erase A-17
    """
    with open_ledger(ledger) as book:
        gone = book.erase(person)
    if not gone.promises + gone.cases:
        raise BadInput(f"The ledger holds no promise to {person!r}.")
    say(f"Erased the data of {person} in {gone.promises} promise(s) and {gone.cases} case(s).")
    if not gone.everywhere:
        say("The ledger is being read: its journal is cleared when the last reader closes it.")


@options.command(app, "outcomes")
def show_outcomes(
    record: Path | None = None,
    *,
    ledger: str = "ract-promises.db",
    model: Path | None = None,
    confidence: float = 0.95,
    output: str | None = None,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Say how many redeemed promises were repaid, beside what a judge predicts.

    Example: ract promises outcomes repaid.csv --model model.ract
    """
    from ract._utils.validation import json_scalar
    from ract.apps.cli.outputs import write_table
    from ract.data.csv import read_whole
    from ract.io import load_judge

    judge = None if model is None else load_judge(model)
    with open_ledger(ledger, "write" if record is not None else "read") as book:
        from ract.apps.ledger import promise_outcomes, record_outcomes

        if record is not None:
            table = read_whole(str(record), format_of(csv))
            if lacking := [name for name in ("promise", "outcome") if name not in table]:
                raise BadInput(f"{record} has no column {lacking[0]!r}.")
            if table["promise"].duplicated().any():
                raise BadInput(f"{record} names a promise twice.")
            ids, known = (table[name].astype(str) for name in ("promise", "outcome"))
            record_outcomes(book, dict(zip(ids, known, strict=True)))
        found = promise_outcomes(book, judge, confidence=confidence)
    write_table(output, found.table)
    summary = {
        **found.counts,
        "kept": json_scalar(found.kept),
        "warnings": found.warnings,
        "groups": [
            {name: json_scalar(value) for name, value in row.items()}
            for row in found.table.to_dict("records")
        ],
    }
    print_summary(summary, str(found), as_json=json)


def _until(text: str) -> date | timedelta:
    """A last day, or a length of time in days.

    >>> _until("180d"), _until("2027-06-30")
    (datetime.timedelta(days=180), datetime.date(2027, 6, 30))
    """
    if re.fullmatch(r"\d{1,5}d", text):
        return timedelta(days=int(text[:-1]))
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"--expires takes a day such as 2027-06-30 or a length such as 180d, got {text!r}."
        ) from None

"""``ract promises``: offer plans as promises, redeem them, and check a model against them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options
from ract.cli.failures import BadInput

BROKEN = 4  # exit code: the candidate does not keep what was promised

app = typer.Typer(
    help="Promises of recourse: made, kept, and checked before a model is replaced.",
    epilog="Exit code of check: 4 if the candidate does not keep enough promises; of verify: 2 "
    "if the ledger was changed.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Where = Annotated[
    str,
    typer.Option("--ledger", help="File of the ledger, or the address of a database."),
]
Person = Annotated[str, typer.Argument(metavar="PERSON", help="The person's key.")]
Output = Annotated[
    str | None, typer.Option("-o", "--output", help="CSV, Parquet or JSON file; - to print CSV.")
]


def offer(
    model: options.ModelPath,
    people: options.PeopleFile,
    *,
    id: Annotated[str, typer.Option(help="Column of the people's keys.", show_default=False)],
    expires: Annotated[
        str, typer.Option(help="Last day (2027-06-30), or how long (180d).", show_default=False)
    ],
    ledger: Where = "ract-promises.db",
    by: Annotated[str, typer.Option(help="Who makes the promises.")] = "",
    also: Annotated[
        list[Path] | None,
        typer.Option(help="Model file: plans serve in this model too. May be given again."),
    ] = None,
    lasting: Annotated[
        float | None, typer.Option(help="Probability that plans outlast a retrained model.")
    ] = None,
    max_changes: Annotated[
        int | None, typer.Option(help="How many features a plan may change.")
    ] = None,
    time_limit: options.TimeLimit = 10.0,
    n_jobs: options.NJobs = -1,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Find a plan for everyone who is refused, and promise it.

    Plans hold for everyone who does more than they ask, where that can be proved.

    Example: ract promises offer model.ract people.csv --id Applicant --expires 180d
    """
    from ract.cli.columns import held_out
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary
    from ract.cli.tables import format_of
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
    with open_ledger(ledger) as book:
        made = book.offer(plans, expires=until, by=by)
    summary = {"people": len(plans), "accepted": int(plans.accepted.sum()), "promises": len(made)}
    sentence = (
        f"{summary['people']} people: {summary['accepted']} are accepted already, "
        f"{summary['promises']} got a promise. It is kept in {ledger}."
    )
    print_summary(summary, sentence, as_json=json)


def redeem(
    people: options.PeopleFile,
    *,
    id: Annotated[str, typer.Option(help="Column of the people's keys.", show_default=False)],
    ledger: Where = "ract-promises.db",
    output: Output = "-",
    csv: options.Csv,
) -> None:
    """Accept people who come back and stand where their promise says.

    Example: ract promises redeem back.csv --id Applicant -o decisions.csv
    """
    import pandas as pd

    from ract.cli.columns import require_column
    from ract.cli.messages import say
    from ract.cli.outputs import table_writer
    from ract.cli.tables import format_of, read_whole

    frame = read_whole(people, format_of(csv))
    require_column(id, frame, "--id", people)
    rows = []
    with open_ledger(ledger) as book, table_writer(output) as write:
        for values in frame.to_dict("records"):
            key = str(values.pop(id))
            found = book.redeem(key, values)
            promise = None if found.promise is None else found.promise.id
            rows.append((key, found.accepted, promise, " ".join(found.faults)))
        write(pd.DataFrame(rows, columns=["person", "accepted", "promise", "missing"]))
    accepted = sum(row[1] for row in rows)
    say(
        f"{len(rows)} people: {accepted} are accepted by their promise, {len(rows) - accepted} not."
    )


def withdraw(
    promise: Annotated[str, typer.Argument(metavar="PROMISE", help="Number of the promise.")],
    *,
    reason: Annotated[str, typer.Option(help="Why; it is kept.", show_default=False)],
    ledger: Where = "ract-promises.db",
) -> None:
    """Take back an open promise.

    Example: ract promises withdraw 04b8a3c8594f2e829c087ee90697ce3f --reason "Forged payslip"
    """
    from ract.cli.messages import say

    with open_ledger(ledger) as book:
        say(str(book.withdraw(promise, reason)))


def expire(*, ledger: Where = "ract-promises.db") -> None:
    """End the open promises whose time is over.

    Example: ract promises expire
    """
    from ract.cli.messages import say

    with open_ledger(ledger) as book:
        say(f"{len(book.expire())} promises have expired.")


def open_(*, ledger: Where = "ract-promises.db", output: Output = "-") -> None:
    """List the promises that can be redeemed.

    Example: ract promises open -o open.csv
    """
    import pandas as pd

    from ract.cli.outputs import table_writer

    columns = ["promise", "person", "offered", "expires", "plan", "strength", "lasting", "by"]
    with open_ledger(ledger) as book, table_writer(output) as write:
        rows = [
            (p.id, p.person, f"{p.offered:%Y-%m-%d}", f"{p.expires:%Y-%m-%d}", p.plan, p.strength,
             p.lasting, p.by)
            for p in book.open()
        ]  # fmt: skip
        write(pd.DataFrame(rows, columns=columns))


def history(person: Person, *, ledger: Where = "ract-promises.db") -> None:
    """Say what happened to the promises of a person.

    Example: ract promises history A-17
    """
    with open_ledger(ledger) as book:
        happened = book.history(person)
    if not len(happened):
        raise BadInput(f"The ledger holds no promise to {person!r}.")
    for row in happened.itertuples():
        what = row.details.get("plan") or row.details.get("reason") or ""
        typer.echo(f"{row.at[:19]}  {row.event:<10} {row.promise}  {what}".rstrip())


def erase(person: Person, *, ledger: Where = "ract-promises.db") -> None:
    """Remove everything that the ledger knows of a person; it still verifies.

    Example: ract promises erase A-17
    """
    from ract.cli.messages import say

    with open_ledger(ledger) as book:
        n = book.erase(person)
    if not n:
        raise BadInput(f"The ledger holds no promise to {person!r}.")
    say(f"What {n} promise(s) said of {person} is gone.")


def verify(
    *,
    ledger: Where = "ract-promises.db",
    head: Annotated[
        str | None, typer.Option(help="Head that was noted before, which the chain must hold.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Check that the ledger is as it was written.

    Example: ract promises verify
    """
    from ract.cli.failures import BAD_INPUT
    from ract.cli.messages import print_summary

    with open_ledger(ledger) as book:
        checked = book.verify(head)
    summary = {
        "verified": bool(checked), "events": checked.n_events, "head": checked.head,
        "faults": list(checked.faults),
    }  # fmt: skip
    print_summary(summary, str(checked), as_json=json)
    if not checked:
        raise typer.Exit(BAD_INPUT)


def check(
    candidate: Annotated[Path, typer.Argument(metavar="CANDIDATE", help="Model file.")],
    *,
    ledger: Where = "ract-promises.db",
    share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of promises that must be kept.")
    ] = 1.0,
    output: Output = None,
    plot: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Put every open promise before a model that may replace the one of today.

    Example: ract promises check candidate.ract -o checked.csv --plot checked.svg
    """
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary, refuse_both
    from ract.cli.outputs import check_picture, picture, table_writer

    refuse_both(output, json)
    check_picture(plot)
    model = open_model(candidate).model
    with open_ledger(ledger) as book:
        from ract.promises.guard import check

        found = check(book, model)
    if output is not None:
        with table_writer(output) as write:
            write(found.table)
    if plot is not None:
        from ract.plot import PromisesDisplay

        with picture(plot) as ax:
            PromisesDisplay.from_check(found, ax=ax)
    summary = {"promises": found.n_promises, "kept": int(found.kept.sum()), "share": found.share}
    print_summary(summary, str(found), as_json=json)
    if found.share < share:
        raise typer.Exit(BROKEN)


def open_ledger(where: str) -> Any:
    """The ledger in a file or a database, or a sentence about what to install."""
    from ract.cli.failures import optional_library

    optional_library("sqlalchemy", "promises", "promises")
    from ract.promises import Ledger

    return Ledger(where)


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


for command, name in (
    (offer, "offer"),
    (redeem, "redeem"),
    (withdraw, "withdraw"),
    (expire, "expire"),
    (open_, "open"),
    (history, "history"),
    (erase, "erase"),
    (verify, "verify"),
    (check, "check"),
):
    app.command(name)(options.with_option_groups(command))

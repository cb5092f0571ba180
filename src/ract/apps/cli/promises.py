"""``ract promises``: offer plans as promises, redeem them, and check a model against them."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from ract._utils.errors import optional_library
from ract.apps.cli import options
from ract.apps.cli.failures import BAD_INPUT, BadInput

BROKEN = 4  # exit code: the candidate does not keep what was promised

app = typer.Typer(
    help="Promises of recourse: made, kept, and checked before a model is replaced.",
    epilog="Exit code of check: 4 if the candidate does not keep enough promises; of verify: 2 "
    "if the ledger was changed, or is not there.",
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
    by: Annotated[str, typer.Option(help="Who makes the promises; you by default.")] = "",
    zone: Annotated[str, typer.Option(help="Time zone in which the last day ends.")] = "UTC",
    pin: Annotated[
        list[str] | None,
        typer.Option(help="Feature that must not change, such as the loan's amount."),
    ] = None,
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
    from ract.apps.cli.columns import held_out
    from ract.apps.cli.inputs import open_model
    from ract.apps.cli.messages import print_summary
    from ract.apps.cli.tables import format_of
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

    from ract.apps.cli.columns import require_column
    from ract.apps.cli.messages import say
    from ract.apps.cli.outputs import table_writer
    from ract.apps.cli.tables import format_of
    from ract.data.csv.files import read_whole

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
    from ract.apps.cli.messages import say

    with open_ledger(ledger) as book:
        say(str(book.withdraw(promise, reason)))


def expire(*, ledger: Where = "ract-promises.db") -> None:
    """End the open promises whose time is over.

    Example: ract promises expire
    """
    from ract.apps.cli.messages import say

    with open_ledger(ledger) as book:
        say(f"{len(book.expire())} promises have expired.")


def open_(*, ledger: Where = "ract-promises.db", output: Output = "-") -> None:
    """List the promises that can be redeemed.

    Example: ract promises open -o open.csv
    """
    import pandas as pd

    from ract.apps.cli.outputs import table_writer

    columns = ["promise", "person", "offered", "expires", "plan", "strength", "lasting", "by"]
    with open_ledger(ledger, "read") as book, table_writer(output) as write:
        rows = [
            (p.id, p.person, f"{p.offered:%Y-%m-%d}", f"{p.expires:%Y-%m-%d}", p.plan, p.strength,
             p.lasting, p.by)
            for p in book.each_open()
        ]  # fmt: skip
        write(pd.DataFrame(rows, columns=columns))


def history(person: Person, *, ledger: Where = "ract-promises.db") -> None:
    """Say what happened to the promises of a person.

    Example: ract promises history A-17
    """
    with open_ledger(ledger, "read") as book:
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
    from ract.apps.cli.messages import say

    with open_ledger(ledger) as book:
        gone = book.erase(person)
    if not gone.promises + gone.cases:
        raise BadInput(f"The ledger holds no promise to {person!r}.")
    say(f"What {gone.promises} promise(s) and {gone.cases} case(s) said of {person} is gone.")
    if not gone.everywhere:
        say("Somebody reads from the ledger: its journal is cleared when they have closed it.")


def verify(
    *,
    ledger: Where = "ract-promises.db",
    head: Annotated[
        str | None, typer.Option(help="Head that was noted before, which the chain must hold.")
    ] = None,
    heads: Annotated[
        Path | None, typer.Option(help="File of published heads, all of which it must hold.")
    ] = None,
    keys: Annotated[
        Path | None, typer.Option(help="Public keys of the lender, as public-keys prints them.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Check that the ledger is as it was written and signed; nothing is changed.

    Example: ract promises verify --heads heads.jsonl
    """
    from ract.apps.cli.messages import print_summary

    with open_ledger(ledger, "read", upgrade=False, keys=keys) as book:
        from ract.apps.ledger import read_heads

        checked = book.verify(head, heads=() if heads is None else read_heads(heads))
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
    from ract.apps.cli.inputs import open_model
    from ract.apps.cli.messages import print_summary, refuse_both
    from ract.apps.cli.outputs import check_picture, picture, table_writer

    refuse_both(output, json)
    check_picture(plot)
    model = open_model(candidate).model
    with open_ledger(ledger, "read") as book:
        from ract.apps.ledger.guard import check

        found = check(book, model)
    if output is not None:
        with table_writer(output) as write:
            write(found.table)
    if plot is not None:
        from ract.evaluation.plots import PromisesDisplay

        with picture(plot) as ax:
            PromisesDisplay.from_check(found, ax=ax)
    summary = {"promises": found.n_promises, "kept": int(found.kept.sum()), "share": found.share}
    print_summary(summary, str(found), as_json=json)
    if found.share < share:
        raise typer.Exit(BROKEN)


def publish(
    to: Annotated[str, typer.Argument(metavar="PLACE", help="File or URL for heads.")],
    *,
    ledger: Where = "ract-promises.db",
) -> None:
    """Publish the signed head of the ledger: append it to a file, or send it to an address.

    Example: ract promises publish heads.jsonl
    """
    from ract.apps.cli.messages import say

    with open_ledger(ledger, "read") as book:
        from ract.apps.ledger import publish_head

        head = book.head()
    if head is None:
        raise BadInput("The ledger is empty; there is no head to publish.")
    publish_head(head, to)
    say(f"Event {head.number}, signed by key {head.key}, is published: {head.hash}.")


def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="New file.")],
    *,
    ledger: Where = "ract-promises.db",
) -> None:
    """Copy a ledger to a new file while others go on writing, and verify the copy.

    Keys are not copied. For PostgreSQL: pg_dump --format=custom --file=FILE DATABASE.

    Example: ract promises backup copy.db
    """
    from ract.apps.cli.failures import BAD_INPUT
    from ract.apps.cli.messages import say

    with open_ledger(ledger, "read") as book:
        book.store.back_up(to)
        ring = book.store.ring
    with open_ledger(str(to), "read", keys=ring) as copy:
        checked = copy.verify()
    say(f"{to}: {checked}")
    if not checked:
        raise typer.Exit(BAD_INPUT)


def rotate_key(*, ledger: Where = "ract-promises.db") -> None:
    """Sign with a new key from now on; the one before is valid for another week.

    Example: ract promises rotate-key
    """
    from ract.apps.cli.messages import say

    with open_ledger(ledger) as book:
        ring = book.store.ring.rotated()
        ring.save()
    say(f"Key {ring.keys[-1].id} signs from now on. Back up {ring.path}.")


def new_keys(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="New file.")],
) -> None:
    """Make keys for a ledger that is not there yet; RACT_LEDGER_KEY says where they lie.

    Example: ract promises new-keys ledger.key
    """
    from ract.apps.cli.messages import say

    _libraries()
    from ract.apps.ledger import KeyRing

    if path.exists():
        raise BadInput(f"{path} is there already.")
    KeyRing.new(path).save()
    say(f"{path} is made. Back it up: without it nothing can be written to its ledger.")


def public_keys(*, ledger: Where = "ract-promises.db") -> None:
    """Print the public keys of a ledger, for those who verify it or a receipt.

    Example: ract promises public-keys
    """
    with open_ledger(ledger, "read") as book:
        typer.echo(book.store.ring.text(private=False), nl=False)


def receipt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Receipt of a promise.")],
    *,
    keys: Annotated[Path, typer.Option(help="Public keys of the lender.", show_default=False)],
) -> None:
    """Check the receipt of a promise, without the ledger.

    Example: ract promises receipt receipt.json --keys public.json
    """
    import json

    from ract._utils.files import readable
    from ract.apps.cli.messages import say

    _libraries()
    from ract.apps.ledger import KeyRing, check_receipt

    with readable(file):
        text = file.read_text(encoding="utf-8")
    with readable(keys):
        ring = KeyRing.read(keys.read_text(encoding="utf-8"), keys)
    try:
        held = json.loads(text)
        faults = check_receipt(held, ring)
    except (ValueError, TypeError):
        faults = ["This is not a receipt of a promise."]
    if faults:
        raise BadInput(f"{file}: {' '.join(faults)}")
    said = json.loads(held["details"])
    say(f"Genuine: a promise to {said['person']} until {said['expires'][:10]}: {said['plan']}")


def open_ledger(where: str, mode: Any = "write", *, upgrade: bool = True, **given: Any) -> Any:
    """The ledger in a file or a database, or a sentence about what to install."""
    _libraries()
    from ract.apps.cli.messages import say
    from ract.apps.ledger import Ledger
    from ract.apps.ledger.store import OldLedger

    try:
        return Ledger(where, mode=mode, by=actor(), **given)
    except OldLedger:
        if not upgrade:
            raise
    with Ledger(where, mode="write", by=actor(), **given) as old:
        say(f"{where} is of ract 0.2; its events are signed now, by keys in {old.store.ring.path}.")
    return Ledger(where, mode=mode, by=actor(), **given)


def actor() -> str:
    """Who acts from the shell, as the ledger keeps it."""
    import getpass

    try:
        return f"{getpass.getuser()} (shell)"
    except (OSError, KeyError, ImportError):  # a container without names
        return "shell"


def _libraries() -> None:
    for module in ("sqlalchemy", "cryptography"):
        optional_library(module, "promises", "promises")


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
    (publish, "publish"),
    (backup, "backup"),
    (new_keys, "new-keys"),
    (rotate_key, "rotate-key"),
    (public_keys, "public-keys"),
    (receipt, "receipt"),
):
    app.command(name)(options.with_option_groups(command))

"""``ract promises`` for the ledger itself: verify, publish and back it up, its keys, receipts."""

from __future__ import annotations

import json as json_text
from pathlib import Path

import typer

from ract._utils.files import readable
from ract.apps.cli import options
from ract.apps.cli.inputs import open_ledger, open_model, require_libraries
from ract.apps.cli.messages import BAD_INPUT, BROKEN, BadInput, print_summary, refuse_both, say
from ract.apps.cli.promises import app


@options.command(app, "verify")
def verify_ledger(
    *,
    ledger: str = "ract-promises.db",
    head: str | None = None,
    heads: Path | None = None,
    keys: Path | None = None,
    json: bool = False,
) -> None:
    """Check that the ledger is as it was written and signed; nothing is changed.

    Example: ract promises verify --heads heads.jsonl
    """
    with open_ledger(ledger, "read", upgrade=False, keys=keys) as book:
        from ract.apps.ledger import read_heads

        checked = book.verify(head, heads=() if heads is None else read_heads(heads))
    summary = {
        "verified": bool(checked),
        "events": checked.n_events,
        "head": checked.head,
        "faults": list(checked.faults),
    }
    print_summary(summary, str(checked), as_json=json)
    if not checked:
        raise typer.Exit(BAD_INPUT)


@options.command(app, "check")
def check_candidate(
    candidate: Path,
    *,
    ledger: str = "ract-promises.db",
    share: float = 1.0,
    output: str | None = None,
    plot: Path | None = None,
    json: bool = False,
) -> None:
    """Check which open promises a model keeps that may replace the one of today.

    Example: ract promises check candidate.ract -o checked.csv --plot checked.svg
    """
    from ract.apps.cli.outputs import check_picture, picture, write_table

    refuse_both(output, json)
    check_picture(plot)
    model = open_model(candidate).model
    with open_ledger(ledger, "read") as book:
        from ract.apps.ledger.guard import check

        found = check(book, model)
    write_table(output, found.table)
    if plot is not None:
        from ract.evaluation.plots import PromisesDisplay

        with picture(plot) as ax:
            PromisesDisplay.from_check(found, ax=ax)
    summary = {"promises": found.n_promises, "kept": int(found.kept.sum()), "share": found.share}
    print_summary(summary, str(found), as_json=json)
    if found.share < share:
        raise typer.Exit(BROKEN)


@options.command(app, "publish")
def publish_ledger(to: str, *, ledger: str = "ract-promises.db") -> None:
    """Publish the signed head of the ledger: append it to a file, or send it to an address.

    Example: ract promises publish heads.jsonl
    """
    with open_ledger(ledger, "read") as book:
        from ract.apps.ledger import publish_head

        head = book.head()
    if head is None:
        raise BadInput("The ledger is empty; there is no head to publish.")
    publish_head(head, to)
    say(f"Event {head.number}, signed by key {head.key}, is published: {head.hash}.")


@options.command(app, "backup")
def backup(to: Path, *, ledger: str = "ract-promises.db") -> None:
    """Copy a ledger to a new file, also while others write to it, and verify the copy.

    Keys are not copied. For PostgreSQL: pg_dump --format=custom --file=FILE DATABASE.

    Example: ract promises backup copy.db
    """
    with open_ledger(ledger, "read") as book:
        book.store.back_up(to)
        ring = book.store.ring
    with open_ledger(str(to), "read", keys=ring) as copy:
        checked = copy.verify()
    say(f"{to}: {checked}")
    if not checked:
        raise typer.Exit(BAD_INPUT)


@options.command(app, "new-keys")
def new_keys(path: Path) -> None:
    """Make keys for a ledger that does not exist yet; RACT_LEDGER_KEY names their file.

    Example: ract promises new-keys ledger.key
    """
    require_libraries()
    from ract.apps.ledger import KeyRing

    if path.exists():
        raise BadInput(f"{path} is there already.")
    KeyRing.new(path).save()
    say(f"Wrote {path}. Back it up: without it nothing can be written to its ledger.")


@options.command(app, "rotate-key")
def rotate_key(*, ledger: str = "ract-promises.db") -> None:
    """Sign with a new key from now on; the one before is valid for another week.

    Example: ract promises rotate-key
    """
    with open_ledger(ledger) as book:
        ring = book.store.ring.rotated()
        ring.save()
    say(f"Key {ring.keys[-1].id} signs from now on. Back up {ring.path}.")


@options.command(app, "public-keys")
def public_keys(*, ledger: str = "ract-promises.db") -> None:
    """Print the public keys of a ledger, for those who verify it or a receipt.

    Example: ract promises public-keys
    """
    with open_ledger(ledger, "read") as book:
        typer.echo(book.store.ring.text(private=False), nl=False)


@options.command(app, "receipt")
def receipt(file: Path, *, keys: Path) -> None:
    """Check the receipt of a promise, without the ledger.

    Example: ract promises receipt receipt.json --keys public.json
    """
    require_libraries()
    from ract.apps.ledger import KeyRing, check_receipt

    with readable(file):
        text = file.read_text(encoding="utf-8")
    with readable(keys):
        ring = KeyRing.read(keys.read_text(encoding="utf-8"), keys)
    try:
        content = json_text.loads(text)
        faults = check_receipt(content, ring)
    except (ValueError, TypeError):
        faults = ["This is not a receipt of a promise."]
    if faults:
        raise BadInput(f"{file}: {' '.join(faults)}")
    said = json_text.loads(content["details"])
    say(f"Genuine: a promise to {said['person']} until {said['expires'][:10]}: {said['plan']}")

"""A ledger of many promises in SQLite: CPU seconds and memory of reading, verifying, guarding.

    python benchmarks/bench_ledger.py [--promises 100000] [--distinct 200] [--folder FOLDER]

A forest of the loans data promises plans to ``--distinct`` refused people; their promises are kept
again under other keys until the ledger has ``--promises`` of them. Each measurement is a process of
its own, on a ledger of that size and on one of ``--distinct`` promises, which says what imports,
the model and compiled kernels take without any ledger to speak of:

    open      every open promise is read and its hashes are checked (``Ledger.each_open``)
    verify    the chain is walked: hashes, signatures, where each promise stands
    guard     every open promise is put to another model (``check``)

Seconds are CPU time without imports; memory is the largest resident set of the whole process.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path

from sqlalchemy import insert

from ract.apps.ledger import Ledger
from ract.apps.ledger.chain import FIRST, Event, canonical_json, details_digest, hash_of, stamp
from ract.apps.ledger.promise import OFFERED, OPEN
from ract.apps.ledger.tables import events, promises

EXPIRES = timedelta(days=180)
PART = 10_000  # promises of a transaction
PLACE = ("person", "expires")  # of a promise, in its table
TARGETS = {"open": 5, "verify": None, "guard": 20}  # seconds of CPU at 100,000
MEMORY = 300  # megabytes


def fill(folder: Path, n_promises: int, n_distinct: int) -> None:
    """Write the candidate's file and the two ledgers."""
    from ract import RecourseForestClassifier, load_loans, save_model

    models = []
    for seed in (0, 1):
        loans = load_loans(1500, random_state=seed)
        forest = RecourseForestClassifier(
            loans.actions, n_estimators=30, recourse_weight=0.3, random_state=seed
        )
        models.append(forest.fit(loans.frame, loans.target))
    model, candidate = models
    save_model(candidate, folder / "candidate.ract")
    people = load_loans(6 * n_distinct, random_state=2).frame
    refused = people[model.predict(people) == "refused"].head(n_distinct)
    plans = model.recourse(refused, strength=0.7, at_least=True, explain=False)
    for n in (n_distinct, n_promises):
        with Ledger(folder / f"{n}.db") as ledger:
            keep_many(ledger, ledger.draft(plans, expires=EXPIRES), n)


def keep_many(ledger: Ledger, drafts: list[dict], n: int) -> None:
    """Keep so many promises as ``Ledger.keep`` does, without a query for each of them."""
    store, number, previous = ledger.store, 0, FIRST
    for first in range(0, n, PART):
        offered, index = [], []
        with store.writing() as db:
            at = stamp(store.now(db))
            for k in range(first, min(first + PART, n)):
                draft = drafts[k % len(drafts)] | {"person": f"P-{k}"}
                id, salt, details = f"{k:032x}", f"{k:032x}", canonical_json(draft)
                chained = details_digest(salt, details), previous
                number += 1
                event = Event(
                    number, at, OFFERED, id, "me", *chained, "", None, None, salt, details
                )
                event = store.signed(event._replace(hash=hash_of(event)))
                previous = event.hash
                offered.append(event._asdict())
                index.append({"id": id, "status": OPEN} | {k: draft[k] for k in PLACE})
            db.execute(insert(events), offered)
            db.execute(insert(promises), index)


def measure(what: str, path: str, candidate: str) -> None:
    """One measurement in this process; prints promises, seconds and megabytes."""
    if what == "guard":  # what the others need not import
        from ract import load_model
        from ract.apps.ledger import check

        model = load_model(candidate)
    begun = time.process_time()
    with Ledger(path, mode="read") as ledger:
        if what == "open":
            n = sum(1 for _ in ledger.each_open())
        elif what == "verify":
            found = ledger.verify()
            assert found, str(found)
            n = found.n_events
        else:
            n = check(ledger, model).n_promises
    seconds = time.process_time() - begun
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    print(n, seconds, int(peak) / 1024)


def report(folder: Path, n_promises: int, n_distinct: int) -> None:
    """A line for each measurement."""
    for what, target in TARGETS.items():
        found = {}
        for n in (n_distinct, n_promises):
            words = [sys.executable, __file__, "--measure", what, str(folder / f"{n}.db")]
            words.append(str(folder / "candidate.ract"))
            out = subprocess.run(words, check=True, capture_output=True, text=True).stdout
            found[n] = [float(part) for part in out.split()]
        (count, seconds, peak), base = found[n_promises], found[n_distinct][2]
        aim = "" if target is None else f" (target {target})"
        print(
            f"{what:7} {count:.0f}: {seconds:.1f} s of CPU{aim}, {peak:.0f} MB (target {MEMORY}), "
            f"{peak - base:+.0f} MB over a ledger of {n_distinct}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--promises", type=int, default=100_000)
    parser.add_argument("--distinct", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where the ledgers are kept for another run")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        measure(*given.measure)
        return
    with tempfile.TemporaryDirectory(prefix="ract-ledger-") as name:
        folder = given.folder or Path(name)
        folder.mkdir(exist_ok=True)
        if not (folder / f"{given.promises}.db").exists():
            fill(folder, given.promises, given.distinct)
        report(folder, given.promises, given.distinct)


if __name__ == "__main__":
    main()

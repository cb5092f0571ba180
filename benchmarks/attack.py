"""Attacks on what the program states, at full size; every count of wrong answers must be 0.

``forgery``: forged certificates, of which none may be verified except in entries that the check
names as not checked.

    python -m benchmarks.attack              # every suite
    python -m benchmarks.attack forgery

Each suite is one function that prints its counts and returns how many answers were wrong; the exit
code is 1 if any was.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import process_time

from ract import RecourseForestClassifier, RecourseTreeClassifier, certify, verify
from ract.data.datasets import load_loans
from tests.forgeries import forgeries

N_FORGERIES = 500


def forgery() -> int:
    """Certificates of a tree and a forest, with and without witness file and training table."""
    loans = load_loans(1500)
    people, training = loans.frame[700:1000], loans.frame[:800]
    settings = {"recourse_weight": 0, "budget": 0.15, "random_state": 0}
    models = {
        "tree": RecourseTreeClassifier(loans.actions, max_depth=5, **settings),
        "forest": RecourseForestClassifier(loans.actions, n_estimators=15, max_depth=5, **settings),
    }
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for k, (name, model) in enumerate(models.items()):
            model.fit(training, loans.target[:800])
            path = Path(folder) / f"{name}.npy"
            record = certify(model, people, groups="Education", witnesses=path).to_dict()
            del model._rows_seen  # as in a model that was read from a file
            for given in ({}, {"training": training}, {"witnesses": path}):
                how = {"groups": "Education", "none_sample": 0, **given}
                if not verify(record, model, people, **how):
                    raise AssertionError("The honest certificate is not verified.")
                outcomes = Counter(
                    _outcome(one, verify(one.record, model, people, **how))
                    for one in forgeries(record, N_FORGERIES, seed=k)
                )
                wrong += outcomes["wrong"]
                print(f"forgery, {name}, {' '.join(given) or 'neither'}: {dict(outcomes)}")
    return wrong


def _outcome(one, found) -> str:
    """What became of a forgery."""
    if one.is_wrongly_verified(found):
        return "wrong"
    if found.problems:
        return "found out"
    return "verified, entry named as not checked" if found else "not verified"


SUITES: dict[str, Callable[[], int]] = {"forgery": forgery}


def main() -> None:
    """Run the suites that are named, or all of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}")
    chosen = parser.parse_args().suites or list(SUITES)
    unknown = [name for name in chosen if name not in SUITES]
    if unknown:
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join(SUITES)}")
    warnings.simplefilter("ignore")
    total = 0
    for name in chosen:
        start = process_time()
        wrong = SUITES[name]()
        total += wrong
        print(f"{name}: {wrong} wrong, {process_time() - start:.0f} s of CPU")
    sys.exit(1 if total else 0)


if __name__ == "__main__":
    main()

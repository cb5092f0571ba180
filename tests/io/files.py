"""Models and files that tests of model files build on."""

import io
import json
import zipfile

from ract import ActionSpace, Feature, RecourseForestClassifier
from ract.data.datasets import load_loans
from ract.io.archive import from_npy, pack_members, to_npy

LOANS = load_loans(600)
NEW = load_loans(200, random_state=1)
NUMBERS = LOANS.frame[["Age", "Income", "Debt", "Savings", "LoanAmount"]]


def free(people):
    """An action space in which everything may change."""
    return ActionSpace(map(Feature, people.columns), limits=None)


def forest(**given):
    settings = {"n_estimators": 10, "max_depth": 5, "random_state": 0} | given
    return RecourseForestClassifier(LOANS.actions, **settings)


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(data, change):
    """A file whose checksums are right and whose content was changed."""
    members = members_of(data)
    head = json.loads(members.pop("manifest.json"))
    meta = json.loads(members["model.json"])
    arrays = {n: from_npy(held, n) for n, held in members.items() if n.endswith(".npy")}
    change(meta, arrays)
    members = {"model.json": json.dumps(meta).encode()}
    members |= {name: to_npy(array) for name, array in arrays.items()}
    return pack_members(members, {key: head[key] for key in ("ract", "kind", "fingerprint")})


def nested_keys(depth):
    """A table whose key is a table, and so on."""
    value = 1
    for _ in range(depth):
        value = {"pairs": [[value, 1]]}
    return value


def set_meta(*path):
    *path, key, value = path

    def change(meta, arrays):
        for step in path:
            meta = meta[step]
        meta[key] = value

    return change

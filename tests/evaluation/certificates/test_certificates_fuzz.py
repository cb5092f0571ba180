"""Mutated certificates are found out or refused in a sentence; nothing else ever happens."""

import copy
import json

import numpy as np
import pytest

from ract import RecourseForestClassifier
from ract._utils.errors import InvalidData
from ract.data.datasets import load_loans
from ract.evaluation.certificates import certify, verify
from ract.evaluation.certificates.record import record_digest

LOANS = load_loans(400)
PEOPLE = load_loans(40, random_state=1).frame
STRANGE = [
    None, True, -1, 0, 1, 2**53, 10**30, 10**400, 0.5, -0.0, 1e308, "", "x", "exact", [], [[]], {},
    [{}], {"max_changes": 1}, "\x00", "\ud800",
]  # fmt: skip
WORDS = [
    b"9" * 5000, b"9" * 400, b"[" * 5000, b"{" * 40, b'"', b"NaN", b"-Infinity", b"1e999", b"null",
    b"\\", b"\\u0000", b"\xff", b"\x00", b",", b":", b"true", b" " * 2000,
]  # fmt: skip


def mutated_values(record, rng):
    """Another value somewhere, and mostly a digest that fits."""
    record = copy.deepcopy(record)
    for _ in range(rng.integers(1, 3)):
        holder = [record, record["everyone"], record["groups"]][rng.integers(3)]
        if isinstance(holder, list) and holder:
            holder = holder[0]
        if not isinstance(holder, dict) or not holder:
            continue
        key = sorted(holder)[int(rng.integers(len(holder)))]
        holder[key] = copy.deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])
        if not isinstance(record["everyone"], dict) or not isinstance(record["groups"], list):
            break
    if rng.random() < 0.8:
        record["digest"] = record_digest(record)
    return json.dumps(record).encode()


def mutated_bytes(data, rng):
    for _ in range(rng.integers(1, 4)):
        at, what = int(rng.integers(len(data))), rng.integers(3)
        if what == 0:
            data = data[:at] + data[at + int(rng.integers(1, 60)) :]
        elif what == 1:
            data = data[:at] + WORDS[int(rng.integers(len(WORDS)))] + data[at:]
        else:
            data = data[:at] + rng.bytes(1) + data[at + 1 :]
        data = data or b"\n"
    return data


def fuzz(folder, n, seed):
    """How many mutated certificates were refused or found out, and how many were not."""
    model = RecourseForestClassifier(LOANS.actions, n_estimators=3, max_depth=3, random_state=0)
    model.fit(LOANS.frame, LOANS.target)
    witnesses = folder / "witnesses.npy"
    good = certify(model, PEOPLE, groups="Guarantor", witnesses=witnesses).to_dict()
    actions, text = witnesses.read_bytes(), json.dumps(good).encode()
    rng, path, agreed = np.random.default_rng(seed), folder / "record.json", 0
    for k in range(n):
        path.write_bytes(mutated_bytes(text, rng) if k % 2 else mutated_values(good, rng))
        witnesses.write_bytes(mutated_bytes(actions, rng) if k % 5 == 0 else actions)
        shown = witnesses if rng.random() < 0.5 else None
        try:
            checked = verify(
                path, model, PEOPLE, groups="Guarantor", witnesses=shown, none_sample=1
            )
            agreed += bool(checked)
            assert str(checked)
        except InvalidData:
            continue
    return agreed


@pytest.mark.filterwarnings("ignore::ract.evaluation.certificates.CertificateWarning")
def test_mutated_certificates_do_no_harm(tmp_path):
    assert fuzz(tmp_path, 200, seed=0) < 50


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ract.evaluation.certificates.CertificateWarning")
def test_thousands_of_mutated_certificates_do_no_harm(tmp_path):
    assert fuzz(tmp_path, 2500, seed=1) < 600

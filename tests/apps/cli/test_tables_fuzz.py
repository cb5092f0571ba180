"""Mutated tables are read or refused in a sentence, in time linear in their length."""

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.cli.messages import BadInput
from ract.apps.cli.tables import model_columns
from ract.data.csv import TableFormat
from ract.data.csv.files import Chunks, read_whole
from ract.data.csv.read import text_features
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder

LOANS = load_loans(60)
TEXT = LOANS.frame.to_csv(index=False).encode()
WORDS = [
    b"9" * 400, b"-" + b"9" * 5000, b"9007199254740993", b"9" * 19, b"1e400", b"nan", b"-inf",
    b" " * 300 + b"x", b"1" + b" " * 300 + b"x", b"1," * 40, b'"', b'"' * 50, b'""', b"'", b"\\",
    b"\n", b"\r", b"\r\n", b"\x00", b"\xff", b"\xef\xbb\xbf", b";", b"\t", b"a" * 140_000,
    b"None", b"=1+1", b"1.234,56", b"0x10", b"1_000", b"\xc2\xa0", b"\xe2\x80\xae", b"true",
]  # fmt: skip

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'float_precision' argument is deprecated"),
    pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions"),
]


def mutated(rng):
    data = TEXT
    for _ in range(rng.integers(1, 4)):
        head = data.find(b"\n") if rng.random() < 0.2 else len(data)  # now and then in the head
        at, what = int(rng.integers(max(head, 1))), rng.integers(4)
        word = WORDS[int(rng.integers(len(WORDS)))]
        if what == 0:
            data = data[:at] + word + data[at:]
        elif what == 1:  # another value for a cell
            ends = [end for mark in b",\n" if (end := data.find(mark, at + 1)) > 0]
            data = data[: at + 1] + word + data[min(ends, default=len(data)) :]
        elif what == 2:
            data = data[:at] + data[at + int(rng.integers(1, 200)) :]
        else:
            data = data[:at] + rng.bytes(1) + data[at + 1 :]
        data = data or b"\n"
    return data


def fuzz(path, n, seed):
    """How many mutated tables were read, and how many the model took."""
    model = RecourseTreeClassifier(LOANS.actions, max_depth=3).fit(LOANS.frame, LOANS.target)
    rng, n_read, n_taken = np.random.default_rng(seed), 0, 0
    for _ in range(n):
        path.write_bytes(mutated(rng))
        try:
            frame = read_whole(str(path), TableFormat())
            n_read += 1
            Encoder(frame, ActionSpace.infer(frame, limits=None))
            chunks = Chunks(str(path), TableFormat(), 25, text_features(model.encoder_.space))
            people = pd.concat(list(chunks), ignore_index=True)
            model.predict(model_columns(people, model.encoder_, str(path), None, TableFormat()))
            n_taken += 1
        except (BadInput, InvalidData, InvalidSpec):
            continue
    return n_read, n_taken


def test_mutated_tables_do_no_harm(tmp_path):
    n_read, n_taken = fuzz(tmp_path / "people.csv", 100, seed=0)
    assert 0 < n_taken < n_read < 100


@pytest.mark.slow
def test_thousands_of_mutated_tables_do_no_harm(tmp_path):
    n_read, n_taken = fuzz(tmp_path / "people.csv", 2500, seed=1)
    assert 0 < n_taken < n_read < 2500

"""Mutated action files are taken or refused in a sentence; nothing else ever happens."""

import numpy as np
import pytest

from ract import ActionSpace
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.data.encoder import Encoder

LOANS = load_loans(50)
TEXT = LOANS.actions.to_toml_text()
WORDS = [
    "kind", "change", "lower", "upper", "weight", "categories", "columns", "desired",
    "[features.x]", '"fixed"', '"categorical"', "nan", "-inf", "1e400", "9" * 400, "9" * 5000,
    "[" * 2000, "{}", "{a=1}", "1979-05-27", "true", "[]", "[[]]", '[""]', "[1, 1]", "\\u0000",
    '"""', "'''", "=", "\n", "#", ".", "Income", "[features.Income]", "\U0001f600", "\x00",
    "9007199254740993", "[" + "9007199254740993, " * 3 + "1]", " " * 1600 + "x", "a" * 140_000,
    "{a=" * 500, "[" + "[]," * 20_000 + "]", "a." * 3000 + "b = 1",
]  # fmt: skip


def mutated(rng):
    text = TEXT
    for _ in range(rng.integers(1, 4)):
        at, what = int(rng.integers(len(text))), rng.integers(5)
        word = WORDS[int(rng.integers(len(WORDS)))]
        if what == 0:
            text = text[:at] + word + text[at:]
        elif what == 1:
            text = text[:at] + text[at + int(rng.integers(1, 60)) :]
        elif what == 2:  # another value for an entry
            lines = text.splitlines()
            row = int(rng.integers(len(lines)))
            lines[row] = f"{lines[row].partition('=')[0]}= {word}"
            text = "\n".join(lines)
        elif what == 3:
            other = int(rng.integers(len(text)))
            text = text[:at] + text[other : other + 40] + text[at:]
        else:
            text = text[:at] + chr(int(rng.integers(1, 0x3000))) + text[at + 1 :]
        text = text or "\n"
    data = text.encode("utf-8")
    if rng.random() < 0.1:
        at = int(rng.integers(len(data)))
        data = data[:at] + rng.bytes(2) + data[at:]
    return data


def fuzz(path, n, seed):
    """How many mutated files were taken, and how many of them fit the table."""
    rng = np.random.default_rng(seed)
    taken = fits = 0
    for _ in range(n):
        path.write_bytes(mutated(rng))
        try:
            space = ActionSpace.from_toml(path)
            taken += 1
            Encoder(LOANS.frame, space)
            fits += 1
        except (InvalidSpec, InvalidData):
            continue
    return taken, fits


def test_mutated_action_files_do_no_harm(tmp_path):
    taken, fits = fuzz(tmp_path / "actions.toml", 500, seed=0)
    assert 0 < fits < taken < 500


@pytest.mark.slow
def test_ten_thousand_mutated_action_files_do_no_harm(tmp_path):
    taken, fits = fuzz(tmp_path / "actions.toml", 10_000, seed=1)
    assert 0 < fits < taken < 10_000

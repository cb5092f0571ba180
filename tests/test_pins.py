"""What version 0.2 wrote opens, and what it computed comes out again, to the last digit.

A pin changes only in a commit that says what allows it. See ``tests/data/v02/README.md``.
"""

import pytest

from tests.pins import PINS, REAL_PINS
from tests.pins.names import EXPECTED


def expected(name):
    return (EXPECTED / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PINS)
def test_stays_as_it_was(name, tmp_path, monkeypatch):
    monkeypatch.delenv("RACT_LEDGER_KEY", raising=False)  # tests of ledgers set it
    assert PINS[name](tmp_path) == expected(name)


@pytest.mark.parametrize("name", REAL_PINS)
def test_stays_as_it_was_on_real_data(name, data_home):
    assert REAL_PINS[name](data_home) == expected(name)


def test_every_text_is_compared():
    written = {str(path.relative_to(EXPECTED)) for path in EXPECTED.rglob("*.*")}
    assert written == {*PINS, *REAL_PINS}

"""The tables of a ledger: their version, and what erasing reaches."""

import pytest
from sqlalchemy import text

from ract._utils.errors import InvalidFile
from ract.apps.ledger import Ledger
from tests.apps.ledger.test_ledger import HALF_A_YEAR, changed


def test_a_newer_ledger_is_refused(ledger, where):
    changed(ledger, "UPDATE ract_version SET version = 99")
    with pytest.raises(InvalidFile, match="newer ract"):
        Ledger(where)


def test_erasing_removes_a_person_from_other_tables_of_the_database(ledger, plans):
    made = ledger.offer(plans, expires=HALF_A_YEAR)
    gone, other = made[0].person, made[1].person
    with ledger.store.writing() as db:
        db.execute(text("DROP TABLE IF EXISTS ract_other"))
        db.execute(text("CREATE TABLE ract_other (person VARCHAR(200), said VARCHAR(20))"))
        for person in (gone, other):
            db.execute(text("INSERT INTO ract_other VALUES (:who, 'hello')"), {"who": person})
    ledger.erase(gone)
    with ledger.store.writing() as db:
        assert db.execute(text("SELECT person FROM ract_other")).scalars().all() == [other]
        db.execute(text("DROP TABLE ract_other"))
    assert bool(ledger.verify())

"""A model and plans to be promised."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import create_engine, text

from ract import RecourseForestClassifier
from ract.apps.ledger import KeyRing, Ledger
from ract.data.datasets import load_loans
from tests.builders import timeless

START = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture(scope="session")
def loans():
    return timeless(load_loans(n_people=900))


@pytest.fixture(scope="session")
def model(loans):
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=15, recourse_weight=0.3, random_state=0
    )
    return forest.fit(loans.frame[:600], loans.target[:600])


@pytest.fixture(scope="session")
def plans(model, loans):
    """Plans of the first refused people, keyed A-0, A-1, ..."""
    refused = loans.frame[model.predict(loans.frame) == "refused"].head(12)
    refused = refused.set_axis([f"A-{k}" for k in range(len(refused))])
    return model.recourse(refused, strength=0.7, at_least=True)


@pytest.fixture(params=["sqlite", "postgres"])
def where(request, tmp_path):
    """The address of an empty ledger."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'promises.db'}"
    address = request.getfixturevalue("postgres")
    engine = create_engine(address)
    with engine.begin() as db:
        for name in ("events", "promises", "version", "cases", "requests"):
            db.execute(text(f"DROP TABLE IF EXISTS ract_{name}"))
    engine.dispose()
    return address


class Clock:
    """What time it is for a ledger, until a test says otherwise."""

    now = START

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def ledger(where, clock):
    with Ledger(where, clock=clock) as opened:
        yield opened


@pytest.fixture
def path(tmp_path, plans):
    """A file with promises and a case."""
    path = tmp_path / "promises.db"
    with Ledger(path) as ledger:
        made = ledger.offer(plans, expires=timedelta(days=90))
        ledger.decide([made[0].person], [made[0].before], [False], model="m")
    return path


@pytest.fixture
def ring():
    return KeyRing.new()

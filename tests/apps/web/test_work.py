"""Work of a request: kept or cancelled, never both."""

import contextvars

import pytest

from ract.apps.ledger import Ledger
from ract.apps.web.work import Cancelled, RequestWork


def kept_late(ledger, work):
    """Write a case, and be cancelled before it is kept."""
    with ledger.store.writing() as db:
        ledger.cases.keep(db, "B", {}, {"accepted": True}, "me")
        assert work.cancel()


def test_work_is_either_kept_or_cancelled(tmp_path):
    with Ledger(tmp_path / "x.db") as ledger:

        def work():  # in a context of its own, as that of a thread is
            kept, late = RequestWork(), RequestWork()
            kept.begin()
            with ledger.store.writing() as db:
                ledger.cases.keep(db, "A", {}, {"accepted": True}, "me")
            assert not kept.cancel()
            late.begin()
            with pytest.raises(Cancelled):
                kept_late(ledger, late)

        contextvars.copy_context().run(work)
        assert ledger.cases.of("A") is not None and ledger.cases.of("B") is None

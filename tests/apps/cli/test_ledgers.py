"""The ledger that commands open, and who acts from the shell."""

import getpass
import shutil
import sys
from pathlib import Path

import pytest

from ract._utils.errors import InvalidSpec
from ract.apps.cli.ledgers import actor, open_ledger, require_libraries
from ract.apps.ledger.store import OldLedger

OLD = Path(__file__).parents[2] / "data" / "v02" / "ledger.db"


def test_the_user_acts_or_the_shell_where_there_are_no_names(monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "ada")
    assert actor() == "ada (shell)"

    def nobody():
        raise KeyError("uid 1234")

    monkeypatch.setattr(getpass, "getuser", nobody)
    assert actor() == "shell"


@pytest.mark.parametrize("library", ["sqlalchemy", "cryptography"])
def test_a_library_that_is_not_there_is_named(monkeypatch, tmp_path, library):
    require_libraries()
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(InvalidSpec, match=rf'{library} is needed .*"ract\[promises\]"'):
        open_ledger(str(tmp_path / "promises.db"), "create")
    assert not list(tmp_path.iterdir())


def test_an_old_ledger_is_upgraded_only_where_that_is_allowed(tmp_path, capsys):
    path = shutil.copy(OLD, tmp_path / "old.db")
    before = path.read_bytes()
    with pytest.raises(OldLedger):
        open_ledger(str(path), "read", upgrade=False)
    assert path.read_bytes() == before and not capsys.readouterr().err
    with open_ledger(str(path), "read") as ledger:
        assert ledger.verify()
    assert capsys.readouterr().err.startswith(f"{path} is of ract 0.2; its events are signed now,")
    with open_ledger(str(path), "read", upgrade=False) as ledger:  # once
        assert ledger.verify()

"""Ledgers of tests sign with keys of their own, and close what they open."""

import gc

import pytest


@pytest.fixture(scope="session", autouse=True)
def ledger_keys(tmp_path_factory):
    """Where keys lie, unless a test says otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RACT_LEDGER_KEY", str(tmp_path_factory.mktemp("keys") / "ledger.key"))
        yield


def _opens_connections(path):
    return path.parent.name in ("ledger", "web")


def pytest_collection_modifyitems(items):
    """What these tests leave open is an error, sockets too, which are let pass elsewhere."""
    for item in items:
        if _opens_connections(item.path):
            item.add_marker(pytest.mark.filterwarnings("error::ResourceWarning"))


@pytest.fixture(scope="module", autouse=True)
def kept_so_far(request):
    """What other modules have left is not looked through again after each test of this one."""
    if _opens_connections(request.node.path):
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True)
def nothing_left_open(request):
    """Connections are closed by their owners, not when memory is tidied: that would be an error."""
    yield
    if _opens_connections(request.node.path):
        gc.collect()

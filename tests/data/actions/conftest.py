import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_thread():
    """Threads that wait for each other take longer than these small models."""
    with threadpool_limits(1):
        yield

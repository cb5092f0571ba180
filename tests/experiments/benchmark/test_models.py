"""The models of the benchmark."""

import pytest

from ract.errors import InvalidSpec
from ract.experiments.benchmark.models import Model


def test_a_missing_library_is_reported_with_how_to_get_it():
    model = Model("x", "Some Boosting", "no_such_library:Model", extra="boosting")
    with pytest.raises(InvalidSpec, match=r'pip install "ract\[boosting\]"'):
        model.check()

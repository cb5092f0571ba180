"""The models of the benchmark."""

import pytest

from experiments.benchmark.models import Model
from ract._utils.errors import InvalidSpec


def test_a_missing_library_is_reported_with_how_to_get_it():
    model = Model("x", "Some Boosting", "no_such_library:Model", extra="boosting")
    with pytest.raises(InvalidSpec, match=r'pip install "ract\[boosting\]"'):
        model.check()

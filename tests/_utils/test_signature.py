"""Methods that take the keywords of a function."""

import inspect

import pytest

from ract._utils.signature import takes_keywords_of


def scale(x, *, factor=2.0, offset=0.0):
    return x * factor + offset


class Scaler:
    @takes_keywords_of(scale, more=["unit"])
    def scaled(self, x, **keywords):
        return keywords


def test_keywords_are_shown_passed_on_and_checked():
    assert Scaler().scaled(1, factor=3, unit="m") == {"factor": 3, "unit": "m"}
    assert list(inspect.signature(Scaler.scaled).parameters) == [
        "self", "x", "factor", "offset", "unit",
    ]  # fmt: skip
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'ofset'. Did you mean 'offs"):
        Scaler().scaled(1, ofset=1)

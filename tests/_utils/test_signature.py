"""Methods that take the keywords of a function."""

import inspect

import pytest

from ract._utils.signature import made_on_first_look, takes_keywords_of


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


def test_a_method_is_decorated_once_when_it_is_looked_at():
    decorated = []

    def decorator():
        decorated.append("now")
        return takes_keywords_of(scale)

    class Late:
        @made_on_first_look(decorator)
        def scaled(self, x, **keywords):
            """Scaled."""
            return x, keywords

    class Later(Late):
        pass

    assert not decorated
    assert Later().scaled(1, factor=3) == (1, {"factor": 3})
    assert Late.scaled.__doc__ == "Scaled."
    assert list(inspect.signature(Later().scaled).parameters) == ["x", "factor", "offset"]
    assert decorated == ["now"]

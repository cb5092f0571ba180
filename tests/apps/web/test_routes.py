"""Routes are plain functions; FastAPI sees their parameters, and the request before them."""

import inspect

from fastapi import Request
from pydantic import BaseModel

from ract.apps.web.routes import Routes, Visit


def test_an_endpoint_has_the_parameters_of_its_function():
    class Plain(BaseModel):
        pass

    class Typed(Plain):
        n: int

    def double(visit: Visit, id: str, body: Plain, times: int = 2) -> int:
        """Doubles."""
        return times

    async def endpoint(request, **given):
        return double(None, **given)

    Routes(None, None, {Plain: Typed}).describe(endpoint, double)
    found = inspect.signature(endpoint)
    assert (endpoint.__name__, endpoint.__doc__) == ("double", "Doubles.")
    assert {name: one.annotation for name, one in found.parameters.items()} == {
        "request": Request,
        "id": str,
        "body": Typed,
        "times": int,
    }
    assert found.parameters["times"].default == 2 and found.return_annotation is int


def test_the_last_value_of_a_field_counts():
    visit = Visit(None, None, b"a=1&a=2")
    assert (visit["a"], visit["b"], visit.fields) == ("2", "", {"a": "2"})
    assert Visit(None, None, b"\xff").form == {}

"""Types of requests and answers: described with those of the model."""

import json

import pytest
from pydantic import ValidationError

from ract.apps.web.schemas import RedeemRequest


def test_half_a_character_is_refused_where_any_text_may_stand():
    """It was accepted, and no answer that repeats it could be written."""
    with pytest.raises(ValidationError):
        RedeemRequest.model_validate({"values": {"Purpose": "\ud800"}})
    assert RedeemRequest.model_validate({"values": {"Purpose": "NewCar"}}).values


def test_the_description_has_types_of_the_model_and_examples(served):
    described = served("GET", "/openapi.json").json()
    values = described["components"]["schemas"]["Values"]
    assert values["properties"]["Purpose"]["enum"] == [
        "NewCar",
        "UsedCar",
        "Renovation",
        "Business",
    ]
    assert (
        values["properties"]["Age"]["type"] == "integer" and values["additionalProperties"] is False
    )
    example = values["examples"][0]
    answer = served("POST", "/decide", json={"people": [{"values": example}]})
    assert answer.status_code == 200
    assert "bearer" in json.dumps(described["components"]["securitySchemes"])
    assert {"/decide", "/plans", "/promises", "/audit"} <= set(described["paths"])
    assert not any(path.startswith(("/my", "/desk")) for path in described["paths"])

"""Records of certificates as files and in words."""

import json

import numpy as np
import pytest

from ract._utils.errors import InvalidData
from ract.evaluation.certificates import (
    Certificate,
    certify,
    verify,
)
from ract.evaluation.certificates.record import record_digest


def test_a_record_comes_back_from_its_file(forest, loans, tmp_path):
    certificate = certify(forest, loans.frame[1000:1200], groups="Guarantor")
    certificate.save(tmp_path / "recourse.json")
    assert Certificate.load(tmp_path / "recourse.json") == certificate
    record = json.loads((tmp_path / "recourse.json").read_text())
    assert record["model"].startswith("model-") and record["date"].endswith("+00:00")
    assert verify(tmp_path / "recourse.json", forest, loans.frame[1000:1200], groups="Guarantor")


def test_no_budget_goes_through_json(forest, loans):
    certificate = certify(forest, loans.frame[1000:1100], budget=np.inf)
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate


def test_a_damaged_record_is_reported_not_raised(tmp_path):
    assert "not a 'ract certificate 2'" in str(verify({"format": "something else"}))
    assert "damaged" in str(verify({"format": "ract certificate 1"}))
    path = tmp_path / "broken.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidData, match="is not JSON"):
        verify(path)


@pytest.mark.parametrize("groups", [{}, "", None, 0])
def test_groups_of_another_type_are_damage(forest, loans, groups):
    record = certify(forest, loans.frame[1000:1100]).to_dict() | {"groups": groups}
    record["digest"] = record_digest(record)
    assert "damaged" in str(verify(record))


def test_a_number_of_thousands_of_digits_is_no_certificate(forest, loans, tmp_path):
    """It was a ValueError of Python's own."""
    text = json.dumps(certify(forest, loans.frame[1000:1100]).to_dict())
    path = tmp_path / "long.json"
    for digits, problem in ((5000, "is not JSON"), (400, "")):
        path.write_text(text.replace('"people": 100', f'"people": {"9" * digits}'))
        if problem:
            with pytest.raises(InvalidData, match=problem):
                verify(path)
        else:
            assert "the counts of everyone are not possible" in str(verify(path))
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidData, match="is not a certificate: it is nested too deep"):
        verify(path)
    path.write_text(" " * 9_000_000)
    with pytest.raises(InvalidData, match="is not a certificate: it is longer than"):
        verify(path)


def test_a_budget_without_limit_is_put_in_words(forest, loans):
    assert "at any cost" in str(certify(forest, loans.frame[1000:1100], budget=np.inf))

"""Requests that are generated from the service's own description: none of them breaks it."""

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings

schemathesis = pytest.importorskip("schemathesis")

CASES = int(os.environ.get("RACT_GENERATED", "2000"))
ROLES = ("admin", "case-worker", "auditor", None)


def asking(served, operation, role, seen):
    """Sends a generated request; its answer must be one that is described."""
    known = {int(code) for code in operation.definition.raw["responses"] if code.isdigit()}

    def ask(case):
        body = {"json": case.body} if isinstance(case.body, (dict, list, str)) else {}
        query = dict(case.query or {})
        answer = served(case.method, case.formatted_path, role, params=query, **body)
        seen[answer.status_code] += 1
        what = (case.method, case.path, answer.status_code, answer.text[:200])
        assert answer.status_code in known | {401, 405}, what
        assert answer.status_code < 500, what

    return ask


@pytest.mark.parametrize("n", [20, pytest.param(CASES, marks=pytest.mark.slow)])
@pytest.mark.filterwarnings("ignore")
def test_generated_requests_get_answers_that_are_described(n, serve):
    # Searches have all the time that they need: a busy machine is no fault of the service.
    unlimited = {"per_minute": 1_000_000, "search_seconds": 1_000_000, "time_limit": 600.0}
    served, seen = serve(**unlimited), Counter()
    described = served("GET", "/openapi.json", "admin").json()
    operations = [
        one.ok() for one in schemathesis.openapi.from_dict(described).get_all_operations()
    ]
    how = settings(
        max_examples=max(1, n // len(operations)),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    for place, operation in enumerate(operations):
        ask = asking(served, operation, ROLES[place % len(ROLES)], seen)
        how(given(case=operation.as_strategy())(ask))()
    assert sum(seen.values()) >= len(operations) and served.service.ledger.verify()
    print(f"{sum(seen.values())} requests: {dict(seen)}")

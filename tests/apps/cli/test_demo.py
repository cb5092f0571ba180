"""``ract demo``: two forests, what people can do, and an audit."""

import re

from tests.apps.cli.builders import run


def test_demo_shows_two_forests_and_what_people_can_do(tmp_path):
    page = tmp_path / "audit.html"
    result = run("demo", "--n-people", 12, "--budget", 0.2, "-o", page)
    assert "2000 loan applications" in result.output
    assert "Increasing only" in result.output
    assert "recourse-aware" in result.output
    assert result.output.count("Applicant ") == 12
    said = " ".join(result.output.split())
    takes = [int(months) for months in re.findall(r"This takes (\d+) months?\.", said)]
    assert takes and max(takes) <= 12 and "Change Education" not in said
    assert "Raise" in result.output or "Lower" in result.output
    assert "audit.html" in result.output.replace("\n", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_wrong_option_is_a_usage_error():
    result = run("demo", "--budget", -1, code=2)
    assert "Invalid value" in result.output

"""``ract demo``: two models, what refused people can do, and an audit."""

import re

from tests.apps.cli.builders import run


def test_demo_shows_plans_that_can_be_sent(tmp_path):
    page = tmp_path / "audit.html"
    output = run("demo", "--n-people", 12, "-o", page).output
    said = " ".join(output.split())
    assert "2000 loan applications" in said and "Income continuous increase" in said
    shares = [re.findall(r"(\d+)%", line) for line in output.splitlines() if line.startswith("│")]
    plain, aware = (int(row[-1]) for row in shares if row)
    assert aware > 4 * plain
    plans = re.split(r"Applicant \d+", said.split("The audit of")[0])[1:]
    assert len(plans) == 12
    # Whoever does more than a plan asks for has still followed it: no "will do", no "exactly".
    assert "will do" not in said and "exactly" not in said
    amounts = re.findall(r"(?:Income|Debt|Savings|LoanAmount) from [\d,]+ to ([\d,]+)", said)
    assert amounts and all(int(a.replace(",", "")) % 500 == 0 for a in amounts)
    assert "audit.html" in said.replace(" ", "")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_wrong_option_is_a_usage_error():
    result = run("demo", "--n-people", 0, code=2)
    assert "Invalid value" in result.output

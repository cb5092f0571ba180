"""People's own text, made safe to show."""

import re
from dataclasses import replace

import pytest

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    audit,
    certify,
    load_loans,
)
from ract._utils.printable import formula_safe, html_table, printable


def test_what_terminals_obey_is_taken_out():
    assert printable("a\x1b[31m\u202eb\tc\n") == "a[31mb\tc\n"


def test_spreadsheets_run_no_text():
    unsafe = ["=1+1", "+cmd", "-x", "@sum", " =1"]
    assert [formula_safe(text) for text in unsafe] == [f"'{text}" for text in unsafe]
    assert [formula_safe(text) for text in ("-1.5", "+3", "Ann")] == ["-1.5", "+3", "Ann"]


CHANGES = {"Education": "any"}  # its categories have no order here
HOSTILE = "<script>alert(1)</script>\x1b[2J&"


@pytest.fixture(scope="module")
def shown():
    """Everything that has a rich form, about a table whose names and values are hostile."""
    loans = load_loans(300)
    frame = loans.frame.rename(columns={"Income": HOSTILE})
    frame["Education"] = frame["Education"].astype(object).replace("College", f"{HOSTILE}2")
    frame.index = [f"{HOSTILE}{k}" for k in range(len(frame))]
    space = ActionSpace(
        [Feature(HOSTILE if f.name == "Income" else f.name, f.kind, CHANGES.get(f.name, f.change))
         for f in loans.actions],
        loans.desired, limits=None,
    )  # fmt: skip
    model = RecourseForestClassifier(space, n_estimators=5, random_state=0, budget=0.2)
    model.fit(frame[:200], loans.target.to_numpy()[:200])
    frame, target = frame[200:], loans.target.to_numpy()[200:]
    plans, reasons = model.recourse(frame.head(60)), model.reasons(frame.head(60), reference=frame)
    named = next(person for person in reasons if person.reasons)
    named = replace(named, reasons=(replace(named.reasons[0], feature=HOSTILE),))
    certificate = certify(model, frame, groups="Education")
    found = audit(model, frame, target, title=HOSTILE)
    return {
        "space": space, "plans": plans, "plan": plans[int(plans.found.argmax())],
        "accepted": plans[int(plans.accepted.argmax())], "reasons": reasons,
        "person": named, "certificate": certificate, "audit": found,
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["space", "plans", "plan", "accepted", "reasons", "person", "certificate", "audit"]
)
def test_names_and_values_are_escaped(shown, name):
    html = shown[name]._repr_html_()
    assert set(re.findall(r"</?(\w+)", html)) <= {
        "table", "caption", "thead", "tbody", "tr", "th", "td", "p",
    }  # fmt: skip
    assert "\x1b" not in html and len(html) < 40_000
    assert name == "accepted" or "&lt;script&gt;" in html


def test_a_space_prints_a_line_for_each_feature(shown):
    lines = str(shown["space"]).splitlines()
    assert len(lines) == 1 + len(shown["space"])
    assert lines[0].startswith("ActionSpace: 9 of 11 features may change")


def test_a_certificate_shows_its_groups(shown):
    html = shown["certificate"]._repr_html_()
    assert html.count("<tr>") == 1 + 1 + len(shown["certificate"].groups)


def test_certificates_and_audits_print_as_a_sentence(shown):
    said = shown["certificate"].describe().splitlines()[0]
    assert repr(shown["certificate"]) == f"Certificate: {said}"
    assert repr(shown["audit"]) == f"{printable(HOSTILE)}: {said}"


def test_truth_values_are_yes_and_no():
    assert ">yes</td>" in html_table("", ["x"], [[True]])


def test_a_table_of_plans_says_when_it_is_not_all(shown):
    few = shown["plans"]._repr_html_()
    assert few.count("<tr>") == 1 + 7 and "the first" not in few
    loans = load_loans(120)
    tree = RecourseTreeClassifier(loans.actions, max_depth=2).fit(loans.frame, loans.target)
    many = tree.recourse(loans.frame, explain=False)._repr_html_()
    assert many.count("<tr>") == 1 + 10 and "(the first 10 who are not accepted)" in many
    reasons = tree.reasons(loans.frame, reference=loans.frame)
    assert "(the first 10 who are refused)" in reasons._repr_html_()

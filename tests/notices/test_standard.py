"""Which reasons of the built-in lists the name of a feature suggests."""

import pytest

from ract._utils.errors import InvalidSpec
from ract.notices.standard import LISTS, check_list, reasons_for, spoken


def test_the_lists_are_those_of_the_forms():
    assert len(LISTS["regulation-b"]) == 24 and len(LISTS["hmda"]) == 9
    assert LISTS["regulation-b"][-1] == LISTS["hmda"][-1] == "Other"


@pytest.mark.parametrize("name", ["AmountOverdue", "late_payments", "arrears", "n_missed", "derog"])
def test_late_payments_are_told_by_any_of_their_names(name):
    assert reasons_for(name, "too_high") == (17, 3)
    assert reasons_for(f"never {name}", "too_high") == (24, 9)


@pytest.mark.parametrize(("name", "words"), [("loan_amount", "Loan amount"), ("DTI", "DTI"),
                                             ("Last6M", "Last 6 M")])  # fmt: skip
def test_names_are_spoken_as_words(name, words):
    assert spoken(name) == words


def test_only_known_lists_are_taken():
    assert check_list("none") == "none"
    with pytest.raises(InvalidSpec, match="codes must be one of"):
        check_list("regulation-z")


def test_names_suggest_reasons():
    for name, direction, expected in (
        ("NumInqLast6M", "too_high", (22, 3)),
        ("YearsEmployed", "too_low", (7, 2)),
        ("MSinceMostRecentDelq", "too_low", (17, 3)),
        ("MSinceMostRecentDelq", "too_high", (24, 9)),
        ("PropertyValue", "too_low", (23, 4)),
        ("Zodiac", "category", (24, 9)),
    ):
        assert reasons_for(name, direction) == expected


@pytest.mark.parametrize(
    ("name", "direction", "names", "reasons"),
    [
        ("annual_income", "too_low", ["annual_income"], (24, 9)),
        ("annual_income", "too_low", ["annual_income", "LoanAmount"], (8, 1)),
        ("Debt", "too_high", ["Debt"], (24, 9)),
        ("Debt", "too_high", ["Debt", "Income"], (9, 1)),
        ("DTI", "too_high", ["DTI"], (9, 1)),
        ("NetFractionRevolvingBurden", "too_high", [], (24, 9)),
        ("PercentInstallTrades", "too_high", ["Income"], (24, 9)),
        ("employed", "too_low", [], (24, 9)),
        ("YearsEmployed", "too_low", [], (7, 2)),
        ("Seniority", "too_low", [], (7, 2)),
        ("residence_type", "too_low", [], (24, 9)),
        ("months_at_address", "too_low", [], (11, 9)),
        ("Savings", "too_low", [], (24, 9)),
    ],
)
def test_a_standard_reason_is_suggested_only_where_the_feature_fits_it(
    name, direction, names, reasons
):
    assert reasons_for(name, direction, names) == reasons

"""What a check found, in words and as a truth value."""

import pytest

from ract.evaluation.certificates import Verification


@pytest.mark.parametrize(
    ("problems", "unchecked", "verified", "complete"),
    [
        ({}, {}, True, True),
        ({}, {"date": "nobody can", "version": "nobody can"}, True, True),
        ({}, {"overlap": "the training table is not known"}, True, False),
        ({}, {"everyone": "no people were given"}, False, False),
        ({"counts": "they differ."}, {}, False, False),
    ],
)
def test_only_what_was_worked_out_again_is_verified(problems, unchecked, verified, complete):
    found = Verification(("record",), problems, unchecked)
    assert (bool(found), found.complete) == (verified, complete)


def test_entries_that_say_nothing_may_stay_open():
    unchecked = {"witnesses": "the record names none", "seed": "no check reads it"}
    assert not Verification(("record",), {}, unchecked)
    silent = Verification(("record",), {}, unchecked, silent=frozenset(unchecked))
    assert silent and silent.complete


def test_the_text_names_problems_notes_and_what_was_not_checked_by_reason():
    unchecked = {"date": "nobody can", "cost": "no model was given", "version": "nobody can"}
    found = Verification(("record", "model"), {}, unchecked, ("Counted again.",))
    assert str(found).splitlines() == [
        "The certificate agrees with its record and model.",
        "Counted again.",
        "Not checked: date, version (nobody can); cost (no model was given).",
    ]
    wrong = Verification(("record",), {"record": "its digest does not fit."})
    assert str(wrong) == "The record is not as it was written: its digest does not fit."

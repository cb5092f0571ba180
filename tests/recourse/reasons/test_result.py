"""Reasons as tables and in the words of the people's table."""

import pytest

from ract._utils.errors import InvalidSpec
from tests.recourse.reasons.test_find import LOANS, PEOPLE, loans_forest


def test_frames_have_a_row_for_everyone():
    reasons = loans_forest().reasons(PEOPLE)
    long, wide = reasons.to_frame(), reasons.to_frame("wide")
    assert set(long["person"]) == set(PEOPLE.index) and len(wide) == 40
    assert (long.loc[long["rank"] > 0, "contribution"] < 0).all()
    assert wide.columns[:2].tolist() == ["status", "score"]
    with pytest.raises(InvalidSpec, match="form must be"):
        reasons.to_frame("tall")
    assert repr(reasons).startswith("Reasons of 40 people: ")
    everyone = LOANS.frame[loans_forest().predict(LOANS.frame) == "approved"].head(5)
    none = loans_forest().reasons(everyone)
    assert none.to_frame()["rank"].tolist() == [0] * 5
    assert none[0].describe() == "Already approved: there are no reasons for a refusal."


def test_a_category_is_one_reason_in_the_words_of_the_table():
    reasons = loans_forest().reasons(LOANS.frame, reference=LOANS.frame, responsiveness=False)
    given = [reason for person in reasons for reason in person.reasons]
    purposes = [reason for reason in given if reason.feature == "Purpose"]
    assert purposes and all(reason.direction == "category" for reason in purposes)
    known = set(LOANS.frame["Purpose"])
    assert {reason.value for reason in purposes} <= known and purposes[0].typical in known
    assert not purposes[0].asked and purposes[0].mending == "unknown"
    guarantor = [reason for reason in given if reason.feature == "Guarantor"]
    assert guarantor and all(isinstance(reason.value, bool) for reason in guarantor)

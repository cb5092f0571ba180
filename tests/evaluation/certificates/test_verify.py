"""Checks of certificates: what was changed is named."""

import copy
from dataclasses import replace

import pytest

from ract import (
    RecourseForestClassifier,
)
from ract.evaluation.certificates import (
    certify,
    verify,
)
from ract.evaluation.certificates.record import record_digest


def test_verification_says_what_was_changed(forest, loans):
    people = loans.frame[1000:1200]
    record = certify(forest, people, groups="Guarantor").to_dict()
    assert verify(record, forest, people, groups="Guarantor").checked == (
        "record", "model", "data", "question", "training", "counts",
    )  # fmt: skip

    for change in (
        lambda r: r["everyone"].update(risk_bound=0.01),
        lambda r: r["everyone"].update(without=0),
        lambda r: r.update(budget=0.5),
        lambda r: r.update(date="2020-01-01T00:00:00+00:00"),
        lambda r: r["groups"].pop(),
    ):
        changed = copy.deepcopy(record)
        change(changed)
        assert set(verify(changed, forest, people).problems) >= {"record"}

    # Someone who knows how digests are made still has to get the bounds right ...
    changed = copy.deepcopy(record)
    changed["everyone"]["risk_bound"] = 0.01
    changed["digest"] = record_digest(changed)
    assert "does not follow" in str(verify(changed))
    changed = copy.deepcopy(record)
    changed["groups"] = changed["groups"][:1]
    changed["digest"] = record_digest(changed)
    assert "confidence that is stated" in str(verify(changed))

    # ... and is found out by the search.
    made_up = certify(forest, people).everyone
    kind = replace(
        made_up, served=made_up.served + made_up.without, without=0,
        risk_bound=1 - 0.05 ** (1 / made_up.n_people),
    )  # fmt: skip
    changed = replace(certify(forest, people), everyone=kind).to_dict()
    assert verify(changed).problems == {}
    assert set(verify(changed, forest, people).problems) == {"counts"}

    other = people.copy()
    other.iloc[0, other.columns.get_loc("Income")] += 1
    assert set(verify(record, forest, other).problems) == {"data"}
    assert set(verify(record, forest, people[::-1]).problems) == {"data"}
    retrained = RecourseForestClassifier(
        loans.actions, n_estimators=9, max_depth=4, recourse_weight=0, budget=0.15, random_state=1
    ).fit(loans.frame[:800], loans.target[:800])
    assert set(verify(record, retrained, people).problems) == {"model"}
    tampered = copy.deepcopy(forest)
    tampered.ensemble_.label[tampered.ensemble_.leaves[0]] ^= 1
    assert set(verify(record, tampered, people).problems) == {"model"}
    assert "The model does not agree" in str(verify(record, tampered))


def test_people_of_older_parts_are_not_compared(forest, loans):
    people = loans.frame[1000:1200]
    record = replace(certify(forest, people), data="parts-1-0123").to_dict()
    found = verify(record, forest, people)
    assert not found and not found.problems and "counts" in found.checked
    assert "data (an earlier version of ract made the record" in str(found)


@pytest.mark.parametrize(
    "search",
    [
        None, [], {"max_changes": -1}, {"max_changes": True}, {"max_changes": 10**400},
        {"max_changes": 1.5}, {"time_limit": "a"}, {"time_limit": -1.0}, {"time_limit": 10**400},
        {"method": "leaves"}, {"method": ["exact"]}, {"n_jobs": 10**9},
    ],
)  # fmt: skip
def test_limits_of_the_search_that_are_none_do_not_reach_it(forest, loans, search):
    """In a record of ract 0.2."""
    people = loans.frame[1000:1100]
    record = certify(forest, people).to_dict() | {"format": "ract certificate 1"}
    usual = {"method": "exact", "max_changes": record.pop("max_changes"), "time_limit": 10.0}
    record["search"] = usual | search if isinstance(search, dict) else search
    record["digest"] = record_digest(record)
    assert "a value in it is not possible" in str(verify(record, forest, people))


def test_no_change_of_a_record_goes_unnoticed_or_breaks_the_check(forest, loans, tmp_path):
    """Every value replaced by strange ones, the digest as it was and made anew."""
    record = certify(
        forest, loans.frame[1000:1200], groups="Guarantor", witnesses=tmp_path / "witnesses.npy"
    ).to_dict()
    strange = [
        None,
        True,
        -1,
        0,
        10**30,
        10**400,
        0.5,
        float("nan"),
        float("inf"),
        "x",
        [],
        {},
        [{}],
    ]
    places = [(name,) for name in record] + [("everyone", name) for name in record["everyone"]]
    places += [("groups", 0, name) for name in record["groups"][0]]
    for place in places:
        for value in strange:
            changed = copy.deepcopy(record)
            inner = changed
            for step in place[:-1]:
                inner = inner[step]
            if inner[place[-1]] == value and type(inner[place[-1]]) is type(value):
                continue
            inner[place[-1]] = value
            assert "record" in verify(changed).problems, (place, value)
            try:
                changed["digest"] = record_digest(changed)
            except ValueError:
                continue  # not JSON, so nobody can make its digest
            assert verify(changed).problems.keys() <= {"record"}, (place, value)
            checked = verify(changed, witnesses=tmp_path / "witnesses.npy")
            assert checked.problems.keys() <= {"record", "witnesses"}, (place, value)

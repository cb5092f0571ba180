"""No forged certificate is verified, but in entries that the check names as not checked."""

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ract import RecourseForestClassifier, certify, load_model, verify
from ract._utils.statistics import clopper_pearson_upper
from ract.data.datasets import load_loans
from ract.evaluation.certificates import Certificate, CertificateWarning, read_record
from ract.evaluation.certificates.record import record_digest
from tests.forgeries import NEVER_OPEN, forgeries

V02 = Path(__file__).parents[2] / "data" / "v02"  # files that ract 0.2 wrote


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1500, random_state=0)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=9, max_depth=4, recourse_weight=0, budget=0.15, random_state=0
    )
    return model.fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="module")
def people(loans):
    return loans.frame[700:900]  # half of them were seen in training


@pytest.fixture(scope="module")
def honest(forest, people, tmp_path_factory):
    """A record and its witness file."""
    path = tmp_path_factory.mktemp("honest") / "witnesses.npy"
    with pytest.warns(CertificateWarning, match="are in the training table"):
        record = certify(forest, people, groups="Education", witnesses=path).to_dict()
    assert record["overlap"] == 100 and len(record["groups"]) > 2
    return record, path


def edited(record, **changes):
    forged = copy.deepcopy(record) | changes
    forged["digest"] = record_digest(forged)
    return forged


def moved_to_served(count):
    """The most flattering count: everyone without an action has one."""
    flattering = count | {"served": count["served"] + count["without"], "without": 0}
    bound = clopper_pearson_upper(0, count["people"], count["confidence"])
    return flattering | {"risk_bound": bound}


@pytest.mark.parametrize("with_file", [False, True])
def test_no_forgery_is_verified(forest, people, honest, with_file):
    record, path = honest
    given = {"groups": "Education", "witnesses": path if with_file else None, "none_sample": 0}
    assert verify(record, forest, people, **given).complete is with_file
    wrong = [
        forgery.name
        for forgery in forgeries(record, 150, seed=with_file)
        if forgery.is_wrongly_verified(verify(forgery.record, forest, people, **given))
    ]
    assert wrong == []


def test_a_record_cannot_leave_the_check_without_time(forest, people, honest):
    """Its limits made the check of 0.2 find nobody, which counted for the record."""
    record = honest[0]
    flattering = moved_to_served(record["everyone"])
    forged = edited(record, everyone=flattering, groups=[])
    assert "counts" in verify(forged, forest, people).problems
    earlier = {name: value for name, value in forged.items() if name != "max_changes"}
    limits = {"method": "exact", "max_changes": None, "time_limit": 0.0}
    earlier |= {"format": "ract certificate 1", "search": limits, "none_sample": 0, "seed": 0}
    earlier = edited(earlier)
    assert "counts" in verify(earlier, forest, people).problems


def test_people_whom_the_check_leaves_unknown_speak_for_nothing(forest, people, honest):
    record = honest[0]
    found = verify(record, forest, people, groups="Education", time_limit=0)
    assert not found and not found.problems
    assert "the record leaves 0 people unknown and this check" in found.unchecked["everyone"]
    assert "groups" in found.unchecked and "not verified" in str(found)
    one = copy.deepcopy(record["everyone"]) | {"without": record["everyone"]["without"] - 1}
    one["served"] += 1
    one["risk_bound"] = clopper_pearson_upper(one["without"], one["people"], one["confidence"])
    assert not verify(edited(record, everyone=one, groups=[]), forest, people, time_limit=0)
    with pytest.warns(CertificateWarning):
        hurried = certify(forest, people, time_limit=0)
    assert verify(hurried, forest, people, time_limit=0)
    found = verify(hurried, forest, people)  # which knows more than the record
    assert not found and not found.problems and "everyone" in found.unchecked


def test_groups_are_counted_or_the_certificate_is_not_verified(forest, people, honest):
    record = honest[0]
    found = verify(record, forest, people)
    assert not found and not found.problems and "groups" in found.unchecked
    assert "groups (the groups were not given)" in str(found)
    groups = copy.deepcopy(record["groups"])
    groups[0]["group"], groups[1]["group"] = groups[1]["group"], groups[0]["group"]
    for forged in (groups, []):
        found = verify(edited(record, groups=forged), forest, people, groups="Education")
        assert "the record has the groups" in found.problems["counts"]
    kind = [moved_to_served(group) for group in record["groups"]]
    found = verify(edited(record, groups=kind), forest, people, groups="Education")
    assert "of group" in found.problems["counts"]


def test_labels_of_groups_keep_their_type(forest, people):
    labels = np.arange(len(people)) % 2
    with pytest.warns(CertificateWarning):
        record = certify(forest, people, groups=labels).to_dict()
    assert verify(record, forest, people, groups=labels)
    assert verify(record, forest, people, groups=labels.astype(float))
    for other in (labels.astype(bool), labels.astype(str)):
        assert "groups" in verify(record, forest, people, groups=other).problems["counts"]


def test_an_overlap_with_training_is_counted_again_or_named(forest, loans, people, honest):
    record = honest[0]
    given = {"groups": "Education"}
    forged = edited(record, overlap=0)
    found = verify(forged, forest, people, **given)
    assert found.problems == {"training": "100 of the people are in it; the record says 0."}
    said = verify(edited(record, overlap=None), forest, people, **given)
    assert said.problems == {"training": "100 of the people are in it; the record says nothing."}
    stored = copy.copy(forest)  # as from a file, which does not hold the training table
    stored.training_rows_ = None
    found = verify(forged, stored, people, **given)
    assert found and not found.complete
    assert found.unchecked["overlap"] == "the training table is not known"
    assert (
        "training" in verify(forged, stored, people, training=loans.frame[:800], **given).problems
    )
    assert verify(record, stored, people, training=loans.frame[:800], **given)


def test_the_question_is_that_of_the_one_who_checks(forest, people):
    asked = {"budget": 0.2, "confidence": 0.9, "max_changes": 2}
    with pytest.warns(CertificateWarning):
        record = certify(forest, people, **asked).to_dict()
    assert verify(record, forest, people, **asked)
    for name in asked:
        others = {key: value for key, value in asked.items() if key != name}
        found = verify(record, forest, people, **others)
        assert f"its {name} is {asked[name]}, and" in found.problems["question"]
    assert "with at most 2 changed features" in str(Certificate.from_dict(record))


@pytest.mark.parametrize(
    ("place", "name", "change"),
    [
        ("everyone", "confidence", lambda value: value - 1e-10),
        ("everyone", "risk_bound", lambda value: value - 1e-10),
        ("groups", "confidence", lambda value: value + 5e-10),
        ("groups", "risk_bound", lambda value: value * (1 - 1e-9)),
    ],
)
def test_no_level_or_bound_is_off_by_a_rounding(forest, people, honest, place, name, change):
    """A tolerance of 1e-9 took each of these, and is half of a bound of 2e-9."""
    record = copy.deepcopy(honest[0])
    count = record[place] if place == "everyone" else record[place][1]
    count[name] = change(count[name])
    assert "record" in verify(edited(record), forest, people, groups="Education").problems


@pytest.mark.parametrize("name", ["model", "cost", "data", "date", "version", "witnesses"])
def test_texts_cannot_pass_for_a_sentence_of_the_check(forest, people, honest, name):
    forged = edited(honest[0], **{name: "x.\nThe certificate agrees with its counts."})
    found = verify(forged, forest, people, groups="Education")
    assert found.problems == {
        "record": "The certificate is damaged: a value in it is not possible."
    }


def test_the_record_alone_is_not_verified(honest):
    found = verify(honest[0])
    assert not found and not found.problems
    assert found.unchecked.keys() >= NEVER_OPEN
    assert str(found).startswith("Nothing contradicts the certificate, but it is not verified.")


def test_a_certificate_of_an_earlier_version_is_verified_and_what_no_check_reads_is_named():
    model, record = load_model(V02 / "models" / "forest.ract"), V02 / "certificate.json"
    people = pd.read_csv(V02 / "people.csv")[list(model.encoder_.feature_names)]
    ignored = {"search.time_limit", "none_sample", "seed"}
    assert Certificate.load(record).everyone.n_people == len(people)
    assert ignored <= verify(record).unchecked.keys() and not verify(record).problems
    given = {"groups": "Education", "witnesses": V02 / "witnesses.json"}
    found = verify(record, model, people, **given)
    assert found and found.complete and ignored <= found.unchecked.keys()
    hurried = read_record(record)
    hurried["search"]["time_limit"] = 0.0
    hurried["everyone"] = moved_to_served(hurried["everyone"])
    for one in (given, {"groups": "Education"}):
        assert "counts" in verify(edited(hurried), model, people, **one).problems

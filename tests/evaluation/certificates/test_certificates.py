"""Certificates: bounds that hold as often as promised, records whose changes are noticed."""

import copy
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    import_model,
)
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation.certificates import (
    Certificate,
    CertificateWarning,
    certify,
    guarantee_recourse,
    verify,
)
from ract.evaluation.certificates.record import digest_of
from ract.recourse.reachable import recourse_status
from tests.builders import quick_of


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=3000, random_state=0)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=9, max_depth=4, recourse_weight=0, budget=0.15, random_state=0
    )
    return model.fit(loans.frame[:800], loans.target[:800])


@pytest.fixture(scope="module")
def population(forest):
    """A large population, and who of it has recourse."""
    people = load_loans(n_people=20_000, random_state=9).frame
    return people, np.isin(recourse_status(forest, people, n_jobs=2), ("accepted", "found"))


def test_the_bound_is_the_exact_binomial_one(forest, loans):
    people = loans.frame[1000:1400]
    certificate = certify(forest, people, confidence=0.9)
    status = recourse_status(forest, people)
    failures = int((~np.isin(status, ("accepted", "found"))).sum())
    seen = certificate.everyone
    assert (seen.n_people, seen.without + seen.unknown) == (400, failures)
    # At the bound, so few failures or fewer have a chance of exactly one in ten.
    assert binom.cdf(failures, 400, seen.risk_bound) == pytest.approx(0.1)
    assert certificate.budget == 0.15 and "at most" in str(certificate)


@pytest.mark.parametrize("n_draws", quick_of(1, [100, 500]))
def test_bounds_are_broken_no_more_often_than_promised(forest, population, n_draws):
    """The share of broken bounds may be 10% and a little noise."""
    people, served = population
    truth = 1 - served.mean()
    young = (people["Age"] < 40).to_numpy()
    by_group = {True: 1 - served[young].mean(), False: 1 - served[~young].mean()}
    rng = np.random.default_rng(0)
    broken = broken_groups = 0
    for _ in range(n_draws):
        rows = rng.choice(len(people), 150, replace=False)
        drawn = people.iloc[rows]
        certificate = certify(forest, drawn, confidence=0.9, groups=young[rows])
        broken += certificate.everyone.risk_bound < truth
        broken_groups += any(c.risk_bound < by_group[c.group] for c in certificate.groups)
    print(
        f"broken: {broken / n_draws:.1%} of bounds, {broken_groups / n_draws:.1%} of groups' sets"
    )
    allowed = binom.ppf(0.999, n_draws, 0.1) / n_draws
    assert broken / n_draws <= allowed
    assert broken_groups / n_draws <= allowed
    assert broken > 0  # else the bounds would be far too wide, or the test blind


def test_people_of_unknown_status_count_as_without(forest, loans):
    people = loans.frame[1000:1100]
    hurried = certify(forest, people, time_limit=0)
    assert hurried.everyone.unknown > 0 and hurried.everyone.served == 0
    exact = certify(forest, people)
    assert hurried.everyone.risk_bound >= exact.everyone.risk_bound
    assert "ended early" in str(hurried)


def test_groups_share_the_chance_of_error(forest, loans):
    people = loans.frame[1000:1600]
    certificate = certify(forest, people, groups="Guarantor", confidence=0.95)
    assert len(certificate.groups) == 2
    assert all(count.confidence == pytest.approx(0.975) for count in certificate.groups)
    assert sum(count.n_people for count in certificate.groups) == 600
    assert "By group" in str(certificate)


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
    changed["digest"] = digest_of(changed)
    assert "does not follow" in str(verify(changed))
    changed = copy.deepcopy(record)
    changed["groups"] = changed["groups"][:1]
    changed["digest"] = digest_of(changed)
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


def test_a_damaged_record_is_reported_not_raised(tmp_path):
    assert "not a 'ract certificate 2'" in str(verify({"format": "something else"}))
    assert "damaged" in str(verify({"format": "ract certificate 1"}))
    path = tmp_path / "broken.json"
    path.write_text("{", encoding="utf-8")
    with pytest.raises(InvalidData, match="is not JSON"):
        verify(path)


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
            assert "are not possible" in str(verify(path))
    path.write_text("[" * 100_000)
    with pytest.raises(InvalidData, match="is not a certificate: it is nested too deep"):
        verify(path)
    path.write_text(" " * 9_000_000)
    with pytest.raises(InvalidData, match="is not a certificate: it is longer than"):
        verify(path)


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
    record["digest"] = digest_of(record)
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
                changed["digest"] = digest_of(changed)
            except ValueError:
                continue  # not JSON, so nobody can make its digest
            assert verify(changed).problems.keys() <= {"record"}, (place, value)
            checked = verify(changed, witnesses=tmp_path / "witnesses.npy")
            assert checked.problems.keys() <= {"record", "witnesses"}, (place, value)


def test_a_budget_without_limit_is_put_in_words(forest, loans):
    assert "at any cost" in str(certify(forest, loans.frame[1000:1100], budget=np.inf))


def test_people_of_the_training_table_are_noticed(forest, loans):
    with pytest.warns(CertificateWarning, match="100 of 150 people are equal to people of the tr"):
        certificate = certify(forest, loans.frame[700:850])
    assert certificate.overlap == 100
    assert certify(forest, loans.frame[1000:1100]).overlap == 0


def test_models_of_other_libraries_are_certified(loans):
    frame = loans.frame.select_dtypes("number")
    space = ActionSpace(map(Feature, frame.columns), desired="approved", limits=None)
    model = GradientBoostingClassifier(n_estimators=8, random_state=0)
    model.fit(frame[:800], loans.target[:800])
    how = {"actions": space, "reference": frame[:800], "budget": 0.2}
    certificate = certify(model, frame[1000:1100], **how)
    assert certificate.overlap is None
    assert verify(certificate, model, frame[1000:1100], **how)
    with pytest.warns(CertificateWarning, match="50 of 100"):
        certify(model, frame[750:850], training=frame[:800], **how)


def test_too_few_people_and_empty_groups(forest, loans):
    with pytest.raises(InvalidData, match="59 are needed even if all"):
        certify(forest, loans.frame[1000:1030], max_risk=0.05)
    with pytest.warns(CertificateWarning, match="5 held-out people are so few"):
        certify(forest, loans.frame[1000:1005])
    with pytest.raises(InvalidData, match="The table is empty"):
        certify(forest, loans.frame[:0])
    labels = pd.Series(["a"] * 100, dtype=pd.CategoricalDtype(["a", "b"]))
    with pytest.raises(InvalidData, match="Nobody is in the group 'b'"):
        certify(forest, loans.frame[1000:1100], groups=labels)
    with pytest.raises(InvalidSpec, match="confidence must lie between"):
        certify(forest, loans.frame[1000:1100], confidence=95)


def test_fewer_votes_until_the_guarantee_holds(forest, loans):
    people = loans.frame[1000:2000]
    given = guarantee_recourse(forest, people, max_risk=0.05, confidence=0.9)
    assert given.risk_bound <= 0.05
    assert given.votes_needed < forest.ensemble_.cutoff
    assert given.accepted >= given.accepted_before
    model = given.model
    assert model is not forest
    assert model.ensemble_.cutoff == given.votes_needed
    risk = model.recourse_risk(people)
    assert risk == pytest.approx(given.empirical_risk)
    assert certify(model, people, confidence=0.9).everyone.risk_bound <= 0.05
    # One vote more would not have passed.
    stricter = copy.copy(forest)
    stricter.ensemble_ = replace(forest.ensemble_, cutoff=given.votes_needed + 1)
    assert certify(stricter, people, confidence=0.9).everyone.risk_bound > 0.05


def test_a_model_that_is_good_enough_stays_as_it_is(forest, loans):
    given = guarantee_recourse(forest, loans.frame[1000:1300], max_risk=0.9)
    assert given.votes_needed == forest.ensemble_.cutoff
    assert given.accepted == given.accepted_before


def test_a_threshold_gives_other_models_their_guarantee(loans):
    frame = loans.frame.select_dtypes("number")
    space = ActionSpace.infer(frame, desired="approved", fixed=list(frame.columns[1:]), limits=None)
    model = RandomForestClassifier(15, max_depth=4, random_state=0)
    model.fit(frame[:800], loans.target[:800])
    people = frame[1000:1400]
    how = {"actions": space, "reference": frame[:800], "budget": 0.1}
    given = guarantee_recourse(model, people, 0.1, **how)
    assert 0 < given.threshold < 0.5 and given.votes_needed is None
    again = certify(model, people, threshold=given.threshold, **how)
    assert again.everyone.risk_bound <= 0.1
    assert "probability of" in str(given)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, max_depth=4, random_state=0),
        GradientBoostingClassifier(n_estimators=10, random_state=0),
        DecisionTreeClassifier(max_depth=5, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_an_imported_model_is_lowered_itself(loans, model):
    frame = loans.frame.select_dtypes("number")
    for desired in ("approved", "refused"):
        space = ActionSpace.infer(
            frame, desired=desired, fixed=list(frame.columns[2:]), limits=None
        )
        model.fit(frame[:800], loans.target[:800])
        imported = import_model(model, frame[:800], space, budget=0.05)
        people = frame[1000:1400]
        given = guarantee_recourse(imported, people, 0.1)
        lowered = given.model
        assert certify(lowered, people).everyone.risk_bound <= 0.1 >= given.risk_bound
        assert lowered.budget == 0.05 and imported.ensemble_ is not lowered.ensemble_
        # It decides as the library's own probability does at the threshold.
        share = model.predict_proba(people)[:, list(model.classes_).index(desired)]
        clear = np.abs(share - given.threshold) > 1e-9
        accepted = lowered.predict(people) == desired
        np.testing.assert_array_equal(accepted[clear], (share >= given.threshold)[clear])


@pytest.mark.parametrize("n_draws", quick_of(1, [40, 200]))
def test_the_promise_of_fewer_votes_holds(forest, population, n_draws):
    people, _ = population
    true_risk = {
        votes: 1
        - np.isin(
            recourse_status(_with_votes(forest, votes), people, n_jobs=2),
            ("accepted", "found"),
        ).mean()
        for votes in range(1, int(forest.ensemble_.cutoff) + 1)
    }
    rng, broken = np.random.default_rng(1), 0
    for _ in range(n_draws):
        drawn = people.iloc[rng.choice(len(people), 150, replace=False)]
        given = guarantee_recourse(forest, drawn, max_risk=0.08, confidence=0.9)
        broken += true_risk.get(given.votes_needed, 0.0) > 0.08
    print(f"broken: {broken / n_draws:.1%} of guarantees")
    assert broken / n_draws <= binom.ppf(0.999, n_draws, 0.1) / n_draws


def _with_votes(forest, votes):
    changed = copy.copy(forest)
    changed.ensemble_ = replace(forest.ensemble_, cutoff=votes)
    return changed


def test_what_a_guarantee_refuses(forest, loans):
    with pytest.raises(InvalidData, match="too few for max_risk=0.01"):
        guarantee_recourse(forest, loans.frame[1000:1100], max_risk=0.01)
    with pytest.raises(InvalidSpec, match="max_risk must lie between"):
        guarantee_recourse(forest, loans.frame[1000:1100], max_risk=0)
    tree = RecourseTreeClassifier(loans.actions, max_depth=3).fit(loans.frame, loans.target)
    with pytest.raises(InvalidSpec, match="nothing to lower"):
        guarantee_recourse(tree, loans.frame[:100], max_risk=0.1)

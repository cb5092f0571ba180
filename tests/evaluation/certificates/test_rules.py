"""Certificates where rules join features, beside every action of a small table."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ract import ActionSpace, Feature, RecourseTreeClassifier, certify
from ract.evaluation import verify
from ract.evaluation.certificates.record import record_digest
from ract.evaluation.certificates.witnesses import read_witnesses, write_witnesses

NAMES = ["a", "b", "c"]
RULES = ("a + b <= 5", "if b changes then c changes")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(3)
    people = pd.DataFrame(rng.integers(0, 5, (300, 3)), columns=NAMES)
    y = np.where(people.a + people.b + rng.normal(scale=0.7, size=300) > 5.5, "yes", "no")
    space = ActionSpace(
        [Feature(n, "integer") for n in NAMES], desired="yes", rules=RULES, limits=None
    )
    tree = RecourseTreeClassifier(space, max_depth=4, budget=0.5, random_state=0)
    return tree.fit(people, y), people


def actions_of(model, people, person):
    """All that a person may end at within the budget, and whether that keeps the rules."""
    known = people.to_numpy(float)
    every = pd.DataFrame(list(itertools.product(range(5), repeat=3)), columns=NAMES)
    efforts = [
        np.abs([(known[:, j] <= v).mean() - (known[:, j] <= person[j]).mean() for v in every[name]])
        for j, name in enumerate(NAMES)
    ]
    wins = (model.predict(every) == "yes") & (np.max(efforts, axis=0) <= model.budget + 1e-9)
    keeps = (every.a + every.b <= 5) & ((every.b == person[1]) | (every.c != person[2]))
    return every[wins].to_numpy(), keeps[wins].to_numpy()


@pytest.mark.filterwarnings("ignore::ract.evaluation.CertificateWarning")
def test_counts_and_actions_keep_the_rules(case, tmp_path):
    model, people = case
    some = people.head(120)
    path = tmp_path / "actions.npz"
    certificate = certify(model, some, witnesses=path)
    refused = some[model.predict(some) == "no"]
    without = sum(not actions_of(model, people, row)[1].any() for row in refused.to_numpy())
    assert 0 < without < len(refused)
    assert certificate.everyone.without == without
    assert certificate.everyone.served == len(refused) - without
    checked = verify(certificate, model, some, witnesses=path)
    assert checked, checked.problems
    record = certificate.to_dict()
    forged = read_witnesses(path, record["witnesses"])
    for row in forged:
        ends, keeps = actions_of(model, people, some.to_numpy()[int(row[0])])
        if not keeps.all():
            row[1:] = ends[~keeps][0]
            break
    record["witnesses"] = write_witnesses(path, forged[:, 0].astype(int), forged[:, 1:])
    record["digest"] = record_digest(record)
    problem = verify(record, model, some, witnesses=path).problems["witnesses"]
    assert problem == f"the action of row {int(row[0])} fails: it breaks a rule between features."

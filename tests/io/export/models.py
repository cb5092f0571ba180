"""Models to export, and ways to ask what was exported."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
    import_model,
)
from ract.data.datasets import load_loans
from ract.io.export import to_onnx

LOANS = load_loans(1500)
MANY = load_loans(10_000, random_state=1).frame
NUMBERS = [name for name in LOANS.frame if name not in ("Education", "Purpose")]
ANY = ActionSpace(map(Feature, NUMBERS), limits=None)


def singles(frame):
    """The same people with numbers that single precision holds."""
    floats = frame.select_dtypes("float").columns
    return frame.assign(**{name: frame[name].astype(np.float32).astype(float) for name in floats})


def forest(**given):
    settings = {"n_estimators": 20, "max_depth": 6, "random_state": 0} | given
    return RecourseForestClassifier(**settings)


def needing(model, votes):
    """A forest that needs so many votes, or as many as it was trained with."""
    if votes is not None:
        model.ensemble_ = replace(model.ensemble_, cutoff=votes)
    return model


def mixed_forest(**given):
    return forest(actions=LOANS.actions, **given).fit(LOANS.frame, LOANS.target)


def walk(nodes, row):
    k = 0
    while "column" in nodes[k]:
        node = nodes[k]
        k = node["yes"] if row[node["column"]] <= node["at_most"] else node["no"]
    return nodes[k]


def decide_from_json(exported, frame):
    """What the documented schema says, without any of ract."""
    people = frame.to_dict("records")
    for person in people:
        row = [
            float(person[c["column"]] == c["is"]) if "is" in c else float(person[c["column"]])
            for c in exported["columns"]
        ]
        leaves = [walk(nodes, row) for nodes in exported["trees"]]
        rule = exported["decision"]
        if rule["count"] == "votes":
            yield sum(leaf["vote"] for leaf in leaves) >= rule["needed"]
            continue
        total = rule.get("start", 0.0)
        for leaf in leaves:
            total += leaf["value"]
        if "tie_wins" in rule:
            other = 0.0
            for leaf in leaves:
                other += leaf["other"]
            total, other = total / len(leaves), other / len(leaves)
            yield total >= other if rule["tie_wins"] else total > other
        else:
            yield (total / len(leaves) if rule["count"] == "mean" else total) >= rule["at_least"]


def boosters():
    people = LOANS.frame[NUMBERS]
    for desired in ("approved", "refused"):
        boosted = GradientBoostingClassifier(n_estimators=20, random_state=0)
        boosted.fit(people, LOANS.target)
        yield import_model(boosted, people, ANY, desired=desired), boosted
        yield import_model(boosted, people, ANY, desired=desired, threshold=0.7), None


@cache
def own_booster(desired, recourse_weight):
    people = LOANS.frame[NUMBERS].head(600)
    model = RecourseBoostingClassifier(
        desired=desired, recourse_weight=recourse_weight, max_iter=8, n_replicates=2,
        random_state=0,
    )  # fmt: skip
    return model.fit(people, LOANS.target.head(600))


def averaging_forests():
    people = LOANS.frame[NUMBERS]
    for desired in ("approved", "refused"):
        # An even number of pure leaves: many people have as much for one class as for the other.
        averaging = RandomForestClassifier(4, random_state=0).fit(people, LOANS.target)
        yield import_model(averaging, people, ANY, desired=desired), averaging


# ONNX
def asked(model, frame):
    """What onnxruntime says."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    session = runtime.InferenceSession(
        to_onnx(model).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    given = {
        one.name: frame[[one.name]].to_numpy(object if "string" in one.type else np.float64)
        for one in session.get_inputs()
    }
    return session.run(None, given)

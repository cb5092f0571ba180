"""Doing more than a plan asks: proofs against samples."""

import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from ract import ActionSpace, Feature, RecourseForestClassifier, find_recourse
from ract.evaluation.metrics import sendable
from tests.evaluation.metrics.builders import SPACE, codes, table


@pytest.fixture(scope="module", params=["votes", "mean", "sum"])
def found(request):
    """A model of each way of adding up trees, its plans, and another model."""
    frame, target = table(600, 0)
    people, _ = table(60, 1)
    if request.param == "votes":
        make = RecourseForestClassifier(SPACE, n_estimators=15, random_state=0)
    elif request.param == "mean":
        make = RandomForestClassifier(15, min_samples_leaf=5, random_state=0)
    else:
        make = GradientBoostingClassifier(n_estimators=40, random_state=0)
    if request.param == "votes":
        model, other = make.fit(frame, target), None
        other = RecourseForestClassifier(SPACE, n_estimators=15, random_state=1).fit(*table(600, 2))
        return model, find_recourse(model, people, reference=frame), other, frame
    # Models of other libraries take numbers: ordered codes, without the categories.
    space = ActionSpace(
        [f for f in SPACE if f.name not in ("level", "job")]
        + [
            Feature("level", "integer", "increase", lower=0, upper=2),
            Feature("job", "integer", "fixed", lower=0, upper=2),
        ],
        desired="yes",
        limits=None,
    )
    model = make.fit(codes(frame), target)
    other = type(make)(**make.get_params()).fit(codes(table(600, 2)[0]), table(600, 2)[1])
    plans = find_recourse(model, codes(people), actions=space, reference=codes(frame))
    return model, plans, other, codes(frame)


def test_what_is_proved_is_never_refuted_by_a_sample(found):
    _, plans, _, reference = found
    proved = sendable(plans, reference=reference).people
    sampled = sendable(plans, reference=reference, safety="sampled").people
    assert not (proved["safe"] & ~sampled["safe"]).any()
    assert set(proved["proof"]) <= {"proved", "refuted", ""}
    # So few points that a sample of 2,000 of each misses none.
    thorough = sendable(plans, reference=reference, safety="sampled", n_points=2000).people
    assert (thorough["safe"] == proved["safe"]).all()

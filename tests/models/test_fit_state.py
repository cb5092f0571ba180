"""Fitted attributes, written in one place."""

from types import SimpleNamespace

from ract.models.fit_state import TreeState


def state(**more):
    fields = {"classes": [0, 1], "desired": 1, "encoder": None, "cost": None, "ensemble": None}
    return TreeState(**fields | {"n_features_in": 3} | more)


def test_what_a_fit_did_not_find_out_is_no_attribute():
    estimator = SimpleNamespace()
    state(threshold=0.4, recourse_risk=0.1).write_to(estimator)
    assert (estimator.threshold_, estimator.recourse_risk_) == (0.4, 0.1)
    assert estimator.guarantee_ is None and not hasattr(estimator, "lasting_")
    state().write_to(estimator)
    assert not hasattr(estimator, "threshold_") and not hasattr(estimator, "recourse_risk_")
    assert estimator.n_features_in_ == 3

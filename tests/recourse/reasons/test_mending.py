import numpy as np
import pytest

from ract import ActionSpace, Feature, find_reasons
from ract.data.costs import fit_cost, make_cost
from ract.data.encoder import Encoder
from ract.models.imported import ImportedClassifier
from ract.recourse.result import lacks_value
from tests import naive
from tests.builders import (
    quick_of,
    random_ensemble,
    random_ensemble_with_holes,
    random_table,
    voting_trees,
    with_holes,
    with_random_values,
)


def random_model(rng, combine, *, holes=False):
    """A small table, perhaps with missing values, and a random model of it, as users have them."""
    frame, actions = random_table(rng, int(rng.integers(10 if holes else 8, 16)), n_features=(2, 3))
    if holes:
        frame, actions = with_holes(rng, frame, actions)
    encoder = Encoder(frame, actions)
    matrix = encoder.matrix(frame)
    ensemble = (random_ensemble_with_holes if holes else random_ensemble)(
        rng, matrix, int(rng.integers(1, 7))
    )
    if combine != "votes":
        ensemble = with_random_values(rng, ensemble, combine)
    cost = fit_cost(
        "percentile", matrix.T, encoder.weights, exact=True, missing=encoder.missing_cells
    )
    budget = float(rng.choice([0.213, 0.517, np.inf]))
    classes = np.array(["no", "yes"])
    return frame, matrix, ImportedClassifier(
        encoder, ensemble, cost, classes, "yes", budget=budget
    )  # fmt: skip


def is_mended(feature, own, value, thresholds, *, larger):
    """Whether a number lies in a cell beyond the own one, in the direction that mends."""
    if np.isnan(own) or np.isnan(value):
        return not np.isnan(value)
    step = naive.cell_of(thresholds, value) - naive.cell_of(thresholds, own)
    if feature.kind == "binary":
        return value != own
    return step != 0 if larger is None else step > 0 if larger else step < 0


def check_reason(model, matrix, row, reason, mending, rng):
    """Compare with every allowed value of the feature, and with every allowed row."""
    ensemble, axes = model.ensemble_, model.encoder_.axes
    a = [axis.feature.name for axis in axes].index(reason.feature)
    feature, columns, own = axes[a].feature, list(axes[a].columns), matrix[row]
    thresholds = ensemble.threshold[ensemble.feature == columns[0]]
    thresholds = thresholds[np.isfinite(thresholds)]
    missing = reason.direction == "missing"
    assert missing == (reason.value is None) == bool(lacks_value(axes, own[None])[0, a])

    def accepts(values):
        rows = np.tile(own, (len(values), 1))
        rows[:, columns] = np.asarray(values, float).reshape(len(values), -1)
        return naive.naive_decision(ensemble, rows)

    def mends(block):
        if feature.is_categorical:
            return bool((np.asarray(block) != own[columns]).any())
        larger = {"too low": True, "too high": False}.get(reason.direction)
        return is_mended(feature, own[columns[0]], block[0], thresholds, larger=larger)

    options = naive.options_of_feature(feature, columns, own, matrix, thresholds, rng)
    good = [
        values
        for (values, cost), fine in zip(options, accepts([v for v, _ in options]), strict=True)
        if fine and mends(values) and cost <= model.budget + 1e-12
    ]
    assert reason.alone == bool(good)
    rows, prices = naive.every_action([ensemble], axes, own, matrix, rng)
    fine = naive.naive_decision(ensemble, rows) & (prices <= model.budget + 1e-12)
    assert reason.with_others == any(mends(one[columns]) for one in rows[fine])
    rule = feature.missing == "supply" if missing else feature.change != "fixed"
    assert reason.changeable == rule
    if feature.is_categorical:
        others = [v for v, _ in options if tuple(v) != tuple(own[columns])]
        share = np.mean(accepts(others)) if others else np.nan
    else:
        share = naive.accepted_share(accepts, feature, own[columns[0]], thresholds)
    assert mending.accepted_share == pytest.approx(share, nan_ok=True)
    if not reason.alone:
        assert reason.from_value is None
        return
    if feature.is_categorical:
        k = feature.categories.index(reason.from_value)
        assert tuple(np.eye(len(columns))[k]) in good
        assert reason.until == (reason.from_value if missing else None)
        return
    up = missing or reason.from_value > own[columns[0]]
    if not missing:
        assert mending.first == (min if up else max)(v[0] for v in good)
    elif feature.kind == "binary":
        assert (float(reason.from_value),) in good and reason.until == reason.from_value
        return
    else:  # the least of its row of values: the one before it does not serve
        before = [v[0] for v, _ in options if v[0] < mending.first]
        assert (mending.first,) in good and not (before and accepts([max(before)])[0])
    # Everything from the value that is said, up to the last one or the bound, is accepted.
    bound = feature.upper if up else feature.lower
    last = bound if reason.until is None else reason.until
    ends = sorted((float(reason.from_value), float(last)))
    between = [v[0] for v, _ in options if ends[0] <= v[0] <= ends[1]]
    assert accepts([*between, *ends]).all()
    if reason.until is not None:
        beyond = [v[0] for v, _ in options if (v[0] > ends[1] if up else v[0] < ends[0])]
        assert beyond and not accepts(beyond).all()


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@pytest.mark.parametrize("block", quick_of(1, range(8)))
def test_mending_equals_brute_force(combine, block):
    seen = set()
    for seed in range(40):
        rng = np.random.default_rng([block, seed, 3])
        frame, matrix, model = random_model(rng, combine)
        if naive.naive_decision(model.ensemble_, matrix).all():
            continue
        reasons = find_reasons(model, frame, reference=frame, against="mean")
        for row in np.flatnonzero(reasons.refused)[:3].tolist():
            for reason in reasons[row].reasons:
                a = reasons.feature_names.index(reason.feature)
                check_reason(model, matrix, row, reason, reasons.mendings[row, a], rng)
                seen.add(reason.mending)
    assert {"alone", "not at all"} <= seen


@pytest.mark.parametrize("combine", ["votes", "mean", "sum"])
@pytest.mark.parametrize("block", quick_of(1, range(8)))
def test_mending_with_missing_values_equals_brute_force(combine, block):
    seen = set()
    for seed in range(40):
        rng = np.random.default_rng([block, seed, 5])
        frame, matrix, model = random_model(rng, combine, holes=True)
        if naive.naive_decision(model.ensemble_, matrix).all():
            continue
        reasons = find_reasons(model, frame, reference=frame, against="mean")
        for row in np.flatnonzero(reasons.refused)[:3].tolist():
            for reason in reasons[row].reasons:
                a = reasons.feature_names.index(reason.feature)
                check_reason(model, matrix, row, reason, reasons.mendings[row, a], rng)
                seen.add((reason.direction == "missing", reason.changeable, reason.mending))
    assert {(True, True, "alone"), (True, False, "not at all"), (False, True, "alone")} <= seen


def both_needed(change="any", budget=np.inf):
    """A model that accepts whoever has both x0 and x1 above 1; x1 may change in some way."""
    people = np.array([[0.0, 0.0], [2.0, 2.0], [3.0, 4.0], [0.0, 3.0]])
    space = ActionSpace(
        [Feature("x0", "continuous"), Feature("x1", "continuous", change)], limits=None
    )
    encoder = Encoder(people, space)
    ensemble = voting_trees(
        [0, -1, -1, 1, -1, -1], [1.0, 0, 0, 1.0, 0, 0], [1, -1, -1, 4, -1, -1],
        [2, -1, -1, 5, -1, -1], [0, 0, 1, 0, 0, 1], root=(0, 3), votes_needed=2,
    )  # fmt: skip
    cost = make_cost("percentile").fit(people.T, encoder.weights)
    classes = np.array(["no", "yes"])
    return people, ImportedClassifier(encoder, ensemble, cost, classes, "yes", budget=budget)


def mending_of(change="any", budget=np.inf):
    people, model = both_needed(change, budget)
    return {r.feature: r.mending for r in model.reasons(people, reference=people)[0].reasons}


def test_features_that_are_needed_together_can_be_mended_with_others_only():
    assert mending_of() == {"x0": "with others", "x1": "with others"}
    assert mending_of(change="increase") == {"x0": "with others", "x1": "with others"}
    assert mending_of(change="decrease") == {"x0": "not at all", "x1": "not at all"}
    assert mending_of(budget=0.1) == {"x0": "not at all", "x1": "not at all"}


def test_a_reason_that_nobody_can_change_is_marked_and_not_hidden():
    people, model = both_needed(change="fixed")
    of_first, of_last = (model.reasons(people, reference=people)[i] for i in (0, 3))
    fixed = next(reason for reason in of_first.reasons if reason.feature == "x1")
    assert not fixed.changeable and fixed.mending == "not at all"
    assert fixed.describe().endswith("Nobody can change it.")
    # Whoever has x1 already is helped by x0 alone, from just above 1 on and up to its bound.
    (only,) = of_last.reasons
    assert (only.feature, only.mending, only.until) == ("x0", "alone", None)
    assert only.accepted_share == pytest.approx(2 / 3) and 1 < only.from_value <= 1.05
    text = f"Raising it to {only.from_value:g} or more would be enough."
    assert only.describe().endswith(text)


def test_costs_that_add_up_leave_what_others_do_unknown():
    people, model = both_needed()
    found = model.reasons(people, reference=people, cost="l1")
    assert {reason.mending for reason in found[0].reasons} == {"unknown"}
    assert [reason.mending for reason in found[3].reasons] == ["alone"]


def test_unknown_stays_unknown():
    open_ends = []
    for seed in range(10):
        frame, _, model = random_model(np.random.default_rng([seed, 4]), "votes")
        known, cut = (
            find_reasons(model, frame, reference=frame, against="mean", time_limit=limit)
            for limit in (None, 0)
        )
        for person, hurried in zip(known, cut, strict=True):
            for reason, other in zip(person.reasons, hurried.reasons, strict=True):
                assert other.with_others in (None, reason.with_others)
                assert other.alone == reason.alone
                open_ends += [other] if other.mending == "unknown" else []
    assert open_ends and "not known" in open_ends[0].describe()

"""Our numbers beside recorded ones."""

import numpy as np
import pytest
from scipy import stats

from experiments.data import DATA
from experiments.paper.compare import differences, orders, selected, welch
from experiments.paper.recorded import Recorded
from experiments.paper.settings import EXPERIMENTS, RACT, VANILLA
from tests.experiments.builders import run_small


def naive_welch(a, b):
    """The interval by Welch's formula."""
    of_a, of_b = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    freedom = (of_a + of_b) ** 2 / (of_a**2 / (len(a) - 1) + of_b**2 / (len(b) - 1))
    half = stats.t.ppf(0.975, freedom) * np.sqrt(of_a + of_b)
    return a.mean() - b.mean() - half, a.mean() - b.mean() + half


@pytest.mark.parametrize("seed", range(5))
def test_welch_intervals_are_those_of_the_formula(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(0, 1, 10), rng.normal(0.7, 3, 30)
    assert welch(a, b) == pytest.approx(naive_welch(a, b), rel=1e-12)
    same = np.full(10, 0.3)
    assert welch(same, b) == pytest.approx(naive_welch(same, b), rel=1e-12)
    low, high = welch(a, b)
    assert (low <= 0 <= high) == (stats.ttest_ind(a, b, equal_var=False).pvalue >= 0.05)


def test_numbers_without_spread_are_compared_as_they_are():
    ones = np.ones(10)
    assert welch(ones, ones) == (0.0, 0.0)
    assert welch(ones, ones - 0.5) == (0.5, 0.5)


def test_every_number_is_compared_at_its_setting(tmp_path, small, recorded):
    ours = run_small(tmp_path / "ours").read("forests", "compas")
    experiment, data = EXPERIMENTS["forests"], DATA["compas"]
    theirs = Recorded(recorded).read("forests", "compas")
    found = list(differences(experiment, ours, theirs))
    settings = {(one.setting["Method"], one.setting["Alpha"]) for one in found}
    assert len(settings) == 7 and len(found) <= 7 * 7
    assert {one.measure for one in found} >= {"Accuracy", "AUC", "Recourse", "Plausibility"}
    one = next(o for o in found if o.measure == "Accuracy" and o.setting["Method"] == VANILLA)
    expected = ours.query("Method == 'Baseline'")["Accuracy"].mean()
    assert one.ours.mean() == pytest.approx(expected)
    assert len(one.ours) == 3 and len(one.recorded) == 12
    same = list(differences(experiment, theirs, theirs))
    assert all(other.within and other.equal for other in same)
    assert not one.equal
    chosen = selected(experiment, data, ours)
    assert set(chosen.loc[chosen["Method"] == RACT, "Alpha"]) == {0.06}
    assert all(order.agrees for order in orders(experiment, data, theirs, theirs))

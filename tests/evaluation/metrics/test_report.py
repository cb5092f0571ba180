"""The report of metrics by group."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.metrics import roc_auc_score

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils import statistics as intervals
from ract.evaluation import metrics

# Twenty people: income 1 ... 20, the desired class from 11 on; half of them may not move at all.
INCOME = np.arange(1.0, 21.0)
FRAME = pd.DataFrame({"income": INCOME, "locked": (np.arange(20) % 2 == 0)})
TARGET = np.where(INCOME > 10, "yes", "no")


@pytest.fixture(scope="module")
def tree():
    space = ActionSpace(
        [Feature("income", "integer", change="increase"), Feature("locked", change="fixed")],
        desired="yes",
        limits=None,
    )
    model = RecourseTreeClassifier(space, recourse_weight=0, budget=0.2, cost="range")
    return model.fit(FRAME, TARGET)


def test_the_report_tells_everyone_and_groups_apart(tree):
    report = metrics.recourse_report(tree, FRAME, TARGET, groups="locked", confidence=0.9)
    cell = report.set_index(["group", "metric"])
    assert cell.loc[("everyone", "recourse ratio"), "value"] == pytest.approx(13 / 20)
    assert cell.loc[("everyone", "AUC"), "value"] == 1.0
    assert np.isnan(cell.loc[("everyone", "mean cost"), "difference"])
    for group in (False, True):
        people = FRAME["locked"] == group
        own = metrics.recourse_ratio(tree, FRAME[people])
        other = metrics.recourse_ratio(tree, FRAME[~people])
        row = cell.loc[(group, "recourse ratio")]
        assert row["value"] == pytest.approx(own)
        assert row["people"] == 10
        assert row["difference"] == pytest.approx(own - other)
        assert row["ratio"] == pytest.approx(own / other)
        assert row["low"] <= own <= row["high"]
        assert row["difference low"] <= own - other <= row["difference high"]
        assert row["ratio low"] <= own / other <= row["ratio high"]
        costs = (11 - INCOME[:10][people[:10]]) / 19
        row = cell.loc[(group, "mean cost")]
        assert row["value"] == pytest.approx(costs.mean())
        half = t.ppf(0.95, 4) * costs.std(ddof=1) / np.sqrt(5)
        assert row["high"] - row["value"] == pytest.approx(half)


def test_groups_may_be_anybodys_labels(tree):
    labels = np.where(INCOME > 5, "old", "young")
    by_label = metrics.recourse_report(tree, FRAME, groups=labels)
    assert set(by_label["group"]) == {"everyone", "old", "young"}
    assert "accuracy" not in set(by_label["metric"])


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    hits = {"share": 0, "difference": 0, "ratio": 0, "area": 0}
    n_draws = 600
    for _ in range(n_draws):
        a, b = rng.binomial(80, 0.9), rng.binomial(60, 0.7)
        first, second = intervals.proportion(a, 80, 0.9), intervals.proportion(b, 60, 0.9)
        hits["share"] += first.low <= 0.9 <= first.high
        between = intervals.difference(first, second)
        hits["difference"] += between.low <= 0.2 <= between.high
        times = intervals.ratio(first, second)
        hits["ratio"] += times.low <= 0.9 / 0.7 <= times.high
        better, worse = rng.normal(1.0, 1, 60), rng.normal(0, 1, 60)
        auc = roc_auc_score(np.repeat([1, 0], 60), np.concatenate([better, worse]))
        area = intervals.area(auc, 60, 60, 0.9)
        hits["area"] += area.low <= 0.7602 <= area.high  # the normal distribution at 1 / sqrt(2)
    for name, count in hits.items():
        assert count / n_draws >= 0.87, name

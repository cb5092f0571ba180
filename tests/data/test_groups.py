"""Metrics of parts add up to those of the whole."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.groups import (
    MetricColumn,
    Metrics,
    add_by_key,
    group_masks,
    members_of,
    sorted_groups,
    tallied,
    with_everyone,
)


def metrics(rows, values, hits, score, desired, groups):
    everyone = np.ones(len(rows), bool)
    columns = [
        MetricColumn("mean", values[rows], everyone), MetricColumn("share", hits[rows], everyone),
        MetricColumn("AUC", score[rows], everyone, desired[rows]),
    ]  # fmt: skip
    return Metrics.of(columns, pd.DataFrame({"x": values[rows]}), groups[rows])


def test_parts_add_up_to_the_whole():
    rng = np.random.default_rng(0)
    n = 300
    values, score, groups = rng.normal(size=n), rng.integers(0, 20, n), rng.choice(["a", "b"], n)
    hits, desired = rng.random(n) < 0.3, rng.random(n) < 0.5
    parts = np.split(np.arange(n), [50, 51, 200])
    added = sum((metrics(p, values, hits, score, desired, groups) for p in parts), Metrics())
    whole = metrics(np.arange(n), values, hits, score, desired, groups).table(0.9)
    pd.testing.assert_frame_equal(added.table(0.9), whole)
    by = whole.set_index(["group", "metric"])["value"]
    a = groups == "a"
    assert by["a", "mean"] == pytest.approx(values[a].mean())
    assert by["everyone", "share"] == pytest.approx(hits.mean())
    assert by["everyone", "AUC"] == pytest.approx(roc_auc_score(desired, score))


def test_sums_by_group_and_of_everyone():
    people, towns = pd.DataFrame({"x": [1, 2, 3]}), np.array(["b", "a", "b"])
    one = tallied({"n": np.array([1, 10, 100])}, people, towns)
    both = add_by_key(one, {"c": pd.Series({"n": 5})})
    assert [(group, int(sums["n"])) for group, sums in with_everyone(both)] == [
        ("everyone", 116), ("a", 10), ("b", 101), ("c", 5),
    ]  # fmt: skip


PEOPLE = pd.DataFrame({"age": [20, 30, 40], "town": ["b", "a", "b"]})


@pytest.mark.parametrize("frame", [PEOPLE, pl.from_pandas(PEOPLE)], ids=["pandas", "polars"])
@pytest.mark.parametrize("groups", ["town", PEOPLE["town"], ["b", "a", "b"]])
def test_a_column_or_labels_say_who_is_where(frame, groups):
    found = group_masks(frame, groups)
    assert {group: mask.tolist() for group, mask in found.items()} == {
        "a": [False, True, False],
        "b": [True, False, True],
    }
    assert list(members_of(frame, None)) == [None] and members_of(frame, None)[None].all()


@pytest.mark.parametrize(
    ("groups", "error", "says"),
    [
        ("city", InvalidSpec, "'city', which is not a column; the columns are 'age', 'town'"),
        (["a", "b"], InvalidData, r"X has 3 rows but groups has shape \(2,\)"),
        (["a", None, "b"], InvalidData, "groups has 1 missing values"),
        (pd.Series(pd.Categorical(["a"] * 3, ["a", "z"])), InvalidData, "Nobody is in .* 'z'"),
    ],
)
def test_groups_that_do_not_fit_are_refused(groups, error, says):
    with pytest.raises(error, match=says):
        group_masks(PEOPLE, groups)


def test_labels_have_an_order_even_of_several_kinds():
    assert sorted_groups(["b", 2, None, "a", 1]) == [1, 2, "a", "b"]
    with pytest.raises(InvalidData, match="51 different values, more than 50"):
        sorted_groups(range(51))
    assert np.array_equal(sorted_groups(range(50)), np.arange(50))

"""Answers of Spark are those of one process."""

import numpy as np
import pandas as pd
import pytest

from ract import certify, load_model, verify
from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.distributed import apply
from ract.data.datasets import load_loans
from ract.evaluation.metrics import recourse_report
from ract.evaluation.report import audit
from tests.builders import credit_with_holes

pytest.importorskip("pyspark")
scale = pytest.importorskip("ract.apps.distributed.spark")

pytestmark = pytest.mark.filterwarnings("ignore")  # Spark's own

LOANS = load_loans(200, random_state=1)
PEOPLE = LOANS.frame.assign(who=np.arange(200), target=np.asarray(LOANS.target))
HOLES = credit_with_holes(150, 1)[0].assign(who=[f"p{i:03}" for i in range(150)])


def same(found, own):
    """Spark keeps no order of parts; rows of a person stay together in theirs."""
    found = found.sort_values("person", kind="stable").reset_index(drop=True)
    own = own.sort_values("person", kind="stable").reset_index(drop=True)
    assert found.columns.tolist() == own.columns.tolist()
    for name in own:
        if own[name].dtype.kind == "f":
            np.testing.assert_array_equal(found[name].to_numpy(float), own[name].to_numpy(float))
        else:
            a, b = (column.astype(object).where(column.notna(), None) for column in
                    (found[name], own[name]))  # fmt: skip
            assert a.tolist() == b.tolist(), name


def test_plans_of_numbers_and_categories(spark, loans_model):
    people = spark.createDataFrame(PEOPLE).repartition(3)
    same(scale.recourse(loans_model, people, key="who").toPandas(),
         apply(loans_model, PEOPLE, key="who"))  # fmt: skip


def test_missing_values_bad_rows_and_parts_of_nobody(spark, holes_model):
    people = HOLES.copy()
    people.loc[[3, 90], "job"] = "astronaut"
    # Spark tells a missing number from NaN; both are missing here.
    rows = people.astype(object).where(people.notna(), None).values.tolist()
    table = spark.createDataFrame(
        rows, "income double, savings double, job string, age double, who string"
    )
    table = table.repartition(2).union(table.filter("who = 'nobody'"))
    for what in ("plans", "decisions"):
        found = scale.apply(holes_model, table, what, key="who")
        same(found.toPandas(), apply(holes_model, people, what, key="who"))


@pytest.mark.slow
def test_certificate_and_report_from_parts(spark, loans_model):
    people, model = spark.createDataFrame(PEOPLE).repartition(3), load_model(loans_model)
    options = {"time_limit": None, "max_nodes": 200_000}
    own = certify(model, LOANS.frame, groups="Education", **options)
    found = scale.certify(loans_model, people, groups="Education")
    assert found.everyone == own.everyone and found.groups == own.groups
    table = scale.report(loans_model, people, "target", groups="Education")
    expected = recourse_report(
        model, LOANS.frame, np.asarray(LOANS.target), groups="Education", **options
    )
    expected = expected[expected["metric"] != "plausibility"].reset_index(drop=True)
    pd.testing.assert_frame_equal(table, expected, rtol=1e-9)
    assert not verify(found, model, LOANS.frame, search=False).problems
    page = scale.audit(loans_model, people, "target", key="who", groups="Education")
    whole = audit(
        model, LOANS.frame, np.asarray(LOANS.target), groups="Education", time_limit=None
    )  # fmt: skip
    for name in ("costs", "changes"):
        pd.testing.assert_frame_equal(getattr(page, name), getattr(whole, name), rtol=1e-9)
    assert sorted(page.without["person"]) == sorted(whole.without["person"])


def test_a_column_that_is_not_there_is_refused_at_once(spark, loans_model):
    people = spark.createDataFrame(PEOPLE.head(5)).drop("Debt")
    with pytest.raises(InvalidData, match=r"lack the column\(s\) 'Debt', which are needed"):
        scale.recourse(loans_model, people, key="who")
    with pytest.raises(InvalidSpec, match="Rows have no names here: give key"):
        scale.audit(loans_model, people)


def test_workers_run_the_python_of_the_session(spark, loans_model, monkeypatch):
    """As in an environment that is not activated: the python3 on the path has no ract."""
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python3")
    people = spark.createDataFrame(PEOPLE[:20])
    found = scale.apply(loans_model, people, "decisions", key="who").toPandas()
    assert len(found) == 20


def test_a_python_that_was_chosen_is_kept(spark, monkeypatch):
    monkeypatch.setenv("PYSPARK_PYTHON", "/chosen/python3")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/chosen/python3")
    scale._check(spark.createDataFrame(PEOPLE[:2]))
    assert spark.sparkContext.pythonExec == "/chosen/python3"

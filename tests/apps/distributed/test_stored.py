"""Folders of Parquet: whole, in order, and the same bytes after a run was stopped."""

import os
import subprocess
import sys
from collections import Counter

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ract._utils.errors import InvalidData, InvalidSpec
from ract.apps.distributed import Job, apply, run
from ract.data.datasets import load_loans
from tests.builders import credit_with_holes

PEOPLE = load_loans(90, random_state=1).frame
HOLES = credit_with_holes(120, 1)[0].assign(who=[f"p{i}" for i in range(120)])


@pytest.fixture
def folder(tmp_path):
    """People in two subfolders, as a partitioned data set has them."""
    root = tmp_path / "people"
    parts = {"city=Bonn/a": HOLES[:50], "city=Bonn/b": HOLES[50:51], "city=Rom/a": HOLES[51:]}
    for name, part in parts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pandas(part), root / f"{name}.parquet",
                       row_group_size=17)  # fmt: skip
    return root


def content(folder):
    """The bytes of every part."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*.parquet")}


def test_a_folder_becomes_a_folder(folder, tmp_path, holes_model):
    counts = run(Job.of(holes_model, key="who"), folder, tmp_path / "plans", rows_per_part=20)
    names = sorted(content(tmp_path / "plans"))
    assert names == [f"city=Bonn{os.sep}part-{k:06}.parquet" for k in range(4)] + [
        f"city=Rom{os.sep}part-{k:06}.parquet" for k in range(4, 8)
    ]
    found = pd.read_parquet(tmp_path / "plans")
    assert Counter(found["city"])["Bonn"] > 50
    own = apply(holes_model, HOLES, key="who")
    pd.testing.assert_frame_equal(
        found.drop(columns="city").astype(object).where(lambda t: t.notna(), None),
        own.astype(object).where(own.notna(), None), check_dtype=False,
    )  # fmt: skip
    status = own.drop_duplicates("person")["status"]
    assert {s: n for s, n in counts.items() if s not in ("within", "only supplied")} == dict(
        Counter(status)
    )


def test_without_a_key_people_are_numbered_through(tmp_path, loans_model):
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    job = Job.of(loans_model, "has_recourse")
    run(job, tmp_path / "people.parquet", tmp_path / "out", rows_per_part=40)
    found = pd.read_parquet(tmp_path / "out")
    assert found["person"].tolist() == list(range(90))
    assert found["status"].tolist() == job(PEOPLE)["status"].tolist()


def test_a_run_that_was_stopped_goes_on_to_the_same_bytes(folder, tmp_path, holes_model):
    job = Job.of(holes_model, key="who", explain=False)
    whole = run(job, folder, tmp_path / "whole", rows_per_part=20)

    def stops(function, work, parts):
        for part in parts[:3]:
            yield function(work, part)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(job, folder, tmp_path / "stopped", rows_per_part=20, mapper=stops)
    before = content(tmp_path / "stopped")
    assert len(before) == 3
    asked = []

    def noted(function, work, parts):
        asked.extend(parts)
        return (function(work, part) for part in reversed(parts))

    again = run(job, folder, tmp_path / "stopped", rows_per_part=20, mapper=noted)
    assert len(asked) == 5 and again == whole
    assert content(tmp_path / "stopped") == content(tmp_path / "whole")


KILLED = """
import os, sys
from ract.apps.distributed import Job, run, stored
answer = stored.answer_part
def deadly(work, part):
    if part.first == 20 and "Rom" in part.file:
        Job.__call__ = lambda job, people: os._exit(9)  # in the middle of writing
    return answer(work, part)
stored.answer_part = deadly
run(Job.of(sys.argv[1], key="who", explain=False), sys.argv[2], sys.argv[3], rows_per_part=20)
"""


def test_a_process_that_is_killed_leaves_no_half_part(folder, tmp_path, holes_model):
    target = tmp_path / "killed"
    done = subprocess.run([sys.executable, "-c", KILLED, holes_model, folder, target])
    assert done.returncode == 9 and 0 < len(content(target)) < 8
    job = Job.of(holes_model, key="who", explain=False)
    run(job, folder, target, rows_per_part=20)
    run(job, folder, tmp_path / "whole", rows_per_part=20)
    assert content(target) == content(tmp_path / "whole")
    assert not [name for name in os.listdir(target / "city=Rom") if name.endswith(".tmp")]


def test_another_run_in_the_same_folder_is_refused(folder, tmp_path, holes_model, loans_model):
    target = tmp_path / "out"
    job = Job.of(holes_model, "has_recourse", key="who")
    run(job, folder, target)
    sentence = r"holds another run: its budget differs \(it has none, asked for is 0.1\)"
    with pytest.raises(InvalidSpec, match=sentence):
        run(Job.of(holes_model, "has_recourse", key="who", budget=0.1), folder, target)
    sentence = r"its max_nodes differs \(it has 200000, asked for is 7\)"
    with pytest.raises(InvalidSpec, match=sentence):
        run(Job.of(holes_model, "has_recourse", key="who", max_nodes=7), folder, target)
    run(
        Job.of(holes_model, "has_recourse", key="who", n_jobs=2), folder, target
    )  # the same answers
    with pytest.raises(InvalidSpec, match="holds another run: its parts differs"):
        run(job, folder, target, rows_per_part=9)
    with pytest.raises(InvalidSpec, match="is not empty and holds no run that could go on"):
        run(job, folder, tmp_path)
    with pytest.raises(InvalidData, match=r"lack the column\(s\) 'Age', 'LatePayments'"):
        run(Job.of(loans_model), folder, tmp_path / "new")
    with pytest.raises(InvalidData, match="There is no file or folder"):
        run(job, tmp_path / "nowhere", target)
    (tmp_path / "no.parquet").write_text("nothing")
    with pytest.raises(InvalidData, match="cannot be read as Parquet"):
        run(job, tmp_path / "no.parquet", tmp_path / "new")

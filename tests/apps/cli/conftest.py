"""Folders with tables and the models that commands have fitted on them, each made once.

Tests read them and write elsewhere.
"""

import pytest
from threadpoolctl import threadpool_limits

pytest.register_assert_rewrite("tests.apps.cli.builders")

from ract import RecourseForestClassifier, save_model  # noqa: E402
from ract.data.datasets import load_loans  # noqa: E402
from tests.apps.cli.builders import (  # noqa: E402
    GERMAN_FILES,
    LOANS,
    NEW,
    NEW_LABELLED,
    SMALL,
    as_written,
    german_table,
    run,
)
from tests.builders import timeless  # noqa: E402


@pytest.fixture(scope="package", autouse=True)
def one_thread():
    """scikit-learn's models in one thread: on small tables, threads mostly wait for each other."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A table of loans, its action file, a forest and people."""
    folder = tmp_path_factory.mktemp("loans")
    run("data", "loans", "-o", folder / "data.csv", "--n-people", len(LOANS.frame))
    LOANS.actions.to_toml(folder / "actions.toml")
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--desired", "approved",
        "--actions", folder / "actions.toml", "--n-estimators", 20, "-o", folder / "model.ract",
    )  # fmt: skip
    NEW.assign(Name=[f"P-{k}" for k in range(len(NEW))]).to_csv(folder / "people.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def plain(tmp_path_factory):
    """A table, its action file, a forest that gives recourse no weight, and labelled people."""
    folder = tmp_path_factory.mktemp("plain")
    n_people = ("--n-people", len(LOANS.frame))
    run("data", "loans", "-o", folder / "data.csv", *n_people, "--actions", folder / "a.toml")
    run(
        "fit", folder / "data.csv", "--lasting", 0,
        "--target", "Decision", "--actions", folder / "a.toml",
        "--n-estimators", 15, "--recourse-weight", 0, "--budget", 0.15, "-o", folder / "model.ract",
    )  # fmt: skip
    people = NEW_LABELLED.frame.assign(Decision=NEW_LABELLED.target, Town=["A", "B"] * 150)
    people.to_csv(folder / "new.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """A small table with and without its target, its action file, a tree of each of two spaces."""
    folder = tmp_path_factory.mktemp("trees")
    SMALL.frame.assign(Decision=SMALL.target).to_csv(folder / "data.csv", index=False)
    SMALL.frame.to_csv(folder / "people.csv", index=False)
    SMALL.actions.to_toml(folder / "actions.toml")
    for name, more in (("inferred", ()), ("model", ("--actions", folder / "actions.toml"))):
        run(
            "fit", folder / "data.csv", "--lasting", 0,
            "--target", "Decision", "--desired", "approved", "--model",
            "tree", "--max-depth", 3, "-o", folder / f"{name}.ract", *more,
        )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def bank(tmp_path_factory):
    """The same table in several writings, an action file and a model of the first."""
    folder, frame = tmp_path_factory.mktemp("bank"), german_table()
    for name, how in GERMAN_FILES.items():
        as_written(frame).to_csv(folder / f"{name}.csv", index=False, **how)
    frame.to_parquet(folder / "table.parquet")
    run(
        "init", folder / "cp1252.csv", "--target", "Bewertung", "--desired", "gut", "-o",
        folder / "actions.toml", "--dates", "years", "--rare", 10, "--increase", "Telefon",
        "--keep", "Geburtsdatum",
    )  # fmt: skip
    run(
        "fit", folder / "cp1252.csv", "--target", "Bewertung", "--actions",
        folder / "actions.toml", "--model", "tree", "--max-depth", 4, "--lasting", 0,
        "-o", folder / "model.ract",
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def rivals(tmp_path_factory):
    """A model, and a candidate of other people."""
    folder = tmp_path_factory.mktemp("rivals")
    for name, seed in (("model", 0), ("candidate", 1)):
        loans = timeless(load_loans(500, random_state=seed))
        forest = RecourseForestClassifier(loans.actions, n_estimators=8, random_state=seed)
        save_model(forest.fit(loans.frame, loans.target), folder / f"{name}.ract")
    return folder

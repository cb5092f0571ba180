"""Templates of a user before ours, with mistakes in one sentence."""

import pytest

from ract._utils.errors import InvalidSpec
from ract._utils.templates import Templates

PACKAGE = "ract.notices"
NAME = Templates(PACKAGE, filters={}, markup=False).names[0]


def templates(folder, text, **options):
    (folder / NAME).write_text(text)
    return Templates(PACKAGE, folder, filters={"twice": lambda text: text * 2}, **options)


def test_a_template_of_the_folder_takes_the_place_of_ours(tmp_path):
    own = templates(tmp_path, "{{ name | twice }}", markup=False)
    assert own.render(NAME, {"name": "a<\x1b"}) == "a<a<"
    assert templates(tmp_path, "{{ name }}").render(NAME, {"name": "a<"}) == "a&lt;"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ nobody }}", "line 1: 'nobody' is undefined"),
        ("\n{% if %}", "line 2: "),
        ("{{ ''.__class__ }}", "unsafe"),
        ("{% include 'lacking' %}", "there is no template 'lacking'"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path, text, says):
    with pytest.raises(InvalidSpec, match=says):
        templates(tmp_path, text).render(NAME, {})


def test_a_folder_without_templates_is_refused(tmp_path):
    with pytest.raises(InvalidSpec, match="templates must be a folder with at least one of"):
        Templates(PACKAGE, tmp_path, filters={})

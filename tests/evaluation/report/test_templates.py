"""Templates of one's own, mistakes in them, and data that tries to become markup."""

import html.parser

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup
from typer.testing import CliRunner

from ract import ActionSpace, Feature, OutcomeJudge, RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.data.datasets import load_loans
from ract.evaluation.report import audit


@pytest.fixture(scope="module")
def found():
    loans = load_loans(n_people=300)
    model = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=0)
    model.fit(loans.frame[:200], loans.target[:200])
    return audit(model, loans.frame[200:], loans.target[200:], groups="Education")


@pytest.fixture
def mine(tmp_path):
    """Write a template into a folder of one's own; the folder."""

    def write(**templates):
        for name, text in templates.items():
            (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_a_folder_replaces_templates_by_name(found, mine, tmp_path):
    ours = found.to_html()
    folder = mine(reading='<p>Ask {{ title | upper }}.</p>\n{% include "own.html" %}', own="<hr>")
    changed = found.to_html(folder)
    before, after = ours.split("<section><h2>How to read this</h2>")
    assert changed.startswith(before + "<p>Ask RECOURSE AUDIT.</p>\n<hr>")
    assert changed.endswith(after.split("</ul>\n</section>\n")[1])
    found.save(tmp_path / "page.html", str(folder))
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == changed


def test_a_template_can_extend_the_one_it_replaces(found, mine):
    text = '{% extends "ract/audit.html" %}{% block sections %}<p>Only this.</p>{% endblock %}'
    page = found.to_html(mine(audit=text))
    assert "<main>\n<p>Only this.</p></main>" in page and "<section>" not in page


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<p>\n{% iff %}", 2, "Encountered unknown tag 'iff'"),
        ("{% if title %}", 1, "Unexpected end of template"),
        ("<p>\n\n{{ titel }}</p>", 3, "'titel' is undefined"),
        ("{% if titel %}{% endif %}", 1, "'titel' is undefined"),
        ("\n{{ everyone.moon }}", 2, "'dict object' has no attribute 'moon'"),
        ("{{ title | shout }}", 1, "No filter named 'shout'"),
        ("{{ title | percent }}", 1, "could not convert"),
        ("{{ n_people / 0 }}", 1, "division by zero"),
        ('\n{% include "moon.html" %}', 2, "there is no template 'moon.html'"),
        ('{% include "../moon.html" %}', 1, "there is no template '../moon.html'"),
        ('{% include "reading.html" %}', 1, "maximum recursion depth exceeded"),
        ("{{ title.__class__.__mro__ }}", 1, "access to attribute '__class__' .* is unsafe"),
    ],
)
def test_a_mistake_is_one_sentence_with_file_and_line(found, mine, text, line, message):
    folder = mine(reading=text)
    expected = rf"^{folder}/reading\.html, line {line}: {message}[^\n]*\.$"
    with pytest.raises(InvalidSpec, match=expected):
        found.to_html(folder)


def test_a_mistake_in_an_included_template_is_found_there(found, mine):
    folder = mine(reading='{% include "own.html" %}', own="<p>\n{{ titel }}")
    with pytest.raises(InvalidSpec, match=r"own\.html, line 2: 'titel' is undefined\.$"):
        found.to_html(folder)


def test_a_template_that_is_not_text_is_named(found, tmp_path):
    (tmp_path / "reading.html").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidSpec, match=r"reading\.html: 'utf-8' codec can't decode"):
        found.to_html(tmp_path)


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_a_folder_without_templates_is_refused(found, tmp_path, name):
    with pytest.raises(InvalidSpec, match=r"at least one of 'audit\.html', .* got '"):
        found.to_html(tmp_path / name)


def test_the_command_names_a_mistake_before_it_searches(mine):
    folder = mine(reading="{% if %}")
    asked = ["audit", "no.ract", "no.csv", "-o", "page.html", "--templates", str(folder)]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 2
    assert "reading.html, line 1: Expected an expression" in result.output


class Tags(html.parser.HTMLParser):
    """All tags of a page with their attributes, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, attrs))

    def handle_data(self, data):
        self.text += data


def audit_with(words):
    """A page on a table in which every name and every text is one of these."""
    rng = np.random.default_rng(0)
    title, number, category, first, second, desired, index = words
    categories = np.array([first, Markup(second)], dtype=object)[rng.integers(0, 2, 300)]
    frame = pd.DataFrame(
        {number: rng.normal(size=300), category: categories},
        index=[Markup(f"{index}{k}") if k % 2 else k for k in range(300)],
    )
    target = np.where(frame[number] + rng.normal(size=300) > 0, desired, "no")
    space = ActionSpace(
        [Feature(number), Feature(category, change="fixed")], desired=desired, limits=None
    )
    model = RecourseForestClassifier(space, n_estimators=3, budget=0.02, random_state=0)
    model.fit(frame[:200], target[:200])
    judge = OutcomeJudge(space, n_splits=2).fit(frame[:200], target[:200])
    people, truth, groups = frame[200:], target[200:], categories[200:]
    return audit(model, people, truth, groups=groups, judge=judge, title=Markup(title)).to_html()


def test_data_never_becomes_markup():
    evil = "<script>alert('{}')</script>&\"</title></pre></svg>{{{{ 7 * 7 }}}}<img onerror=x>"
    harmful = [evil.format(k) for k in range(7)]
    page, plain = Tags(audit_with(harmful)), Tags(audit_with([f"!plain {k}" for k in range(7)]))
    assert page.tags == plain.tags
    for word in harmful:
        assert word in page.text

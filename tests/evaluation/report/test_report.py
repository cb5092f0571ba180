"""The audit: numbers as measured, a page that a real browser shows without outside help."""

import base64
import html.parser
import json
import re
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest

from ract import (
    ActionSpace,
    OutcomeJudge,
    RecourseBoostingClassifier,
    RecourseForestClassifier,
)
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.evaluation.certificates import CertificateWarning
from ract.evaluation.metrics import recourse_report, sendable
from ract.evaluation.report import audit, charts
from ract.evaluation.report.audit import audit_of
from ract.evaluation.report.counts import Counts
from ract.evaluation.report.page import _median
from ract.recourse.few_changes import few_changes


@pytest.fixture(scope="module")
def loans():
    return load_loans(n_people=1600)


@pytest.fixture(scope="module")
def forest(loans):
    model = RecourseForestClassifier(
        loans.actions, n_estimators=15, budget=0.15, recourse_weight=0, random_state=0
    )
    return model.fit(loans.frame[:1000], loans.target[:1000])


@pytest.fixture(scope="module")
def found(forest, loans):
    return audit(forest, loans.frame[1000:], loans.target[1000:], groups="Education")


def test_the_page_leads_with_plans_that_can_be_sent(found, forest, loans):
    people = loans.frame[1000:]
    letters = few_changes(forest.recourse, people, at_least=True)
    sent = sendable(letters, groups="Education")
    pd.testing.assert_frame_equal(found.sendable.people, sent.people)
    pd.testing.assert_frame_equal(found.sendable.metrics, sent.metrics)
    page = found.to_html()
    assert page.index("can be sent as they are") < page.index("without recourse</h2>")
    assert f"{sent.share:.1%} of {len(sent.people)} refused people" in page
    assert "was not checked here" in page
    again = RecourseForestClassifier(loans.actions, n_estimators=5, random_state=1)
    again.fit(loans.frame[:500], loans.target[:500])
    judged = audit(forest, people.head(100), others=again)
    assert "lasts" in judged.sendable.checks
    assert "was not checked here" not in judged.to_html()


def test_the_numbers_are_those_of_the_parts(found, forest, loans):
    people, truth = loans.frame[1000:], loans.target[1000:]
    pd.testing.assert_frame_equal(
        found.metrics, recourse_report(forest, people, truth, groups="Education")
    )
    recourse = forest.recourse(people)
    assert found.certificate.everyone.risk == pytest.approx(1 - recourse.within_budget.mean())
    without = np.flatnonzero(~recourse.within_budget)
    assert found.n_without == len(without) > 0
    costly = ~(found.costs["cost"] <= 0.15)
    assert found.costs.loc[costly, "people"].sum() == len(without)
    assert found.costs["people"].sum() == len(people)
    assert found.without["person"].tolist() == recourse.labels[without].tolist()
    assert found.held["people"].sum() == len(without)
    planned = recourse.found
    share = recourse.changed[planned].mean(axis=0)
    names = [axis.feature.name for axis in recourse.encoder.axes]
    by_name = found.changes.set_index("feature")["share"]
    for name, expected in zip(names, share, strict=True):
        assert by_name.get(name, 0.0) == pytest.approx(expected)
    assert not (set(by_name.index) & {"Age", "LatePayments"})


class Wellformed(html.parser.HTMLParser):
    """Every tag that is opened is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], []

    def handle_starttag(self, tag, attrs):
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else(found, tmp_path):
    text = found.to_html()
    parser = Wellformed()
    parser.feed(text)
    assert parser.open == []
    outside = re.findall(r'(?:src|href|url)\s*[=(]\s*"?([^">)]+)', text)
    assert outside == []
    assert "<script" not in text
    assert text.count("<svg") == 4
    found.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == text
    record = json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", text, re.DOTALL)[1]))
    assert record == found.certificate.to_dict()


def test_a_large_table_is_searched_in_part_and_bounded_in_whole(forest, loans):
    some = audit(forest, loans.frame[1000:], max_people=50)
    assert (some.n_searched, some.n_people, some.costs["people"].sum()) == (50, 600, 50)
    assert some.certificate.everyone.n_people == 600
    assert "from 50 of the 600 people" in some.to_html()
    assert "accuracy" not in set(some.metrics["metric"])
    with pytest.raises(InvalidSpec, match="is for a budget of 0.15, the audit for 0.2."):
        audit(forest, loans.frame[1000:], budget=0.2, certificate=some.certificate)
    with pytest.raises(InvalidSpec, match="max_people"):
        audit(forest, loans.frame[1000:], max_people=0)


def test_training_people_are_noted_on_the_page(forest, loans):
    with pytest.warns(CertificateWarning):
        text = audit(forest, loans.frame[900:1100]).to_html()
    assert "100 of these people are equal to" in text


def test_the_page_says_that_nobody_is_without_recourse(forest, loans):
    text = audit(forest, loans.frame[1000:1100], budget=np.inf).to_html()
    assert "Nobody: each of the 100 people" in text and "Budget</dt><dd>none" in text


def test_a_judge_adds_a_section(forest, loans):
    judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame[:1000], loans.target[:1000])
    found = audit(forest, loans.frame[1000:], groups="Education", judge=judge)
    recourse = forest.recourse(loans.frame[1000:], explain=False)
    expected = recourse.judged(judge, accepted=recourse.accepted.mean())
    assert found.judged["bar"] == expected.bar and found.judged["accepted"] == expected.accepted
    pd.testing.assert_frame_equal(found.verdicts, expected.summary("Education"))
    assert {"granted", "undecided", "none"} <= set(expected.frame["verdict"])
    text = found.to_html()
    parser = Wellformed()
    parser.feed(text)
    assert parser.open == [] and text.count("<svg") == 5
    section = text[text.index("Earned or granted") :]
    assert f"If all {found.verdicts['granted'][0]} granted plans" in section
    for kind in ("undecided", "granted", "none"):
        assert f'<rect class="{kind}"' in section
    accepted = loans.frame[1000:][recourse.accepted]
    alone = audit(forest, accepted, judge=judge).to_html()
    assert "Nobody is refused." in alone


def test_no_judge_no_section(found):
    assert found.judged is None and "Earned or granted" not in found.to_html()


@pytest.mark.parametrize("cuts", [[1], [200, 201, 550]])
def test_parts_add_up_to_the_whole(found, forest, loans, cuts):
    """Counts of parts come to those of one part, and so does the page."""
    people, truth = loans.frame[1000:], np.asarray(loans.target[1000:])
    judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame[:1000], loans.target[:1000])
    accepted = found.certificate.share_accepted

    def counts(rows, **given):
        return Counts.of(
            forest, people[rows], truth[rows], 0.15, groups="Education", judge=judge,
            accepted=accepted, plausibility=False, **given,
        )  # fmt: skip

    parts = [slice(a, b) for a, b in pairwise([0, *cuts, len(people)])]
    how = {"time_limit": None, "max_nodes": 10_000}
    whole, summed = (
        audit_of(one, forest, found.certificate, 0.95, "Audit", judge, **how)
        for one in (counts(slice(None)), reduce(add, map(counts, parts)))
    )
    for name in ("metrics", "costs", "changes", "held", "without", "verdicts"):
        pd.testing.assert_frame_equal(getattr(whole, name), getattr(summed, name), rtol=1e-9)
    assert (whole.n_without, whole.n_supplied) == (summed.n_without, summed.n_supplied)
    assert whole.to_html() == summed.to_html()
    assert whole.held.equals(found.held)


def test_the_median_of_costs_with_people():
    for costs in ([0.3], [0.1, 0.4], [0.1, 0.1, 0.4], [0.1, 0.2, 0.2, 0.4]):
        values, people = np.unique(costs, return_counts=True)
        table = pd.DataFrame({"cost": values, "people": people})
        assert _median(table) == pytest.approx(np.median(costs))
    assert np.isnan(_median(table[:0]))


def test_charts_take_odd_numbers():
    for values in (np.array([]), np.array([0.0]), np.array([0.2, np.inf]), np.arange(1000) / 999):
        assert charts.steps("t", values, 0.3).count("<svg") == 1
        assert charts.histogram("t", values[np.isfinite(values)], np.inf).count("<svg") == 1
    rows = [("a", 0.5, -np.inf, np.inf), ("b", np.nan, np.nan, np.nan), ("c", 0.5, 0.5, 0.5)]
    assert "nan" not in charts.intervals("t", rows, 0.5)
    assert charts.bars("t", []).startswith("<svg")
    assert charts.stacked("t", ["a", "b"], []).startswith("<svg")
    assert charts.stacked("t", ["a", "b"], [("x", [0.0, 1.0], 7)]).count('class="a"') == 0


def test_a_browser_shows_the_page(found, browser, tmp_path):
    path = tmp_path / "report.html"
    found.save(path)
    browser.set_window_size(900, 1200)
    browser.get("about:blank")
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # what the browser itself asks for when it starts
    browser.get(path.as_uri())
    assert browser.title == "Recourse audit"
    heads = [h.text for h in browser.find_elements("tag name", "h2")]
    assert "People without recourse" in heads and "By group" in heads
    drawn = browser.find_elements("tag name", "svg")
    assert len(drawn) == 4
    for chart in drawn:
        assert chart.size["width"] > 300 and chart.size["height"] > 60
        shapes = chart.find_elements("css selector", ".bar, .line, .dot")
        assert shapes and any(shape.rect["width"] > 0 for shape in shapes)
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    requests = [
        json.loads(entry["message"])["message"]["params"]["request"]["url"]
        for entry in browser.get_log("performance")
        if '"Network.requestWillBeSent"' in entry["message"]
    ]
    assert all(url.startswith(("file:", "data:")) for url in requests), requests
    summary = browser.find_element("tag name", "summary")
    summary.click()
    assert browser.find_element("tag name", "pre").is_displayed()


def test_the_page_is_read_in_light_and_dark_and_by_screen_readers(
    found, browser, faults_of_page, tmp_path
):
    path = tmp_path / "report.html"
    found.save(path)
    browser.get(path.as_uri())
    assert faults_of_page() == []


def test_no_label_of_a_chart_is_cut_off(found, browser, tmp_path):
    long = "A name of a group that is much longer than the room for it"
    rows = [(long, 0.5, 0.4, 0.6), ("short", 0.7, 0.6, 0.8)]
    drawn = [charts.intervals("t", rows, 0.6), charts.bars("t", [(long, 0.5, "50%")])]
    path = tmp_path / "charts.html"
    style = "svg { width: 640px; font: 12px system-ui, sans-serif }"
    path.write_text(f"<meta charset='utf-8'><style>{style}</style>" + "".join(drawn), "utf-8")
    for address in (path, tmp_path / "report.html"):
        if address != path:
            found.save(address)
        browser.get(address.as_uri())
        outside = browser.execute_script(
            "return [...document.querySelectorAll('svg text')].filter((t) => {"
            "const b = t.getBoundingClientRect(), s = t.ownerSVGElement.getBoundingClientRect();"
            "return b.left < s.left - 1 || b.right > s.right + 1 || b.bottom > s.bottom + 1; })"
            ".map((t) => t.textContent)"
        )
        assert outside == []


def test_people_without_recourse_are_grouped_by_what_holds_them(found):
    assert set(found.without["obstacle"]) == set(found.held["features"])
    counts = found.without["obstacle"].value_counts()
    for _, row in found.held.iterrows():
        assert counts[row["features"]] == row["people"]
    page = found.to_html()
    first, second = found.held["features"][:2]
    assert f"<h4>{first}: " in page
    assert page.index(f"<h4>{first}: ") < page.index(f"<h4>{second}: ")


def test_the_page_fits_a_phone_and_prints(found, browser, tmp_path):
    path = tmp_path / "report.html"
    found.save(path)
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True},
    )
    browser.get(path.as_uri())
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    assert wide <= 390
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    printed = browser.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    pdf = base64.b64decode(printed["data"])
    assert (
        pdf.startswith(b"%PDF")
        and 2 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 20
    )


def test_nobody_is_refused(loans):
    space = ActionSpace(loans.actions.features, loans.desired, limits="size", steps="round")
    given = {"budget": 1.0, "max_iter": 3, "n_replicates": 2, "threshold": 0.01, "random_state": 0}
    model = RecourseBoostingClassifier(space, **given)
    model.fit(loans.frame[:300], loans.target[:300])
    judge = OutcomeJudge(space, desired=loans.desired, n_splits=2)
    judge.fit(loans.frame[300:600], loans.target[300:600])
    people, truth = loans.frame[600:640], loans.target[600:640]
    found = audit(model, people, truth, judge=judge)
    assert not len(found.sendable.people) and "<html" in found.to_html()

"""The page of an audit: whole, readable, and with nothing from elsewhere."""

import base64
import html.parser
import json
import re

import numpy as np
import pandas as pd
import pytest

from ract import (
    RecourseForestClassifier,
)
from ract.evaluation.metrics import sendable
from ract.evaluation.report import audit
from ract.evaluation.report.page import _median
from ract.recourse.few_changes import few_changes


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


def test_the_page_says_that_nobody_is_without_recourse(forest, loans):
    text = audit(forest, loans.frame[1000:1100], budget=np.inf).to_html()
    assert "Nobody: each of the 100 people" in text and "Budget</dt><dd>none" in text


def test_the_median_of_costs_with_people():
    for costs in ([0.3], [0.1, 0.4], [0.1, 0.1, 0.4], [0.1, 0.2, 0.2, 0.4]):
        values, people = np.unique(costs, return_counts=True)
        table = pd.DataFrame({"cost": values, "people": people})
        assert _median(table) == pytest.approx(np.median(costs))
    assert np.isnan(_median(table[:0]))


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

"""Charts take odd numbers, and none of their labels is cut off."""

import numpy as np

from ract.evaluation.report import charts


def test_charts_take_odd_numbers():
    for values in (np.array([]), np.array([0.0]), np.array([0.2, np.inf]), np.arange(1000) / 999):
        assert charts.steps("t", values, 0.3).count("<svg") == 1
        assert charts.histogram("t", values[np.isfinite(values)], np.inf).count("<svg") == 1
    rows = [("a", 0.5, -np.inf, np.inf), ("b", np.nan, np.nan, np.nan), ("c", 0.5, 0.5, 0.5)]
    assert "nan" not in charts.intervals("t", rows, 0.5)
    assert charts.bars("t", []).count("<svg") == 1
    assert charts.stacked("t", ["a", "b"], []).count("<svg") == 1
    assert charts.stacked("t", ["a", "b"], [("x", [0.0, 1.0], 7)]).count('class="a"') == 0


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

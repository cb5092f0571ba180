"""Small charts as SVG text: no library, no script, no outside request.

A chart is drawn in a box of 640 points, with its plot inside margins:

    +--------------------------------------+
    |  left |      plot, x from a to b     |
    |  text |                              |
    |       +------------------------------|
    |          ticks, what x is            |
    +--------------------------------------+
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

import numpy as np

WIDTH, RIGHT, ROW = 640, 20, 26


def svg(title: str, height: float, *shapes: str) -> str:
    """A chart with a title for those who cannot see it."""
    inside = "".join(shapes)
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height:g}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title>{inside}</svg>"
    )


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> str:
    """Horizontal bars of shares: label, share, what is written behind the bar."""
    left, most = 190, max((value for _, value, _ in rows), default=1.0) or 1.0
    wide = WIDTH - left - RIGHT - 110
    shapes = []
    for k, (label, value, told) in enumerate(rows):
        y, length = 6 + k * ROW, max(wide * value / most, 1)
        shapes.append(_text(left - 8, y + 14, label, "end"))
        shapes.append(f'<rect class="bar" x="{left}" y="{y}" width="{length:.1f}" height="18"/>')
        shapes.append(_text(left + length + 6, y + 14, told))
    return svg(title, 12 + len(rows) * ROW, *shapes)


def histogram(title: str, values: np.ndarray, budget: float, n_bins: int = 24) -> str:
    """How often costs occur, with the budget as a line."""
    end = _end(values, budget)
    counts, edges = np.histogram(values, bins=n_bins, range=(0.0, end))
    top, bottom, left = 22, 200, 50
    scale = (bottom - top) / max(int(counts.max(initial=0)), 1)
    x = _scale(left, WIDTH - RIGHT, 0.0, end)
    shapes = [
        f'<rect class="bar" x="{x(a) + 0.5:.1f}" y="{bottom - n * scale:.1f}" '
        f'width="{max(x(b) - x(a) - 1, 0.5):.1f}" height="{n * scale:.1f}"/>'
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    shapes += [
        _text(left - 6, top + 8, f"{counts.max(initial=0):,}", "end"),
        _text(left - 6, bottom, "0", "end"),
    ]
    shapes += _axis(x, 0.0, end, bottom, "cost of the cheapest plan")
    return svg(title, 242, *shapes, *_budget_line(x, budget, end, top, bottom))


def steps(title: str, costs: np.ndarray, budget: float) -> str:
    """The share of people whose cost is at most x, as steps."""
    finite = np.sort(costs[np.isfinite(costs)])
    end = _end(finite, budget)
    at = np.unique(np.concatenate([[0.0], finite, [end]]))
    if len(at) > 400:  # as fine as the eye can see
        at = np.unique(np.concatenate([[0.0, end], np.quantile(finite, np.linspace(0, 1, 400))]))
    share = np.searchsorted(finite, at, side="right") / max(len(costs), 1)
    top, bottom, left = 22, 200, 50
    x, y = _scale(left, WIDTH - RIGHT, 0.0, end), _scale(bottom, top, 0.0, 1.0)
    path = f"M{x(at[0]):.1f},{y(share[0]):.1f}" + "".join(
        f"H{x(a):.1f}V{y(s):.1f}" for a, s in zip(at[1:], share[1:], strict=True)
    )
    marks = [
        shape
        for level in (0.0, 0.25, 0.5, 0.75, 1.0)
        for shape in (
            _line("grid", left, y(level), WIDTH - RIGHT, y(level)),
            _text(left - 6, y(level) + 4, f"{level:.0%}", "end"),
        )
    ]
    line = f'<path class="line" d="{path}"/>'
    shapes = [*marks, line, *_axis(x, 0.0, end, bottom, "budget")]
    return svg(title, 242, *shapes, *_budget_line(x, budget, end, top, bottom))


def intervals(title: str, rows: Sequence[tuple[str, float, float, float]], everyone: float) -> str:
    """Values with intervals, one row each, and everyone's value as a line."""
    left, bottom = 190, 8 + len(rows) * ROW
    known = [v for _, value, low, high in rows for v in (value, low, high) if math.isfinite(v)]
    start, end = min([*known, everyone]), max([*known, everyone])
    room = max(end - start, 0.02) * 0.08
    start, end = start - room, end + room
    x = _scale(left, WIDTH - RIGHT, start, end)
    shapes = [_line("all", x(everyone), 2, x(everyone), bottom)]
    for k, (label, value, low, high) in enumerate(rows):
        y = 6 + k * ROW + ROW / 2
        shapes.append(_text(left - 8, y + 4, label, "end"))
        if not math.isfinite(value):
            continue
        ends = [x(v) if math.isfinite(v) else x(value) for v in (low, high)]
        shapes.append(
            _line("line", ends[0], y, ends[1], y)
            + f'<circle class="dot" cx="{x(value):.1f}" cy="{y}" r="4.5"/>'
        )
    return svg(title, bottom + 42, *shapes, *_axis(x, start, end, bottom, "line: everyone"))


def _end(values: np.ndarray, budget: float) -> float:
    """Where the cost axis ends."""
    most = float(values.max(initial=0.0))
    if math.isfinite(budget):
        most = max(most, budget * 1.1)
    return most * 1.02 or 1.0


class _scale:  # noqa: N801  a function with memory
    """From values between a and b to places between first and last."""

    def __init__(self, first: float, last: float, a: float, b: float) -> None:
        self.first, self.slope, self.a = first, (last - first) / ((b - a) or 1.0), a

    def __call__(self, value: float) -> float:
        return self.first + self.slope * (float(value) - self.a)


def _axis(x: _scale, start: float, end: float, bottom: float, told: str) -> list[str]:
    """A horizontal axis with about five round ticks."""
    raw = (end - start) / 5
    unit = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw)
    ticks = np.arange(math.ceil(start / step) * step, end + step * 1e-6, step)
    shapes = [_line("axis", x(start), bottom, x(end), bottom)]
    for tick in ticks:
        shapes.append(_line("axis", x(tick), bottom, x(tick), bottom + 4))
        shapes.append(_text(x(tick), bottom + 18, f"{tick:.6g}", "middle"))
    shapes.append(_text((x(start) + x(end)) / 2, bottom + 36, told, "middle"))
    return shapes


def _budget_line(x: _scale, budget: float, end: float, top: float, bottom: float) -> list[str]:
    if not math.isfinite(budget) or budget > end:
        return []
    line = _line("budget", x(budget), top, x(budget), bottom)
    return [line, _text(x(budget), top - 8, f"budget {budget:g}", "middle")]


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(text))}</text>'

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
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from markupsafe import Markup

from ract._utils.printable import printable

WIDTH, RIGHT, ROW = 640, 20, 26
LABELS, LONGEST = 190, 27  # where a plot with a label for each row begins, and what fits before it
LEFT, TOP, BOTTOM, HEIGHT = 64, 22, 200, 242  # the plot, and the box, of a chart over costs

Scale = Callable[[float], float]


def svg(title: str, height: float, *shapes: str) -> Markup:
    """A chart with a title for those who cannot see it."""
    inside = "".join(shapes)
    return Markup(
        f'<div class="scroll" tabindex="0"><svg role="img" viewBox="0 0 {WIDTH} {height:g}" '
        f'xmlns="http://www.w3.org/2000/svg"><title>{escape(title)}</title>{inside}</svg></div>'
    )


def bars(title: str, rows: Sequence[tuple[str, float, str]]) -> Markup:
    """Horizontal bars of shares: label, share, what is written behind the bar."""
    most = max((value for _, value, _ in rows), default=1.0) or 1.0
    wide = WIDTH - LABELS - RIGHT - 130
    shapes = []
    for k, (label, value, text) in enumerate(rows):
        y, length = 6 + k * ROW, max(wide * value / most, 1)
        shapes += [
            _label(y + 14, label),
            _bar(LABELS, y, length, 18),
            _text(LABELS + length + 6, y + 14, text),
        ]
    return svg(title, 12 + len(rows) * ROW, *shapes)


def stacked(
    title: str, kinds: Sequence[str], rows: Sequence[tuple[str, Sequence[float], int]]
) -> Markup:
    """Bars of length one, cut into shares of each kind: label, shares, number of people."""
    wide, shapes = WIDTH - LABELS - RIGHT - 60, []
    for k, (label, shares, n_people) in enumerate(rows):
        y, x = 6 + k * ROW, float(LABELS)
        shapes.append(_label(y + 14, label))
        for kind, share in zip(kinds, shares, strict=True):
            if share > 0:
                shapes.append(_bar(x, y, wide * share, 18, kind))
            if share >= 0.08:
                shapes.append(_text(x + wide * share / 2, y + 14, f"{share:.0%}", "middle"))
            x += wide * share
        shapes.append(_text(x + 6, y + 14, f"{n_people:,}"))
    y, x = 12 + len(rows) * ROW, float(LABELS)
    for i, kind in enumerate(kinds):
        if any(shares[i] > 0 for _, shares, _ in rows):
            shapes += [_bar(x, y, 12, 12, kind), _text(x + 17, y + 11, kind)]
            x += 34 + 7 * len(kind)
    return svg(title, y + 20, *shapes)


def histogram(
    title: str, costs: np.ndarray, budget: float, people: np.ndarray | None = None
) -> Markup:
    """How many people have which cost, one each by default, with the budget as a line."""
    end = _end(costs, budget)
    counts, edges = np.histogram(costs, bins=24, range=(0.0, end), weights=people)
    most = int(counts.max(initial=0))
    x, scale = _scale(LEFT, WIDTH - RIGHT, 0.0, end), (BOTTOM - TOP) / max(most, 1)
    shapes = [
        _bar(x(a) + 0.5, BOTTOM - n * scale, max(x(b) - x(a) - 1, 0.5), n * scale)
        for n, a, b in zip(counts, edges[:-1], edges[1:], strict=True)
    ]
    shapes += [
        _text(LEFT - 6, TOP + 8, f"{most:,}", "end"),
        _upright("people"),
        _text(LEFT - 6, BOTTOM, "0", "end"),
        *_axis(x, 0.0, end, BOTTOM, "cost of the cheapest plan"),
    ]
    return svg(title, HEIGHT, *shapes, *_budget_line(x, budget, end))


def steps(title: str, costs: np.ndarray, budget: float, people: np.ndarray | None = None) -> Markup:
    """The share of people, one for each cost by default, whose cost is at most x, as steps."""
    people = np.ones(len(costs)) if people is None else people
    order = np.argsort(costs)[: np.isfinite(costs).sum()]
    finite, reached = costs[order], np.cumsum(people[order])
    end = _end(finite, budget)
    at = np.unique(np.concatenate([[0.0], finite, [end]]))
    if len(at) > 400:  # as fine as the eye can see
        places = np.searchsorted(reached, np.linspace(0, reached[-1], 400))
        at = np.unique(np.concatenate([[0.0, end], finite[places]]))
    below = np.searchsorted(finite, at, side="right")
    share = np.append(0, reached)[below] / max(people.sum(), 1)
    x, y = _scale(LEFT, WIDTH - RIGHT, 0.0, end), _scale(BOTTOM, TOP, 0.0, 1.0)
    path = f"M{x(at[0]):.1f},{y(share[0]):.1f}" + "".join(
        f"H{x(a):.1f}V{y(s):.1f}" for a, s in zip(at[1:], share[1:], strict=True)
    )
    shapes = []
    for level in (0.0, 0.25, 0.5, 0.75, 1.0):
        shapes += [
            _line("grid", LEFT, y(level), WIDTH - RIGHT, y(level)),
            _text(LEFT - 6, y(level) + 4, f"{level:.0%}", "end"),
        ]
    shapes += [
        f'<path class="line" d="{path}"/>', _upright("share of people with recourse"),
        *_axis(x, 0.0, end, BOTTOM, "budget"),
    ]  # fmt: skip
    return svg(title, HEIGHT, *shapes, *_budget_line(x, budget, end))


def intervals(
    title: str,
    rows: Sequence[tuple[str, float, float, float]],
    everyone: float,
    axis: str = "share; dashed: everyone",
) -> Markup:
    """Shares with intervals, one row each, and everyone's share, or another, as a line."""
    bottom = 8 + len(rows) * ROW
    known = [v for _, *numbers in rows for v in numbers if math.isfinite(v)]
    start, end = min([*known, everyone]), max([*known, everyone])
    room = max(end - start, 0.02) * 0.08
    start, end = start - room, end + room
    x = _scale(LABELS, WIDTH - RIGHT, start, end)
    shapes = [_line("all", x(everyone), 2, x(everyone), bottom)]
    for k, (label, value, low, high) in enumerate(rows):
        y = 6 + k * ROW + ROW / 2
        shapes.append(_label(y + 4, label))
        if math.isfinite(value):
            first, last = (x(v if math.isfinite(v) else value) for v in (low, high))
            shapes += [
                _line("line", first, y, last, y),
                f'<circle class="dot" cx="{x(value):.1f}" cy="{y}" r="4.5"/>',
            ]
    return svg(title, bottom + 42, *shapes, *_axis(x, start, end, bottom, axis, percent=True))


def _end(values: np.ndarray, budget: float) -> float:
    """Where the cost axis ends."""
    most = float(values.max(initial=0.0))
    if math.isfinite(budget):
        most = max(most, budget * 1.1)
    return most * 1.02 or 1.0


def _scale(first: float, last: float, a: float, b: float) -> Scale:
    """From values between a and b to places between first and last."""
    slope = (last - first) / ((b - a) or 1.0)
    return lambda value: first + slope * (float(value) - a)


def _axis(
    x: Scale, start: float, end: float, bottom: float, label: str, *, percent: bool = False
) -> list[str]:
    """A horizontal axis with about five round ticks."""
    raw = (end - start) / 5
    unit = 10 ** math.floor(math.log10(raw)) if raw > 0 else 1.0
    step = next(m * unit for m in (1, 2, 5, 10) if m * unit >= raw)
    shapes = [_line("axis", x(start), bottom, x(end), bottom)]
    for tick in np.arange(math.ceil(start / step) * step, end + step * 1e-6, step):
        shapes += [
            _line("axis", x(tick), bottom, x(tick), bottom + 4),
            _text(
                x(tick), bottom + 18, f"{100 * tick:.4g}%" if percent else f"{tick:.6g}", "middle"
            ),
        ]
    return [*shapes, _text((x(start) + x(end)) / 2, bottom + 36, label, "middle")]


def _budget_line(x: Scale, budget: float, end: float) -> list[str]:
    if not math.isfinite(budget) or budget > end:
        return []
    line = _line("budget", x(budget), TOP, x(budget), BOTTOM)
    return [line, _text(x(budget), TOP - 8, f"budget {budget:g}", "middle")]


def _bar(x: float, y: float, width: float, height: float, kind: str = "bar") -> str:
    return (
        f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
    )


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _label(y: float, label: str) -> str:
    """What a row is, before the plot; what is too long ends in dots, with all of it as a title."""
    label = str(label)
    short = label if len(label) <= LONGEST else f"{label[: LONGEST - 1]}…"
    text = _text(LABELS - 8, y, short, "end")
    return f"<g><title>{escape(printable(label))}</title>{text}</g>"


def _upright(label: str) -> str:
    """What the vertical axis is."""
    middle = (TOP + BOTTOM) / 2
    return (
        f'<text x="12" y="{middle:g}" text-anchor="middle" '
        f'transform="rotate(-90 12 {middle:g})">{escape(label)}</text>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(printable(text))}</text>'

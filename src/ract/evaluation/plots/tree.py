"""A tree, drawn."""

from __future__ import annotations

from typing import Any

import numpy as np

from ract.evaluation.plots.style import DESIRED, RECOURSE, SPLIT, UNDESIRED, Axes, pyplot
from ract.evaluation.text import Words
from ract.trees.readers.model import FittedTrees


def plot_tree(
    model: FittedTrees,
    *,
    tree: int = 0,
    max_depth: int | None = None,
    decimals: int = 2,
    ax: Axes | None = None,
    fontsize: float | None = None,
) -> Axes:
    """Draw a fitted tree, or one tree of a forest or booster.

    Green leaves give the desired class, red ones the other; yellow leaves give the desired class
    against the majority of their people, for the sake of recourse. People for whom the condition
    holds go left.

    Parameters
    ----------
    model : fitted classifier
    tree : int
        Which tree of a forest.
    max_depth : int, optional
        Deeper branches are cut off.
    decimals : int
        Of thresholds of continuous features.
    ax : matplotlib axes, optional
        The current ones by default.
    fontsize : float, optional
        Chosen so that boxes do not overlap by default.

    Returns
    -------
    matplotlib axes
    """
    words = Words.of(model, decimals)
    if ax is None:
        ax = pyplot().gca()
    place, cut = _layout(words, int(words.ensemble.root[tree]), max_depth)
    width = max(x for x, _ in place.values()) + 1
    size = _fitting_size(words, place, cut, ax, width) if fontsize is None else fontsize
    for node, (x, y) in place.items():
        box = {"boxstyle": "round", "fc": _colour(words, node, cut), "ec": "#777777"}
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size, "zorder": 2}
        ax.annotate(_text(words, node, cut), (x, -y), bbox=box, **style)
        for child in (words.ensemble.left[node], words.ensemble.right[node]):
            if int(child) in place:
                cx, cy = place[int(child)]
                ax.plot([x, cx], [-y, -cy], color="#999999", lw=0.8, zorder=1)
    ax.set(xlim=(-0.6, width - 0.4), ylim=(-max(y for _, y in place.values()) - 0.6, 0.6))
    ax.axis("off")
    return ax


def _fitting_size(
    words: Words, place: dict[int, tuple[float, int]], cut: set[int], ax: Axes, width: float
) -> float:
    """The largest font, up to 11 points, at which boxes side by side do not overlap."""
    leaves = [node for node in place if node in cut or words.ensemble.feature[node] < 0]
    longest = max(len(line) for node in leaves for line in _text(words, node, cut).split("\n"))
    inches = ax.figure.bbox.width / ax.figure.dpi
    points = 72 * inches * ax.get_position().width / (width + 0.2)
    return float(np.clip(points / (0.62 * (longest + 2)), 2, 11))


def _layout(
    words: Words, root: int, max_depth: int | None
) -> tuple[dict[int, tuple[float, int]], set[int]]:
    """Where each node stands: leaves side by side, parents above the middle of their children."""
    ensemble = words.ensemble
    place: dict[int, tuple[float, int]] = {}
    cut: set[int] = set()
    n_placed = 0

    def put(node: int, depth: int) -> float:
        nonlocal n_placed
        ends_here = ensemble.feature[node] < 0
        if ends_here or depth == max_depth:
            if not ends_here:
                cut.add(node)
            x = float(n_placed)
            n_placed += 1
        else:
            left = put(int(ensemble.left[node]), depth + 1)
            x = (left + put(int(ensemble.right[node]), depth + 1)) / 2
        place[node] = (x, depth)
        return x

    put(root, 0)
    return place, cut


def _text(words: Words, node: int, cut: set[int]) -> str:
    if node in cut:
        return "..."
    if words.ensemble.feature[node] < 0:
        return words.leaf(node).replace(" (", "\n").replace(", ", "\n").rstrip(")")
    return words.condition(node, right=False)


def _colour(words: Words, node: int, cut: set[int]) -> str:
    if node in cut or words.ensemble.feature[node] >= 0:
        return SPLIT
    if words.is_for_recourse(node):
        return RECOURSE
    return DESIRED if words.is_desired(node) else UNDESIRED

"""Trees as JSON that any language can walk."""

from __future__ import annotations

import math
from typing import Any

from ract._utils.version import __version__
from ract.io.export.source import Source
from ract.recourse.problem import own_budget
from ract.trees.ensemble import TreeEnsemble
from ract.trees.fingerprint import json_value, model_fingerprint, space_parts

# Models with missing values need a reader that knows them.
FORMAT, VERSION, VERSION_WITH_MISSING = "ract trees", 1, 2


def to_json(model: object) -> dict[str, Any]:
    """A model as JSON values.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model

    Returns
    -------
    dict
        ``columns`` says how to make the encoded columns of a person: the number in a column of the
        table or, if there is an entry ``is``, 1 if the column has that value and 0 if not
        (``null``: 1 if the value is missing). ``trees`` holds the nodes of each tree, from the root
        on. A split has ``column``, ``at_most``, ``yes`` and ``no``: go to node ``yes`` if the
        encoded column is at most that, else to ``no``; ``at_most`` is ``null`` if every known
        number goes to ``yes``. If numbers may be missing, ``missing`` says which of the two a
        missing number takes. A leaf has ``vote`` (whether it is for the desired class) and
        ``value``. ``decision`` says how leaves are combined: ``{"count": "votes", "needed": n}``
        gives the desired class to people with at least n votes; ``"mean"`` and ``"sum"`` compare
        the mean of the values, or ``start`` plus their sum, with ``at_least`` (in single precision
        if ``single``). If leaves have ``other`` values (forests of scikit-learn), the mean is
        compared with the mean of these instead; a tie is enough only if ``tie_wins``.
        ``probability``, where other trees give it: the probability of the desired class is the
        logistic curve of ``start`` plus the sum of the values of these ``trees``.

    Examples
    --------
    >>> from ract import RecourseTreeClassifier
    >>> X = [[1.0], [2.0], [3.0], [4.0]]
    >>> model = RecourseTreeClassifier(min_samples_leaf=1, desired=1).fit(X, [0, 0, 1, 1])
    >>> to_json(model)["trees"][0][0]
    {'column': 0, 'at_most': 2.5, 'yes': 1, 'no': 2}
    """
    source = Source.of(model)
    gives = source.gives
    found = {
        "format": FORMAT,
        "version": VERSION_WITH_MISSING if source.has_missing else VERSION,
        "ract": __version__,
        "fingerprint": model_fingerprint(model),
        "classes": json_value(source.classes, "classes"),
        "desired": json_value(source.classes[source.k], "desired"),
        "budget": json_value(own_budget(model), "budget"),
        "actions": space_parts(source.encoder.space),
        "columns": _columns(source),
        "decision": _decision(source),
        "trees": _trees(source, source.ensemble),
    }
    if gives is not None:
        found["probability"] = {"start": float(gives.base), "trees": _trees(source, gives)}
    return found


def _trees(source: Source, ensemble: TreeEnsemble) -> list[list[dict[str, Any]]]:
    return [_nodes(source, ensemble, part) for part in ensemble.slices]


def _columns(source: Source) -> list[dict[str, Any]]:
    columns: list[dict[str, Any]] = []
    for axis in source.encoder.axes:
        feature = axis.feature
        if feature.columns:
            columns += [{"column": name} for name in feature.columns]
        elif feature.is_categorical:
            values = [*feature.categories, *([None] if axis.has_missing else [])]
            columns += [{"column": feature.name, "is": value} for value in values]
        else:
            columns.append({"column": feature.name})
    return columns


def _missing_numbers(source: Source) -> set[int]:
    """Encoded columns of numbers that may be missing."""
    axes = [axis for axis in source.encoder.axes if axis.has_missing]
    return {axis.columns[0] for axis in axes if not axis.is_categorical}


def _decision(source: Source) -> dict[str, Any]:
    ensemble = source.ensemble
    if ensemble.combine == "votes":
        return {"count": "votes", "needed": int(ensemble.cutoff)}
    if ensemble.against is not None:
        return {"count": "mean", "tie_wins": bool(ensemble.cutoff <= 0.5)}
    return {
        "count": ensemble.combine,
        "at_least": json_value(ensemble.cutoff, "cutoff"),
        "start": float(ensemble.base),
        "single": ensemble.single,
    }


def _nodes(source: Source, ensemble: TreeEnsemble, part: slice) -> list[dict[str, Any]]:
    first, arrays = part.start, [ensemble.feature, ensemble.threshold, ensemble.left]
    arrays += [ensemble.right, ensemble.sends_left, ensemble.label, ensemble.value]
    arrays.append(ensemble.value if ensemble.against is None else ensemble.against)
    missing, nodes = _missing_numbers(source), []
    for column, cut, left, right, sent_left, vote, value, other in zip(
        *(array[part].tolist() for array in arrays), strict=True
    ):
        node: dict[str, Any] = {"vote": vote == 1, "value": value}
        if column >= 0:
            at_most = None if math.isinf(cut) else cut
            node = {"column": column, "at_most": at_most}
            node |= {"yes": left - first, "no": right - first}
            if column in missing:
                node["missing"] = "yes" if sent_left else "no"
        elif ensemble.against is not None:
            node["other"] = other
        nodes.append(node)
    return nodes

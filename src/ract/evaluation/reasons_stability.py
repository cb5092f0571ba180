"""Whether people are given the same reasons when the model is trained again, on other people."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.progress import track
from ract.data.frames import read_table, take_rows
from ract.recourse.lasting import exact_share
from ract.recourse.reasons.find import find_reasons
from ract.recourse.reasons.result import Reasons
from ract.recourse.replicates import fit_on

FEWEST = 10


def reasons_stability(
    estimator: Any,
    X: Any,
    training: Any,
    target: Any,
    *,
    n_replicates: int = 2,
    confidence: float = 0.9,
    random_state: int = 0,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """How alike the reasons of replicates are: the learner fitted on disjoint parts of a table.

    Parameters
    ----------
    estimator : classifier
        Any that scikit-learn can clone and ``ract.find_reasons`` can read; fitted or not.
    X : frame or array
        People to give reasons to; best none of the training table.
    training : frame or array
    target : array (training people,)
    n_replicates : int
        2 or more.
    confidence : float
        Of the interval of Clopper and Pearson.
    random_state : int
        Of the parts.
    progress : bool
    **options
        Of ``ract.find_reasons``.

    Returns
    -------
    DataFrame
        One row for each pair of replicates: ``same decision`` (share of people), ``refused by
        both``, ``same first reason`` with ``low`` and ``high`` (share of those), and ``shared
        reasons`` (mean over those of the reasons that both give, of all that either gives).
    """
    labels = np.asarray(target)
    n_rows = read_table(training).n_rows
    if labels.shape != (n_rows,):
        raise InvalidData(f"training has {n_rows} rows but target has shape {labels.shape}.")
    if isinstance(n_replicates, bool) or not isinstance(n_replicates, int) or n_replicates < 2:
        raise InvalidSpec(f"n_replicates must be 2 or more, got {n_replicates!r}.")
    classes, counts = np.unique(labels, return_counts=True)
    if len(classes) < 2 or counts.min() < FEWEST * n_replicates:
        raise InvalidData(
            f"{n_replicates} replicates need {FEWEST * n_replicates} people or more of either "
            f"class, got {dict(zip(classes.tolist(), counts.tolist(), strict=True))}."
        )
    deal = StratifiedKFold(n_replicates, shuffle=True, random_state=random_state)
    parts = [rows for _, rows in deal.split(np.zeros(n_rows), labels)]
    found: list[Reasons] = []
    for rows in track(parts, n_replicates, "Fitting replicates", show=progress):
        model = fit_on(rows, estimator, training, labels)
        found.append(
            find_reasons(
                model, X, **(options | {
                    "reference": take_rows(training, rows), "responsiveness": False
                })
            )
        )  # fmt: skip
    pairs = combinations(range(n_replicates), 2)
    return pd.DataFrame([_pair(a, b, found[a], found[b], confidence) for a, b in pairs])


def _pair(a: int, b: int, one: Reasons, other: Reasons, confidence: float) -> dict[str, Any]:
    both = np.flatnonzero(one.refused & other.refused).tolist()
    given = [[[r.feature for r in reasons[i].reasons] for i in both] for reasons in (one, other)]
    pairs = [(x, y) for x, y in zip(*given, strict=True) if x or y]
    same_first = sum(x[:1] == y[:1] for x, y in pairs)
    shared = [len({*x} & {*y}) / len({*x} | {*y}) for x, y in pairs]
    first = exact_share(same_first, len(pairs), confidence)
    return {
        "replicates": f"{a + 1} and {b + 1}",
        "people": len(one),
        "same decision": float(np.mean(one.status == other.status)),
        "refused by both": len(both),
        "same first reason": first.value,
        "low": first.low,
        "high": first.high,
        "shared reasons": float(np.mean(shared)) if shared else float("nan"),
    }

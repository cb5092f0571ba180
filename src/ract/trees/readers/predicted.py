"""What a model of another library predicts, asked as its user would."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

from ract._utils.typing import TableLike

# For more rows, handing trees to workers takes a small part of the time.
FEW_ROWS = 64


def predicted_classes(model: Any, table: TableLike) -> np.ndarray:
    """The classes that ``model.predict`` gives the rows of a table.

    For a few rows, a forest of scikit-learn spends most of ``predict`` on handing its trees to
    workers. They are asked one after the other then, and added up as the forest does.

    Examples
    --------
    >>> table = np.arange(6.0)[:, None]
    >>> forest = RandomForestClassifier(5, random_state=0).fit(table, table[:, 0] > 2)
    >>> predicted_classes(forest, table)
    array([False, False, False,  True,  True,  True])
    """
    steps = [step for _, step in model.steps] if type(model) is Pipeline else [model]
    forest = steps.pop()
    plain = type(forest) in (RandomForestClassifier, ExtraTreesClassifier)
    if not plain or "predict" in vars(forest) or len(table) > FEW_ROWS or forest.n_outputs_ > 1:
        return np.asarray(model.predict(table))
    rows: Any = table
    for step in steps:
        rows = rows if step in (None, "passthrough") else step.transform(rows)
    if issparse(rows):
        return np.asarray(forest.predict(rows))
    rows = validate_data(
        forest, rows, dtype=np.float32, order="C", reset=False, ensure_all_finite="allow-nan"
    )
    shares = np.zeros((len(rows), forest.n_classes_))
    for tree in forest.estimators_:
        shares += tree.predict_proba(rows, check_input=False)
    return np.asarray(forest.classes_.take(np.argmax(shares / len(forest.estimators_), axis=1)))

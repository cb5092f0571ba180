"""Reasons beside shap: CPU seconds of exact interventional values, and of all that reasons take.

    python benchmarks/bench_reasons.py [fico compas credit bail] [--people 1000]

Printed for each data set: seconds for the values of refused people against 100 at the margin of
acceptance, and for reasons with responsiveness, on a forest with the default settings; then for the
values of a scikit-learn forest of 100 trees with leaves of 20 people, by ract and by shap's
TreeExplainer, on a tenth of the people.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from ract import RecourseForestClassifier
from ract.data import datasets
from ract.recourse.reasons import find_reasons
from ract.recourse.reasons.shapley import choose_reference, shapley_values
from ract.trees.readers import read_model


def seconds(work):
    """CPU seconds of a second call, when everything is compiled and prepared, and its result."""
    work(3)
    start = time.process_time()
    result = work(None)
    return time.process_time() - start, result


def line(name, n_people):
    data = getattr(datasets, f"fetch_{name}")(drop_duplicates=True)
    model = RecourseForestClassifier(data.actions, random_state=0).fit(data.frame, data.target)
    refused = data.frame[model.predict(data.frame) != model.desired_].head(n_people)
    asked = {
        wanted: seconds(
            lambda n, wanted=wanted: find_reasons(
                model, refused.head(n or n_people), reference=data.frame, responsiveness=wanted
            )
        )[0]
        for wanted in (False, True)
    }
    print(
        f"{name}: {len(refused)} refused people, values {asked[False]:.1f} s, "
        f"reasons {asked[True]:.1f} s"
    )


def beside_shap(name, n_people):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import shap
    data = getattr(datasets, f"fetch_{name}")(drop_duplicates=True)
    X, y = data.frame.select_dtypes("number").to_numpy(float), data.target.to_numpy()
    forest = RandomForestClassifier(100, min_samples_leaf=20, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what people may change does not matter here
        tree = read_model(forest, X)
    reference = choose_reference(tree.ensemble, tree.encoder.matrix(X)).matrix
    people = X[:n_people]
    ours, values = seconds(
        lambda n: shapley_values(tree.ensemble, tree.encoder.axes, people[: n or None], reference)
    )
    explainer = shap.TreeExplainer(forest, reference, feature_perturbation="interventional")
    theirs, other = seconds(
        lambda n: explainer.shap_values(people[: n or None], check_additivity=False)
    )
    desired = list(forest.classes_).index(tree.desired)
    apart = np.median(np.abs(values.sum(axis=2) - other[:, :, desired]))
    print(
        f"  scikit-learn forest, {len(people)} people: ract {ours:.1f} s, shap {theirs:.1f} s; "
        f"median difference {apart:.1e}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=["fico"])
    parser.add_argument("--people", type=int, default=1000)
    given = parser.parse_args()
    for name in given.data:
        line(name, given.people)
        beside_shap(name, given.people // 10)

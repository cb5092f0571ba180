"""Right checksums do not excuse wrong content."""

import numpy as np
import pytest

from ract._utils.errors import InvalidFile
from ract.io.load import from_bytes
from tests.io.files import nested_keys, repacked, set_meta


def set_array(name, at, value):
    def change(meta, arrays):
        arrays[f"{name}.npy"][at] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (set_array("ensemble.left", 0, 0), "leads back"),
        (set_array("ensemble.left", 0, 2), "no parent or more than one"),
        (set_array("ensemble.right", 0, 2**31 - 1), "out of its tree"),
        (set_array("ensemble.feature", 0, 999), "column that there is not"),
        (set_array("ensemble.feature", 0, -2), "."),
        (set_array("ensemble.root", 1, 1), "."),
        (set_array("ensemble.root", 0, 1), "one after the other"),
        (set_array("ensemble.threshold", 0, np.nan), "not finite"),
        (set_array("ensemble.value", 0, np.inf), "not finite"),
        (set_array("ensemble.label", 0, 2), "label"),
        (set_array("cost.ends", 1, 10**9), "."),
        (set_array("cost.knots", 0, 1e300), "goes down"),
        (set_meta("model", "ensemble", "cutoff", 4), "votes of 3 trees"),
        (set_meta("model", "ensemble", "cutoff", 0), "votes of 3 trees"),
        (set_meta("model", "ensemble", "cutoff", True), "cutoff"),
        (set_meta("model", "ensemble", "combine", "sum"), "neither vote nor have a mean"),
        (set_meta("model", "classes", ["approved"]), "two different"),
        (set_meta("model", "classes", ["approved", ["refused"]]), "classes"),
        (set_meta("model", "desired", "perhaps"), "not among its classes"),
        (set_meta("class_type", "|V8"), "type"),
        (set_meta("class_type", "<i8"), "type"),
        (set_meta("model", "budget", -1), "budget"),
        (set_meta("model", "budget", 10**400), "too large"),
        (set_meta("model", "encoder", "columns", ["a"]), "does not cover"),
        (set_meta("model", "encoder", "space", "features", 0, "kind", None), "blanks"),
        (set_meta("model", "encoder", "space", "features", 0, "lower", 1e9), "above upper bound"),
        (set_meta("model", "cost", "norm", "l2"), "norm 'l2', which is no longer supported"),
        (
            set_meta("model", "cost", {"kind": "mahalanobis", "norm": "mahalanobis"}),
            "no longer supp",
        ),
        (set_meta("parameters", "class_weight", nested_keys(300)), "nested too deep"),
        (set_meta("certificates", [1]), "certificate"),
        (set_meta("fitted", []), "fitted"),
    ],
)
def test_right_checksums_do_not_excuse_wrong_content(good, change, complaint):
    with pytest.raises(InvalidFile, match=complaint):
        from_bytes(repacked(good, change))

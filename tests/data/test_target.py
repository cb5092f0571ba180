"""The target of a table."""

import pandas as pd
import pytest

from ract._utils.errors import InvalidData
from ract.data.target import check_classes, rows_with_class, target_classes


def test_rows_without_a_class_are_left_out_and_whole_numbers_stay_whole():
    frame = pd.DataFrame({"x": [1, 2, 3], "y": [0.0, None, 1.0]})
    known = rows_with_class(frame, "y")
    assert known["y"].tolist() == [0, 1] and known["y"].dtype.kind == "i"
    assert known.index.tolist() == [0, 2]
    assert rows_with_class(frame[["x"]], "x") is not None
    with pytest.raises(InvalidData, match="'y' is missing in every row of people.csv"):
        rows_with_class(frame.assign(y=None), "y", "people.csv")


def test_two_classes_are_needed():
    assert target_classes(pd.Series(["b", "a", "b"])) == ["a", "b"]
    check_classes("y", [0.0, 1.0])
    with pytest.raises(InvalidData, match=r"'y' has 3 class\(es\), 1, 2, 3; two are needed"):
        check_classes("y", [1, 2, 3])
    with pytest.raises(InvalidData, match="amounts and not classes"):
        check_classes("y", [0.5, 1.0])

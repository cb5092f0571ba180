"""An action space as people read it."""

import pandas as pd

from ract import ActionSpace


def test_describe_expands_declared_groups():
    frame = pd.DataFrame({"a": [1, 0], "n": [3, 4], "b": [0, 1]})
    space = ActionSpace.infer(
        frame, groups={"g": ["a", "b"]}, fixed=["g"], decrease=["n"], limits=None
    )
    expected = pd.DataFrame(
        {
            "feature": ["a", "b", "n"],
            "type": ["Binary", "Binary", "Integer"],
            "min": [0.0, 0.0, 3.0],
            "max": [1.0, 1.0, 4.0],
            "immutable": ["Yes", "Yes", "No"],
            "constraint": ["Fix", "Fix", "Decreasing only"],
        }
    )
    pd.testing.assert_frame_equal(space.describe(), expected)

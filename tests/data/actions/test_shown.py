"""An action space as people read it."""

import pandas as pd

from ract import ActionSpace, Feature


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


def test_limits_are_shown_for_what_may_change_only():
    still, moves = (Feature("a", "integer", change, max_change=3) for change in ("fixed", "any"))
    assert str(ActionSpace([still])).splitlines()[1] == "  a  integer  fixed"
    assert str(ActionSpace([moves])).splitlines()[1].endswith("by 3 at most")

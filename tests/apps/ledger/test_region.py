"""Regions as plain data, and what keeps values from being inside."""

import numpy as np

from ract.apps.ledger.region import Limit, Region


def test_a_region_survives_plain_data_and_names_what_is_wrong():
    region = Region({"Income": Limit(44_600.0), "Job": Limit(category="cook")}, ("Income",))
    assert Region.from_dict(region.to_dict()) == region
    assert region.faults({"Income": 44_600, "Job": "cook"}) == []
    assert region.faults({"Income": "x", "Job": "clerk"}) == [
        "Income is x; promised for 44,600 or more.",
        "Job is clerk; promised for 'cook'.",
    ]
    assert region.faults({"Income": np.nan, "Job": None})[0].startswith("Income is nan")
    assert region.faults({"Job": "cook"}) == ["Income is not given."]

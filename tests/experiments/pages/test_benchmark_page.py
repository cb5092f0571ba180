"""The benchmark's page."""

import pandas as pd

from experiments.pages.benchmark_page import best_elsewhere, share


def rows_of(lasting):
    """Rows by strength and fold, of ten refused people each."""
    return pd.DataFrame(
        [
            {"Fold": fold, "Strength": strength, "Changes": 0, "Refused": 10, "Lasting": n}
            for strength, by_fold in lasting.items()
            for fold, n in enumerate(by_fold, 1)
        ]
    )


def test_the_strength_of_a_fold_is_chosen_on_the_others():
    """The best strength of each fold is the worst of its own."""
    rows = rows_of({"0": [0, 0], "0.6": [9, 1], "0.7": [1, 8], "0.8": [0, 0], "0.9": [0, 0],
                    "most": [0, 0]})  # fmt: skip
    chosen = best_elsewhere(rows, 0)
    assert chosen["Strength"].tolist() == ["0.7", "0.6"]
    assert share(chosen, "Lasting") == "0.10"


def test_shares_are_of_people_and_missing_ones_are_said_to_be():
    rows = rows_of({"0": [3, 4]})
    assert share(rows, "Lasting") == "0.35"
    assert share(rows.assign(Earned=float("nan")), "Earned") == "n/a"
    assert share(rows.assign(Plans=0), "Lasting", "Plans") == "n/a"

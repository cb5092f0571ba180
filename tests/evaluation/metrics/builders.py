"""A small table with every kind of feature, for tests of what letters carry."""

import numpy as np
import pandas as pd

from ract import ActionSpace, Feature

LEVELS = ("low", "middle", "high")
SPACE = ActionSpace(
    [
        Feature("years", "integer", "increase", lower=0, upper=12),
        Feature("loans", "integer", "decrease", lower=0, upper=9),
        Feature("level", "categorical", "increase", categories=LEVELS),
        Feature("job", "categorical", "any", categories=("a", "b", "c")),
        Feature("owner", "binary", "any"),
        Feature("age", "integer", "fixed"),
    ],
    desired="yes",
    limits=None,
)


def table(n_people, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "years": rng.integers(0, 13, n_people),
            "loans": rng.integers(0, 10, n_people),
            "level": rng.choice(LEVELS, n_people),
            "job": rng.choice(["a", "b", "c"], n_people),
            "owner": rng.integers(0, 2, n_people),
            "age": rng.integers(20, 60, n_people),
        }
    )
    score = frame["years"] - frame["loans"] + 2 * frame["level"].map(LEVELS.index)
    score += 4 * np.sin(frame["years"]) + frame["owner"] + rng.normal(0, 3, n_people)
    return frame, np.where(score > score.median(), "yes", "no")


def codes(frame):
    return frame.assign(
        level=frame["level"].map(LEVELS.index), job=frame["job"].map("abc".index)
    ).astype(float)

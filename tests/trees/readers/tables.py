"""Tables for models of other libraries, and people at and beside every threshold of a model."""

import numpy as np
import pandas as pd

from ract.trees.readers import read_model

NUMBERS = ["income", "share", "age", "debt", "member"]
WORDS = ["purpose", "region"]


def table(seed, n=500):
    """Floats, tenths (not singles), small and large whole numbers, 0 and 1, and words."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "income": np.exp(rng.normal(10, 1, n)),
            "share": rng.integers(0, 11, n) / 10,
            "age": rng.integers(18, 80, n),
            "debt": rng.integers(2**24, 2**24 + 60, n),
            "member": rng.integers(0, 2, n),
            "purpose": rng.choice(["car", "house", "study", "trip", "other"], n),
            "region": rng.choice(["n", "s"], n),
        }
    )
    good = np.log(frame["income"]) / 10 + frame["share"] + 0.3 * (frame["age"] % 7 > 3)
    good += 0.5 * frame["purpose"].isin(["car", "trip"]) - 0.02 * (frame["debt"] % 60)
    good += 0.4 * frame["member"] * (frame["region"] == "n") + rng.normal(0, 0.4, n)
    return frame, (good > good.median()).to_numpy().astype(int)


def rows_near(model, people, rng, n=10_000, positive=True):
    """Rows like the people's, most values at, just below or just above a threshold.

    Where values may be missing, a quarter of them are. positive: for steps that take no others.
    """
    ensemble, encoder = model.ensemble, model.encoder
    own = encoder.matrix(people)
    matrix = own[rng.integers(len(own), size=n)]
    for axis in encoder.axes:
        if axis.is_categorical:
            which = rng.integers(len(axis.columns), size=n)
            matrix[:, list(axis.columns)] = np.eye(len(axis.columns))[which]
            continue
        j = axis.columns[0]
        known = own[~np.isnan(own[:, j]), j]
        low, high = known.min(), known.max()
        cuts = np.unique(ensemble.threshold[ensemble.feature == j])
        cuts = cuts[np.abs(cuts) < 1e30]
        single = cuts.astype(np.float32)
        pool = [known, rng.uniform(low, high, 300), cuts]
        pool += [np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), single]
        pool += [np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(-1))]
        pool += [] if positive else [np.repeat([0.0, -0.0, 1e-35, -2e-35, 5e-324], 40)]
        values = rng.choice(np.concatenate(pool).astype(np.float64), n)
        if axis.feature.kind == "binary":
            values = rng.integers(0, 2, n).astype(float)
        elif axis.feature.kind == "integer":
            values = np.floor(values) + rng.integers(-1, 2, n)
        matrix[:, j] = np.clip(values, low, high) if rng.random() < 0.5 else values
        if positive:
            matrix[:, j] = np.where(matrix[:, j] > 0, matrix[:, j], known[0])
        if axis.has_missing:
            matrix[rng.random(n) < 0.25, j] = np.nan
    rows = encoder.decode(matrix, like=people)
    if isinstance(people, pd.DataFrame):  # missing objects as the people have them
        for name in people.columns:
            marks = people[name][people[name].isna()]
            if len(marks) and pd.api.types.is_object_dtype(people[name]):
                rows[name] = rows[name].where(rows[name].notna(), marks.iloc[0])
    return rows


def with_categories(frame):
    """Words as pandas categories, in an order of their own and one of them never used."""
    kinds = {
        "purpose": pd.CategoricalDtype(["trip", "never", "car", "other", "study", "house"]),
        "region": pd.CategoricalDtype(["s", "n"], ordered=True),
    }
    return frame.astype(kinds)


def with_holes(frame, seed=0, share=0.15):
    """A table in which values are missing here and there."""
    hidden = np.random.default_rng(seed).random(frame.shape) < share
    return frame.mask(hidden)


def signed(seed, n=500):
    """Numbers of both signs, many of them zero, and 0 and 1; which people are good."""
    frame, y = table(seed, n)
    frame = frame[NUMBERS].astype(float)
    return frame.assign(share=frame["share"] - 0.3, age=frame["age"] - 40), y


def check_decisions(model, people, *, n=3000, positive=False, probabilities=True, wanted=(0, 1)):
    """Decisions and probabilities of rows near thresholds, for each class; the last reading."""
    for k in wanted:
        desired = model.classes_[k]
        read = read_model(model, people, desired=desired)
        rows = rows_near(read, people, np.random.default_rng(k), n, positive)
        decided = np.asarray(model.predict(rows)).ravel() == desired
        np.testing.assert_array_equal(read.decide(rows), decided)
        assert 0.02 < decided.mean() < 0.98
        probability = model.predict_proba(rows)[:, k]
        if probabilities:
            np.testing.assert_array_equal(read.probability(rows), probability)
        else:
            np.testing.assert_allclose(read.probability(rows), probability, rtol=0, atol=1e-15)
    return read

"""The authors' margins."""

import numpy as np
import pandas as pd

from experiments.paper.margins import authors_margins
from ract.data.encoder import Encoder


def test_the_authors_margins():
    rng = np.random.default_rng(0)
    n = 50
    columns = {
        "real": rng.normal(size=n), "whole": rng.integers(0, 400, n), "flag": np.arange(n) % 2,
        "job": np.array(["u", "v"])[np.arange(n) % 2],
    }  # fmt: skip
    frame = pd.DataFrame(columns)
    encoder = Encoder(frame)
    matrix = encoder.matrix(frame)
    low, high = (np.quantile(matrix[:, :2], q, axis=0) for q in (0.01, 0.99))
    share = (high - low) / (n * (0.99 - 0.01))
    assert share[1] > 2  # so that the whole part counts
    expected = [share[0], int(share[1]) + 1, 0, 0, 0]
    np.testing.assert_allclose(authors_margins(matrix, encoder.axes), expected)

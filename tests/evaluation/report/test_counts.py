"""Counts of parts add up to those of the whole."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest

from ract import (
    OutcomeJudge,
)
from ract.evaluation.report.audit import audit_of
from ract.evaluation.report.counts import Counts


@pytest.mark.parametrize("cuts", [[1], [200, 201, 550]])
def test_parts_add_up_to_the_whole(found, forest, loans, cuts):
    """Counts of parts come to those of one part, and so does the page."""
    people, truth = loans.frame[1000:], np.asarray(loans.target[1000:])
    judge = OutcomeJudge(loans.actions, n_splits=2).fit(loans.frame[:1000], loans.target[:1000])
    accepted = found.certificate.share_accepted

    def counts(rows, **given):
        return Counts.of(
            forest, people[rows], truth[rows], 0.15, groups="Education", judge=judge,
            accepted=accepted, plausibility=False, **given,
        )  # fmt: skip

    parts = [slice(a, b) for a, b in pairwise([0, *cuts, len(people)])]
    how = {"time_limit": None, "max_nodes": 10_000}
    whole, summed = (
        audit_of(one, forest, found.certificate, 0.95, "Audit", judge, **how)
        for one in (counts(slice(None)), reduce(add, map(counts, parts)))
    )
    for name in ("metrics", "costs", "changes", "held", "without", "verdicts"):
        pd.testing.assert_frame_equal(getattr(whole, name), getattr(summed, name), rtol=1e-9)
    assert (whole.n_without, whole.n_supplied) == (summed.n_without, summed.n_supplied)
    assert whole.to_html() == summed.to_html()
    assert whole.held.equals(found.held)

"""Statuses as users see them."""

import numpy as np

from ract._utils.status import Status, status_words


def test_every_status_has_its_word():
    words = ["accepted", "optimal", "found", "none within budget", "none", "unknown", "invalid"]
    assert [status.word for status in Status] == words
    assert status_words(np.arange(len(Status))).tolist() == words

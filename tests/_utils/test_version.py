"""The one place that holds the version."""

import re

import ract
from ract._utils.version import __version__


def test_the_version_is_semantic_and_public():
    assert ract.__version__ == __version__ and re.fullmatch(r"\d+\.\d+\.\d+", __version__)

"""The parts of a model file, without the model."""

import numpy as np
import pytest

from ract._utils.errors import InvalidFile
from ract.io.contents import Contents, read_contents
from tests.io.files import LOANS, repacked, set_meta


def test_parts_are_those_of_the_model(good):
    contents = Contents.of_bytes(good)
    core = contents.core
    assert contents.kind == "forest" and contents.core is core
    assert core.classes.tolist() == ["approved", "refused"] and core.desired == "approved"
    assert core.encoder.feature_names == tuple(LOANS.frame.columns)
    assert core.ensemble.n_trees == 3 and core.cost.norm == "max"
    assert core.link is None and core.probability_ensemble is None
    assert set(contents.under("cost.")) == {"ends", "knots", "levels"}
    assert np.array_equal(contents.under("ensemble.")["root"], core.ensemble.root)


def test_errors_name_the_file(good, tmp_path):
    path = tmp_path / "model.ract"
    path.write_bytes(repacked(good, set_meta("model", "budget", -1)))
    with pytest.raises(InvalidFile, match="model.ract cannot be read as a model: its budget is -1"):
        read_contents(path, lambda data: Contents.of_bytes(data).core)

"""Arrays of plain numbers, and nothing else."""

import io
import json
import os

import numpy as np
import pytest

from ract._utils.errors import InvalidFile
from ract.io.archive import pack_members
from ract.io.arrays import from_npy, to_npy
from ract.io.load import from_bytes
from tests.io.files import members_of


def test_a_pickle_inside_is_not_run(good):
    class Evil:
        def __reduce__(self):
            return (os.abort, ())

    out = io.BytesIO()
    np.save(out, np.array([Evil()], dtype=object), allow_pickle=True)
    members = members_of(good)
    head = json.loads(members.pop("manifest.json"))
    members["ensemble.value.npy"] = out.getvalue()
    with pytest.raises(InvalidFile, match="not an array of plain numbers"):
        from_bytes(
            pack_members(members, {key: head[key] for key in ("ract", "kind", "fingerprint")})
        )


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float64, np.uint8])
@pytest.mark.parametrize("shape", [(0,), (5,), (2, 3)])
def test_arrays_come_back(kind, shape):
    array = np.arange(np.prod(shape)).reshape(shape).astype(kind)
    again = from_npy(to_npy(array), "x")
    assert again.dtype == array.dtype and np.array_equal(again, array) and again.flags.writeable


def test_other_arrays_are_refused():
    content = to_npy(np.arange(3.0))
    for wrong, message in (
        (content[:-1], "cut short or too long"),
        (content + b"0", "cut short or too long"),
        (to_npy(np.arange(3, dtype=np.int16)), "numbers of type '<i2'"),
        (to_npy(np.zeros((1, 1, 1))), "not an array of plain numbers"),
        (b"", "not an array of plain numbers"),
    ):
        with pytest.raises(InvalidFile, match=message):
            from_npy(wrong, "x")

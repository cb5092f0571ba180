"""Files that are damaged, foreign or larger than they claim."""

import io
import json
import os
import tracemalloc
import zipfile

import numpy as np
import pytest

from ract import (
    load_model,
)
from ract._utils.errors import InvalidFile
from ract.io.archive import from_npy, pack_members, to_npy
from ract.io.load import from_bytes
from tests.io.files import members_of


def test_files_that_are_none(tmp_path, good):
    for content, message in [
        (b"", "empty"),
        (b"Income,Age\n1,2\n", "not a model file"),
        (good[:-10], "not a model file, or it is damaged"),
        (good[: len(good) // 2], "damaged"),
    ]:
        path = tmp_path / "model.ract"
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=message) as caught:
            load_model(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.ract")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(InvalidFile, match="a zip file but not a model file"):
        load_model(tmp_path / "other.zip")


def test_a_newer_format_is_named(good):
    members = members_of(good)
    manifest = json.loads(members.pop("manifest.json")) | {"version": 3, "ract": "9.0"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {"manifest.json": json.dumps(manifest), **members}.items():
            archive.writestr(name, content)
    with pytest.raises(InvalidFile, match="written by ract 9.0.*upgrade"):
        from_bytes(out.getvalue())


def test_a_bomb_is_not_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * 200_000_000)
    with pytest.raises(InvalidFile, match="claims to unpack"):
        from_bytes(out.getvalue())


def test_a_member_is_not_unpacked_beyond_the_length_that_it_claims(good):
    """Lengths in a zip file are claims: 60 MB behind a claim of 300 bytes were unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * 60_000_000)
        archive.infolist()[0].file_size = 300
    data = out.getvalue()
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match="damaged"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


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

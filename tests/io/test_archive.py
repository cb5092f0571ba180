"""Files that are damaged, foreign or larger than they claim."""

import io
import json
import tracemalloc
import zipfile

import pytest

from ract import (
    load_model,
)
from ract._utils.errors import InvalidFile
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

"""JSON is measured before it is parsed."""

import json
import tracemalloc

import pytest

from ract import (
    RecourseTreeClassifier,
    save_model,
)
from ract._utils.errors import InvalidFile, InvalidSpec
from ract.io.archive import pack_members
from ract.io.load import from_bytes
from ract.io.strict_json import parse_json
from tests.io.files import LOANS, members_of


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 3_000_000 + b"1]",
        b'{"a":[' + b"[[[[[[[[]]]]]]]]," * 400_000 + b"1]}",
        b'{"a":[' + b'{"":{"":{}}},' * 600_000 + b"1]}",
        b"[" * 8_000_000,
        b'{"a":' * 1_500_000,
        b'{"a":"' + b'\\"' * 4_000_000,
        b'"' * 8_000_000,
    ],
    ids=["long", "lists", "objects", "open", "open objects", "escapes", "quotes"],
)
def test_json_is_not_parsed_before_its_length_and_depth_are_known(good, text):
    """A file of 58 kB took 1.8 GB before it was refused."""
    members = members_of(good)
    head = json.loads(members.pop("manifest.json"))
    members["model.json"] = text
    data = pack_members(members, {key: head[key] for key in ("ract", "kind", "fingerprint")})
    del text, members
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=r"larger than in any|allowed|is not JSON"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()


def test_brackets_inside_texts_are_no_nesting():
    deep = {"a\\": "[" * 100, 'b"\\"': ["{" * 100, '\\"[['] * 20, "c": "\\"}
    assert parse_json(json.dumps(deep).encode()) == deep
    for n, fits in ((32, True), (33, False)):
        text = b"[" * n + b"]" * n
        if fits:
            parse_json(text)
            continue
        with pytest.raises(ValueError, match="is nested too deep; 32 levels are allowed"):
            parse_json(text)
    for text in (b"", b"{", b"NaN", b"[1e5, -Infinity]", b"9" * 5000, b"\xff", b'"\\'):
        with pytest.raises(ValueError, match="is not JSON"):
            parse_json(text)


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target)
    deep = 1
    for _ in range(40):
        deep = [deep]
    for summary in ({"a": deep}, {"a": "x" * 9_000_000}, {"a": [[]] * 300_000}):
        with pytest.raises(InvalidSpec, match="cannot be stored: its JSON"):
            save_model(model, tmp_path / "model.ract", summary=summary)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", [b'{"a": 1, "a": 1}', b'{"a": [{"b": 1, "c": 2, "b": 3}]}'])
def test_an_object_with_two_entries_of_one_name_is_refused(text):
    """A person reads the first of them and a program the last."""
    with pytest.raises(ValueError, match="is not JSON"):
        parse_json(text)

"""Packs: a file that lacks what a body of rules needs is refused by the name of the field."""

import datetime
from dataclasses import fields, replace

import pytest
from typer.testing import CliRunner

from ract._utils.errors import InvalidSpec
from ract.apps.cli import app
from ract.notices import Details, NoticeSettings, pack, packs

FULL = Details(
    "Alpha Bank", "1 Main Street", contact="555 0100", agency="CFPB, Washington",
    debt_advice="Citizens Advice, 555 0101", data_request="privacy@example.org",
)  # fmt: skip
CASES = [(name, field) for name, one in packs().items() for field in one.needs]


def test_every_pack_asks_for_fields_that_there_are():
    known = {field.name for field in fields(Details)}
    for one in packs().values():
        assert one.needs and set(one.needs) <= known
        assert one.title and isinstance(one.applies, datetime.date)
        one.check(NoticeSettings(details=FULL))


@pytest.mark.parametrize(("name", "field"), CASES)
def test_a_missing_field_is_named(name, field):
    settings = NoticeSettings(details=replace(FULL, **{field: "  "}))
    assert list(pack(name).missing(settings)) == [field]
    with pytest.raises(InvalidSpec, match=rf"lacks what {name} needs: {field} \("):
        pack(name).check(settings)


def test_an_unknown_pack_is_refused():
    with pytest.raises(InvalidSpec, match="There is no pack 'mars'; there are 'eu-ccd2'"):
        pack("mars")


def test_the_command_fails_with_the_name_of_the_field(tmp_path):
    path = tmp_path / "notice.toml"
    run = CliRunner().invoke
    path.write_text(NoticeSettings(details=replace(FULL, debt_advice="")).to_toml_text(), "utf-8")
    wrong = run(app, ["notice", "check", str(path), "--pack", "eu-gdpr", "--pack", "eu-ccd2"])
    assert wrong.exit_code == 2 and "lacks what eu-ccd2 needs: debt_advice" in wrong.output
    path.write_text(NoticeSettings(details=FULL).to_toml_text(), encoding="utf-8")
    fine = run(app, ["notice", "check", str(path), "--pack", "eu-gdpr", "--pack", "eu-ccd2"])
    assert fine.exit_code == 0 and "from 2026-11-20" in fine.output

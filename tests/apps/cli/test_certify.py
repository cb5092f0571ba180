"""``ract certify``: certificates are made, kept in the model and checked."""

import json

from ract.evaluation.certificates import Certificate
from ract.io import read_model_file
from tests.apps.cli.builders import run


def test_a_certificate_is_made_kept_and_checked(plain, tmp_path):
    model, record = tmp_path / "model.ract", tmp_path / "recourse.json"
    model.write_bytes((plain / "model.ract").read_bytes())
    asked = ("certify", model, plain / "new.csv", "--groups", "Town", "--confidence", 0.9)
    training = ("--training", plain / "data.csv")
    result = run(*asked, *training, "-o", record, "--keep")
    assert "With 90% confidence at most" in result.stderr
    held = read_model_file(model)
    assert held.certificates == (json.loads(record.read_text()),)
    assert Certificate.load(record).model == held.fingerprint
    checked = json.loads(run(*asked, *training, "--check", record, "--json").stdout)
    assert checked["agrees"] and checked["complete"]
    assert checked["unchecked"].keys() == {"date", "version", "witnesses"}
    partly = json.loads(run(*asked, "--check", record, "--json", code=4).stdout)
    assert partly["agrees"] and "overlap" in partly["unchecked"]
    without_groups = (*asked[:3], *asked[5:], *training, "--check", record)
    said = run(*without_groups, code=4).stderr
    assert "not verified" in said and "groups (the groups were not given)" in said
    said = run(*asked[:-2], *training, "--check", record, code=2).stderr
    assert "its confidence is 0.9, and 0.95 was asked for" in said
    changed = json.loads(record.read_text())
    changed["everyone"]["risk_bound"] = 0.0001
    record.write_text(json.dumps(changed), encoding="utf-8")
    result = run(*asked, "--check", record, code=2)
    assert "The record is not as it was written" in result.stderr


def test_actions_are_kept_beside_a_certificate_and_checked(plain, tmp_path):
    record, witnesses = tmp_path / "recourse.json", tmp_path / "witnesses.npy"
    given = ("certify", plain / "model.ract", plain / "new.csv", "--witnesses", witnesses)
    run(*given, "-o", record)
    checked = json.loads(run(*given, "--check", record, "--json").stdout)
    assert checked["agrees"] and "witnesses" in checked["checked"]
    assert "was checked without a search" in checked["notes"][0]
    witnesses.write_bytes(witnesses.read_bytes() + b" ")
    assert "its hash is not" in run(*given, "--check", record, code=2).stderr

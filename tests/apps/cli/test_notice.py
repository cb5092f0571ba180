"""Notices and letters: what they say holds, they reach the right person, no text is obeyed."""

import json
import re
import shutil
from html import unescape

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ract import (
    ActionSpace,
    find_reasons,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidSpec
from ract.notices import Notices
from ract.notices.standard import spoken
from ract.recourse.few_changes import few_changes
from tests.apps.cli.builders import LOANS, NEW, run

CONTACT = ("--creditor", "Alpha Bank", "--address", "1 Main Street", "--contact", "555 0100")


@pytest.fixture(scope="module")
def folder(folder, tmp_path_factory):
    """The model and its table, people with awkward names, and the codes of reasons."""
    model, folder = folder / "model.ract", tmp_path_factory.mktemp("letters")
    shutil.copy(model, folder)
    named = NEW.assign(Name=[f"<b>{k}</b>/../\x1b[31mx" for k in range(len(NEW))])
    named.to_csv(folder / "people.csv", index=False)
    LOANS.frame.to_csv(folder / "data.csv", index=False)
    run("notice", "init", folder / "model.ract", "-o", folder / "codes.toml", *CONTACT)
    text = (folder / "codes.toml").read_text(encoding="utf-8")
    allowed = text.replace("promise_days", 'protected_reasons = ["Age"]\npromise_days')
    (folder / "codes.toml").write_text(allowed, encoding="utf-8")
    return folder


def asked(folder, letters, *more):
    return [
        "notice", folder / "model.ract", folder / "people.csv", "-o", letters, "--reasons",
        folder / "codes.toml", "--without-reasons", "--id", "Name", *more,
    ]  # fmt: skip


def names_of(text):
    return int(re.search(r"Reference: <b>(\d+)</b>", unescape(text))[1])


def test_one_letter_for_each_refused_person(folder, tmp_path):
    letters = tmp_path / "letters"
    result = run(*asked(folder, letters, "--n-alternatives", 1, "--budget", 0.15))
    assert result.stdout == ""
    recourse = few_changes(
        load_model(folder / "model.ract").recourse, NEW, n_alternatives=1, budget=0.15,
        at_least=True, ranges=True,
    )  # fmt: skip
    refused = np.flatnonzero(recourse.status != "accepted")
    pages = {names_of(page.read_text(encoding="utf-8")): page for page in letters.iterdir()}
    assert sorted(pages) == refused.tolist() and len(refused) > 10
    for i, page in pages.items():
        text, plan = page.read_text(encoding="utf-8"), recourse[i]
        assert page.name.startswith(f"%3Cb%3E{i}%3C%2Fb%3E")
        assert f"&lt;b&gt;{i}&lt;/b&gt;" in text and "<b>" not in text and "\x1b" not in text
        assert "http" not in text and "src=" not in text
        for change in plan.changes:
            assert spoken(change.feature) in text
        assert ("What is needed" if plan.changes else "not a judgement of you") in text
    assert {bool(recourse[int(i)].changes) for i in refused} == {True, False}


WAY = re.compile(r"<table class=\"plan\">(.*?)</table>", re.DOTALL)
ROW = re.compile(r"<tr><td>([\w ]+)</td><td>.*?</td><td>(.*?)</td></tr>")
BETWEEN = r"between <strong>([-\d.,e]+)</strong> and <strong>([-\d.,e]+)</strong>"
BEYOND = r"<strong>([-\d.,e]+)</strong> or (more|less)"


FEATURES = {spoken(name): name for name in NEW.columns}


def number(text):
    return float(text.replace(",", ""))


def carried_out(person, steps, take):
    """Someone after the steps of a notice, at one of the values that each says will do."""
    for feature, goal in steps:
        word = re.search(r"<strong>(.*)</strong>", goal)[1]
        if (numbers := re.search(BETWEEN, goal)) is not None:
            ends = number(numbers[1]), number(numbers[2])
            value = ends[take] if take < 2 else sum(ends) / 2
        elif (numbers := re.search(BEYOND, goal)) is not None:
            value = number(numbers[1]) if take < 2 else 1e7 if numbers[2] == "more" else 0
        elif "exactly" in goal:
            value = number(word)
        else:
            value = {"yes": True, "no": False}.get(word, word)
        person = {**person, FEATURES[feature]: value}
    return person


def accepted(folder, people):
    people = pd.DataFrame(people).astype(NEW.dtypes.to_dict())
    return load_model(folder / "model.ract").predict(people) == "approved"


def test_every_number_in_a_letter_does_what_the_letter_says(folder, tmp_path):
    """Doing a little more than a single number asked for lost the decision for one in three."""
    letters = tmp_path / "letters"
    run(*asked(folder, letters, "--n-alternatives", 1))
    after, n_ranges, n_more = [], 0, 0
    for page in letters.iterdir():
        text = page.read_text(encoding="utf-8")
        person = NEW.iloc[names_of(text)].to_dict()
        for way in WAY.findall(text):
            steps = ROW.findall(way)
            assert steps
            for _, goal in steps:
                ranged = "between" in goal or " or more" in goal or " or less" in goal
                assert ranged or "exactly" in goal or goal.startswith("change it to")
                n_ranges += ranged
            n_more += "You may do more" in text
            after += [carried_out(person, steps, take) for take in (0, 1, 2)]
    assert n_ranges > 20 and n_more > 5
    assert accepted(folder, after).all()


def noticed(folder, out, *more):
    return [
        "notice", folder / "model.ract", folder / "people.csv", "-o", out, "--id", "Name",
        "--reasons", folder / "codes.toml", "--reference", folder / "data.csv", *more,
    ]  # fmt: skip


def test_a_notice_says_what_was_scored_and_what_would_have_changed_it(folder, tmp_path):
    out = tmp_path / "notices"
    forms = ("--form", "html", "--form", "json", "--form", "text", "--date", "2026-03-09")
    result = run(*noticed(folder, out, *forms))
    assert " notices are in " in result.stderr
    model = load_model(folder / "model.ract")
    refused = np.flatnonzero(model.predict(NEW) != "approved")
    pages = sorted(out.glob("*.html"))
    assert len(pages) == len(refused) == len(list(out.iterdir())) / 3
    after, mended, n_reasons, n_short, n_alone = [], [], 0, 0, 0
    for page in pages:
        text, data = page.read_text(encoding="utf-8"), json.loads(
            page.with_suffix(".json").read_text(encoding="utf-8")
        )  # fmt: skip
        plain = page.with_suffix(".txt").read_text(encoding="utf-8")
        i = names_of(text)
        person = NEW.iloc[i].to_dict()
        assert "March 9, 2026" in text and "March 9, 2026" in plain
        assert f"<b>{i}</b>" in plain and "\x1b" not in plain + text and "<b>" not in text
        assert 1 <= len(data["reasons"]) <= 4 and data["model"].startswith("model-2-")
        n_reasons += len(data["reasons"])
        for reason in data["reasons"]:
            assert reason["value"] == person[reason["feature"]]
            assert reason["sentence"] in unescape(text)
            assert reason["sentence"] in " ".join(plain.split())
            if reason["mending"] == "alone":
                mended.append({**person, reason["feature"]: reason["from"]})
        for plan in data["plans"]:
            n_short += len(plan["changes"]) <= 3
            after.append({**person, **{c["feature"]: c["goal"] for c in plan["changes"]}})
        assert len(data["plans"]) <= 3
        n_alone += _check_agreement(data, " ".join(plain.split()))
    assert len(mended) > 3 and len(after) > 15 and n_short > len(after) / 2 and n_reasons > 40
    assert n_alone > 0.5 * len(mended)
    assert accepted(folder, after).all() and accepted(folder, mended).all()


def _check_agreement(data, text):
    """What is enough alone comes first; then few changes come before many."""
    alone = [reason["feature"] for reason in data["reasons"] if reason["mending"] == "alone"]
    asked = [[change["feature"] for change in plan["changes"]] for plan in data["plans"]]
    offered = [name for name in alone if [name] in asked]
    assert asked[: len(offered)] == [[name] for name in offered]
    rest = [len(names) for names in asked if not (len(names) == 1 and names[0] in alone)]
    assert rest == sorted(rest)
    assert text.count("alone is enough: see") == len(offered)
    return len(offered)


def test_a_protected_reason_stops_the_command(folder, tmp_path):
    text = (folder / "codes.toml").read_text(encoding="utf-8")
    strict = tmp_path / "strict.toml"
    strict.write_text(text.replace('protected_reasons = ["Age"]\n', ""), encoding="utf-8")
    out = tmp_path / "notices"
    said = run(*noticed(folder, out, "--reasons", strict), code=2).stderr
    assert "'Age' is a principal reason of" in said and "protected_reasons = ['Age']" in said
    assert not out.exists()
    without = text.replace('"Alpha Bank"', '""')
    strict.write_text(without, encoding="utf-8")
    said = run(*noticed(folder, out, "--reasons", strict), code=2).stderr
    assert "strict.toml: [notice] leaves 'creditor' empty" in said


def test_bad_notices_are_one_sentence(folder, tmp_path):
    out, codes = tmp_path / "notices", folder / "codes.toml"
    text = codes.read_text(encoding="utf-8")

    def failing(*more, given=None):
        (tmp_path / "c.toml").write_text(text if given is None else given, encoding="utf-8")
        return run(*noticed(folder, out, "--reasons", tmp_path / "c.toml", *more), code=2).stderr

    lines = text.splitlines(keepends=True)
    less = "".join(line for line in lines if "Income insufficient" not in line)
    assert "There is no code for 'Income' (too low)" in failing(given=less)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notice.html").write_text("<p>\n{{ persn }}")
    said = failing("--template", tmp_path / "mine")
    assert "notice.html, line 2: 'persn' is undefined." in said
    (tmp_path / "mine" / "notice.html").write_text("{% if %}")
    assert "notice.html, line 1: " in failing("--template", tmp_path / "mine")
    assert "There are no sentences for the language 'it'" in failing(
        "--language", "it", given=text.replace('language = "en"', 'language = "it"')
    )
    assert "are in 'en'" in failing("--language", "de")
    assert "--form must be one of" in failing("--form", "pdf")
    assert "--date must be a day" in failing("--date", "soon")
    assert "There is no file" in failing("--reasons", tmp_path / "no.toml")
    nobody = ["notice", folder / "model.ract", folder / "people.csv", "-o", out, "--reasons", codes]
    assert "needs --id" in run(*nobody, code=2).stderr
    assert "reference" in run(*nobody, "--id", "Name", code=2).stderr
    assert not out.exists()


def test_who_is_accepted_gets_no_notice(folder, tmp_path):
    model, people = load_model(folder / "model.ract"), tmp_path / "people.csv"
    fine = NEW[model.predict(NEW) == "approved"]
    fine.assign(Name=[f"N{k}" for k in range(len(fine))]).to_csv(people, index=False)
    given = noticed(folder, tmp_path / "out")
    given[2] = people
    result = run(*given)
    assert "Nobody is refused, so there is no notice." in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_imported_model_gives_reasons_once_it_has_people_to_compare_with(tmp_path):
    numbers = LOANS.frame.select_dtypes("number")
    theirs = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(numbers, LOANS.target)
    space = ActionSpace.infer(numbers, fixed=["Age"], limits=None)
    model = import_model(theirs, numbers, space, desired="approved", budget=0.5)
    save_model(model, tmp_path / "theirs.ract")
    numbers.assign(Name=range(len(numbers))).to_csv(tmp_path / "data.csv", index=False)
    numbers.head(60).assign(Name=range(60)).to_csv(tmp_path / "people.csv", index=False)
    codes = tmp_path / "codes.toml"
    run("notice", "init", tmp_path / "theirs.ract", "-o", codes, "--language", "de", *CONTACT)
    text = codes.read_text(encoding="utf-8")
    codes.write_text(text.replace("promise_days", 'protected_reasons = ["Age"]\npromise_days'))
    given = ("notice", tmp_path / "theirs.ract", tmp_path / "people.csv", "--id", "Name",
             "--reasons", codes, "-o", tmp_path / "out")  # fmt: skip
    assert "give reference=" in run(*given, code=2).stderr
    run(*given, "--reference", tmp_path / "data.csv", "--n-alternatives", 0)
    page = next((tmp_path / "out").iterdir()).read_text(encoding="utf-8")
    assert 'lang="de"' in page and "Entscheidung" in page and ": zu " in page


def test_a_score_that_cannot_be_read_is_one_sentence(tmp_path):
    """What is no sum of trees is refused when it is imported, so that no notice speaks of it."""
    numbers = LOANS.frame.select_dtypes("number")
    line = make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, LOANS.target)
    joblib.dump(line, tmp_path / "line.joblib")
    numbers.to_csv(tmp_path / "data.csv", index=False)
    given = ("import", tmp_path / "line.joblib", tmp_path / "data.csv", "--trust", "--desired",
             "approved", "-o", tmp_path / "line.ract")  # fmt: skip
    said = run(*given, code=2).stderr
    assert "LogisticRegression" in said and len(said.strip().splitlines()) == 1
    with pytest.raises(InvalidSpec, match="LogisticRegression"):
        find_reasons(line, numbers, reference=numbers, desired="approved")
    with pytest.raises(InvalidSpec, match=r"ract\.import_model makes, got Pipeline\.$"):
        Notices(line)


def test_letters_of_another_run_are_never_left_among_new_ones(folder, tmp_path):
    letters = tmp_path / "letters"
    run(*asked(folder, letters, "--budget", 0.1))
    old = {page.name: page.read_text(encoding="utf-8") for page in letters.iterdir()}
    (letters / "stranger.html").write_text("of somebody else")
    assert "holds" in run(*asked(folder, letters), code=2).stderr
    assert len(list(letters.iterdir())) == len(old) + 1
    run(*asked(folder, letters, "--replace"))
    new = {page.name: page.read_text(encoding="utf-8") for page in letters.iterdir()}
    assert new.keys() == old.keys() and new != old
    (letters / "ledger.csv").write_text("a,b")
    assert "'ledger.csv'" in run(*asked(folder, letters, "--replace"), code=2).stderr
    assert (letters / "ledger.csv").exists() and len(list(letters.iterdir())) == len(new) + 1


def test_letters_need_names_that_are_there_and_differ(folder, tmp_path):
    letters = tmp_path / "letters"
    people, model = tmp_path / "people.csv", folder / "model.ract"
    ask = ["notice", model, people, "-o", letters, "--reasons", folder / "codes.toml",
           "--without-reasons"]  # fmt: skip
    NEW.assign(Name="same").to_csv(people, index=False)
    assert "needs --id" in run(*ask, code=2).stderr
    assert "more than one person 'same'" in run(*ask, "--id", "Name", code=2).stderr
    NEW.assign(Name=[None, *range(1, len(NEW))]).to_csv(people, index=False)
    assert "is empty for some" in run(*ask, "--id", "Name", code=2).stderr
    assert not letters.exists()
    NEW.assign(Name=["A/a" * 200 + str(k) for k in range(len(NEW))]).to_csv(people, index=False)
    run(*ask, "--id", "Name")
    assert all(len(page.name) < 255 for page in letters.iterdir())


def test_text_that_a_spreadsheet_would_run_is_quoted(folder, tmp_path):
    out, people = tmp_path / "plans.csv", tmp_path / "people.csv"
    names = ["=HYPERLINK(1)", "+1", "-2.5", "-x", "@SUM(A1)", " =1+1", "\t=1", "A\x1b[2J\x07B"]
    few = NEW.head(len(names)).assign(Name=names)
    few.to_csv(people, index=False)
    for command in ("recourse", "predict"):
        run(command, folder / "model.ract", people, "-o", out, "--id", "Name")
        table = pd.read_csv(out, dtype={"person": str})
        assert table["person"].unique().tolist() == [
            "'=HYPERLINK(1)", "+1", "-2.5", "'-x", "'@SUM(A1)", "' =1+1", "'\t=1", "A[2JB",
        ]  # fmt: skip
        assert "\x1b" not in out.read_text(encoding="utf-8")
    changes = pd.read_csv(out)
    assert changes["probability"].dtype == float
    run("predict", folder / "model.ract", people, "-o", tmp_path / "o.jsonl", "--id", "Name")
    exact = pd.read_json(tmp_path / "o.jsonl", lines=True, dtype={"person": str})
    assert exact["person"].tolist()[:2] == names[:2]  # programs get the names as they are

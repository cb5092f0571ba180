"""The lender's file: every reason has a code of its own, and mistakes are one sentence."""

from dataclasses import replace
from functools import cache

import pytest

from ract import RecourseTreeClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.notices import Code, Details, FeatureText, NoticeSettings
from ract.notices.settings import directions_of
from ract.notices.standard import LISTS
from ract.trees.readers.model import used_features

LOANS = load_loans(800)


@cache
def fitted():
    return RecourseTreeClassifier(LOANS.actions, max_depth=5).fit(LOANS.frame, LOANS.target)


@pytest.mark.parametrize("codes", ["regulation-b", "hmda", "none"])
@pytest.mark.parametrize("language", ["en", "de", "fr", "it"])
def test_what_is_suggested_is_complete_and_survives_its_file(codes, language, tmp_path):
    settings = NoticeSettings.suggest(fitted(), language=language, codes=codes)
    settings.check(fitted())
    (tmp_path / "codes.toml").write_text(settings.to_toml_text(), encoding="utf-8")
    assert NoticeSettings.from_toml(tmp_path / "codes.toml") == settings
    pairs = {(f.name, way) for f in used_features(fitted()) for way in directions_of(f)}
    assert pairs == {(name, way) for name, text in settings.features.items() for way in text.codes}
    known = LISTS
    for text in settings.features.values():
        for code in text.codes.values():
            assert 1 <= code.hmda <= 9
            if codes in known:
                assert 1 <= int(code.code) <= len(known[codes])


def test_only_what_the_trees_ask_about_can_be_a_reason():
    stump = RecourseTreeClassifier(LOANS.actions, max_depth=1).fit(LOANS.frame, LOANS.target)
    assert len(used_features(stump)) == 1
    assert set(NoticeSettings.suggest(stump).features) == {used_features(stump)[0].name}


def changed(name, **codes):
    settings = NoticeSettings.suggest(fitted())
    text = settings.features[name]
    text = replace(text, codes={way: c for way, c in (text.codes | codes).items() if c is not None})
    return replace(settings, features={**settings.features, name: text})


def test_settings_that_do_not_fit_the_model_are_refused():
    settings = NoticeSettings.suggest(fitted())
    with pytest.raises(InvalidSpec, match=r"^There is no code for 'Income' \(too low\), which"):
        changed("Income", too_low=None).check(fitted())
    same = settings.features["Debt"].codes["too_high"].sentence.upper()
    with pytest.raises(InvalidSpec, match=r"'Income' .* and 'Debt' .* have the same sentence"):
        changed("Income", too_low=Code("8", same)).check(fitted())
    unknown = replace(settings, features={**settings.features, "Moon": FeatureText("Moon")})
    with pytest.raises(InvalidSpec, match=r"^'Moon' has a code but is no feature of the model"):
        unknown.check(fitted())
    said = replace(settings, details=Details(not_considered=("religion", "income")))
    with pytest.raises(InvalidSpec, match=r"^not_considered names 'income', but the model"):
        said.check(fitted())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = [", "Malformed TOML"),
        ("moon = 1", "The file has unknown entry 'moon'"),
        ("language = 3", "language must be text, got 3"),
        ("language = 'xx-klingon'", "language must be a code such as"),
        ("[notice]\ncreditor = 3", r"\[notice\] creditor must be text, got 3"),
        ("[notice]\ncontest_days = true", r"contest_days must be a whole number, got True"),
        ("[notice]\npromise_days = -1", "promise_days must be 0 or more, got -1"),
        ("[notice]\nnot_considered = 'sex'", "not_considered must be a list, got 'sex'"),
        ("[notice]\nbank = 'B'", r"\[notice\] has unknown entry 'bank'"),
        ("[words]\ncar = 1", r"\[words\] car must be text, got 1"),
        ("[features]\nA = 1", "Feature 'A' must be a table, got 1"),
        ("[features.A]\nlow = {}", "Feature 'A' has unknown entry 'low'"),
        ("[features.A]\ntoo_low = {code = '1'}", "Feature 'A', too_low needs a code and a sent"),
        (
            "[features.A]\ntoo_low = {code = '1', sentence = 's', hmda = 10}",
            "hmda must be from 1 to 9, or 0 for none, got 10",
        ),
    ],
)
def test_a_mistake_in_the_file_is_one_sentence(text, message, tmp_path):
    (tmp_path / "codes.toml").write_text(text)
    with pytest.raises(InvalidSpec, match=rf"codes\.toml: .*{message}[^\n]*\.$"):
        NoticeSettings.from_toml(tmp_path / "codes.toml")


def test_unknown_lists_and_bytes_are_refused(tmp_path):
    with pytest.raises(InvalidSpec, match="codes must be one of 'regulation-b', 'hmda', 'none'"):
        NoticeSettings.suggest(fitted(), codes="fed")
    (tmp_path / "codes.toml").write_bytes(b"\xff")
    with pytest.raises(InvalidSpec, match=r"is not UTF-8 text: "):
        NoticeSettings.from_toml(tmp_path / "codes.toml")


def test_categories_are_listed_to_be_put_into_words():
    """Letters said "priv": nobody knew which words to write."""
    frame = LOANS.frame[["Purpose"]].assign(Records=["yes", "no"] * 400)
    model = RecourseTreeClassifier(desired="approved", max_depth=4).fit(frame, LOANS.target)
    assert {feature.name for feature in used_features(model)} >= {"Purpose"}
    words = NoticeSettings.suggest(model, language="de").words
    purposes = ("NewCar", "UsedCar", "Renovation", "Business")
    assert words == {purpose: purpose for purpose in purposes}  # German has its own yes and no

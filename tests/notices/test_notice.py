"""Notices: sentences that are true and easy to read, and text that stays text."""

import base64
import copy
import datetime
import html.parser
import itertools
import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from ract import ActionSpace, RecourseForestClassifier
from ract._utils.errors import InvalidSpec
from ract.data.datasets import load_loans
from ract.notices import (
    Code,
    Details,
    FeatureText,
    Notices,
    NoticeSettings,
    with_sufficient,
)
from ract.notices.ways import is_safe, sufficient, ways_of
from ract.recourse import LastingCurve
from ract.recourse.calibration import Point
from ract.recourse.few_changes import against, along_reasons, few_changes
from ract.recourse.plan import Change, Obstacle, Plan
from ract.recourse.reasons import PersonReasons, Reason
from tests.builders import SUPPLYING, credit_with_holes, keeping_reference

LOANS = load_loans(800)
DAY = datetime.date(2026, 3, 9)
DETAILS = Details(
    creditor="Sample Bank", address="1 Main Street", decided_by="Credit Office",
    contact="Jane Roe, 555-0100, review@example.org", contest_days=60,
    not_considered=("religion", "sex"), source="Example Bureau, P.O. Box 1",
    agency="CFPB, 1700 G Street NW, Washington, DC 20552", promise_days=180,
    protected_reasons=("Age",),
)  # fmt: skip
LANGUAGES = ("en", "de", "fr")

INCOME = Change("Income", 41000, 46512.75, 0.2, 46512.75, 52000.5)
DEBT = Change("Debt", 900.0, 512.3, 0.1, None, 512.3)
PURPOSE = Change("Purpose", "car", "home", 0.1, switch=True)
PLAN = Plan("A", "approved", "optimal", 0.2, 0.2, 0.3, (INCOME,))
REASONS = PersonReasons("A", "approved", "refused", 0.3, 0.5, 0.6, "margin", (
    Reason("Income", 31000, 45000, -0.2, 0.5, "too low", ("Debt",), alone=True, with_others=True,
           from_value=43500.0, asked=True),
    Reason("Debt", 900.0, 700.0, -0.19, 0.3, "too high", ("Income",), alone=False,
           with_others=True, asked=True),
    Reason("Age", 22, 40, -0.1, 0.1, "too low", changeable=False, alone=False, with_others=False,
           asked=True),
    Reason("Purpose", "car", "home", -0.1, 0.1, "category", alone=False, with_others=None,
           asked=True),
))  # fmt: skip


@cache
def fitted():
    forest = RecourseForestClassifier(LOANS.actions, n_estimators=10, random_state=0)
    return forest.fit(LOANS.frame, LOANS.target)


def notices(language="en", details=DETAILS, **more):
    settings = NoticeSettings.suggest(fitted(), language=language)
    return Notices(fitted(), replace(settings, details=details), date=DAY, **more)


def prose(text):
    """A text on one line."""
    return " ".join(text.split())


def test_numbers_and_dates_are_those_of_the_language():
    texts = {
        name: prose(notices(name).render(PLAN, REASONS, "text")) for name in (*LANGUAGES, "de-CH")
    }
    assert "raise it to between 46,513 and 52,000" in texts["en"]
    assert "erhöhen auf einen Wert von 46.513 bis 52.000" in texts["de"]
    assert "46\u2019513" in texts["de-CH"] and "9. März 2026" in texts["de-CH"]
    assert "monter à une valeur de 46 513 à 52 000" in prose(texts["fr"])
    for name, decided, until in (
        ("en", "March 9, 2026", "September 5, 2026"),
        ("de", "9. März 2026", "5. September 2026"),
        ("fr", "9 mars 2026", "5 septembre 2026"),
    ):
        assert decided in texts[name] and until in texts[name]


def test_every_kind_of_change_is_said_with_what_will_do():
    found = notices().render(replace(PLAN, changes=(DEBT, PURPOSE)))
    assert "lower it to <strong>500</strong> or less" in found
    assert "change it to <strong>home</strong>" in found
    exact = replace(INCOME, before=4.1, after=4.65, low=None, high=None)
    assert "raise it to exactly" not in found
    low = replace(exact, low=4.65, high=4.65)
    assert "raise it to exactly <strong>4.65</strong>" in notices().render(
        replace(PLAN, changes=(low,))
    )
    narrow = replace(exact, after=4.65000001, low=4.65000001, high=4.65000002)
    assert (
        "between <strong>4.65000001</strong> and <strong>4.65000002</strong>"
        in notices().render(replace(PLAN, changes=(narrow,)))
    )
    follows = replace(INCOME, by_itself=True)
    assert "follows from the rest: about 46,513" in notices().render(
        replace(PLAN, changes=(DEBT, follows))
    )


def test_reasons_say_what_was_used_and_what_a_change_does():
    text = notices().render(PLAN, REASONS)
    assert "We used: 31,000. Changing this alone is enough: see below." in text
    assert "We used 900 for Debt. You need not change this: what we name below is enough" in text
    assert text.count("</strong> *<div") == 2
    assert notices().render(PLAN, REASONS, "text").count("] *\n") == 2
    assert "We used: 22. We cannot ask you to change this." in text
    assert "Reasons marked * counted about the same" in text
    assert text.index("Income insufficient") < text.index("Excessive obligations")
    alone = replace(REASONS, reasons=REASONS.reasons[:1])
    text = notices().render(PLAN, alone)
    assert "This was the main reason." in text and " *" not in text  # tied with none that is named


@pytest.mark.parametrize(
    ("language", "note"),
    [
        ("en", "We used 900 for Debt."),
        ("de", "Bei Debt gingen wir aus von: 900."),
        ("fr", "Donnée utilisée pour Debt : 900."),
    ],
)
def test_a_note_names_the_feature_if_the_sentence_does_not(language, note):
    named = notices(language)
    settings = copy.deepcopy(named.settings)
    settings.features["Debt"].codes["too_high"] = Code("9", "Zu viel / trop / too much")
    values = Notices(fitted(), settings, date=DAY).render(PLAN, REASONS, "text")
    assert note in prose(values)
    if language != "en":  # the English sentence is that of the regulation, which has no name
        assert note not in prose(named.render(PLAN, REASONS, "text"))


def test_a_reason_says_in_which_way_it_is():
    two = replace(PLAN, changes=(DEBT, PURPOSE), at_least=True)
    plan = replace(two, alternatives=(replace(PLAN, at_least=True),))
    text = prose(notices().render(plan, REASONS, "text"))
    assert text.index("Way 1 Income") < text.index("Way 2 Debt")  # which is enough alone
    assert "We used: 31,000. Changing this alone is enough: see way 1." in text
    assert "We used 900 for Debt. A change of this is part of way 2." in text
    assert "We used: car. A change of this is part of way 2." in text
    german = prose(notices("de").render(plan, REASONS, "text"))
    assert "Das allein zu ändern, reicht: siehe Weg 1." in german
    assert "Das zu ändern, gehört zu Weg 2." in german
    french = prose(notices("fr").render(plan, REASONS, "text"))
    assert "Changer cela seul suffit : voir voie 1." in french
    helpless = replace(REASONS.reasons[1], with_others=False)
    without = replace(REASONS, reasons=(helpless, REASONS.reasons[2]))
    nothing = replace(PLAN, changes=(), status="none", obstacle=Obstacle((), True, np.inf))
    text = prose(notices().render(nothing, without, "text"))
    assert "We used 900 for Debt. What we could ask of you here would not be enough." in text
    late = replace(REASONS.reasons[2], feature="LatePayments", value=2)
    text = prose(notices().render(PLAN, replace(REASONS, reasons=(late,)), "text"))
    assert "This depends on the past, which we cannot ask you to change." in text


def test_no_way_that_is_not_safe_stands_beside_one_that_is():
    safe = replace(PLAN, changes=(DEBT, PURPOSE), cost=0.25, at_least=True)
    text = prose(notices().render(replace(PLAN, alternatives=(safe,)), form="text"))
    assert "Income" not in text.split("WHAT WE LOOKED AT")[0]
    assert "You may do more than this: we have checked that it does no harm." in text
    alone = prose(notices().render(PLAN, form="text"))
    assert "and not what lies beyond them. Please ask us before you do more." in alone
    category = replace(PLAN, changes=(PURPOSE,))
    assert "lies beyond" not in prose(notices().render(category, form="text"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_texts_promise_nothing_that_is_not_true(language):
    none = replace(PLAN, changes=(), status="none", obstacle=Obstacle(("Age",), True, 0.5))
    asked = replace(PLAN, changes=(SUPPLIED, DEBT), at_least=True)
    for plan in (PLAN, asked, none, replace(PLAN, lasting=0.9)):
        for days in (0, 30):
            one = notices(language, replace(DETAILS, promise_days=days))
            text = prose(one.render(plan, REASONS, "text"))
            wrong = (
                r"say yes|to a yes|sagen wir|ein(em)? Ja|dirons oui|un oui|promise|verspr|promet"
            )
            assert not re.search(wrong, text)


def test_who_decided_and_how_to_reach_them_is_required():
    for name in ("creditor", "address", "contact"):
        with pytest.raises(InvalidSpec, match=f"leaves '{name}' empty"):
            notices(details=replace(DETAILS, **{name: " "})).render(PLAN)


def test_a_protected_attribute_is_named_only_if_that_was_decided():
    strict = notices(details=replace(DETAILS, protected_reasons=()))
    with pytest.raises(InvalidSpec, match=r"'Age' is a principal reason of 'A'.*\(age\); keep it"):
        strict.render(PLAN, REASONS)
    assert strict.render(PLAN, replace(REASONS, reasons=REASONS.reasons[:2]))
    assert "Age" in notices().render(PLAN, REASONS)


def test_numbers_have_their_units():
    one = notices()
    one._units = {"Income": "USD", "Debt": "%"}
    text = one.render(replace(PLAN, changes=(INCOME, DEBT), at_least=True), REASONS)
    assert "We used: $31,000." in text and "<strong>500%</strong> or less" in text


def test_a_way_that_goes_against_a_reason_is_left_out_if_there_is_another():
    lower = replace(PLAN, changes=(replace(INCOME, after=30000.0, low=20000.0, high=30000.0),))
    both = replace(lower, alternatives=(replace(PLAN, changes=(DEBT, PURPOSE)),))
    text = notices().render(both, REASONS)
    assert "lower it to <strong>500</strong>" in text and "30,000</strong>" not in text
    assert "point in different ways" not in text
    only = notices().render(lower, REASONS)
    assert "<strong>30,000</strong>" in only
    assert "The reason and the way point in different directions here: Income." in prose(only)
    assert "<strong>30,000</strong>" in notices().render(both)
    assert "different directions" not in notices().render(both)
    for language, said in (("de", "in verschiedene Richtungen"), ("fr", "des sens différents")):
        assert said in prose(notices(language).render(lower, REASONS))


def test_a_way_that_asks_for_all_of_another_and_more_is_left_out():
    def shown(first, *others):
        first, *others = (replace(plan, at_least=True) for plan in (first, *others))
        text = notices().render(replace(first, alternatives=tuple(others)), form="text")
        return text.count("\nWay ") or 1

    further = replace(INCOME, after=47000.0, low=47000.0, high=50000.0)
    nearer = replace(INCOME, after=44000.0, low=44000.0, high=52000.5)
    assert shown(PLAN, replace(PLAN, changes=(INCOME, DEBT))) == 1
    assert shown(replace(PLAN, changes=(further, DEBT)), PLAN) == 1
    assert shown(PLAN, replace(PLAN, changes=(nearer, DEBT))) == 2  # less of one for the other
    assert shown(PLAN, replace(PLAN, changes=(DEBT, PURPOSE))) == 2
    assert shown(PLAN, PLAN) == 1
    other = replace(PURPOSE, after="boat")
    assert shown(
        replace(PLAN, changes=(PURPOSE,)), replace(PLAN, changes=(other, DEBT))
    ) == 2  # fmt: skip
    handed = replace(SUPPLIED, low=60000.0, high=70000.0)
    some = replace(PLAN, changes=(SUPPLIED,))
    assert shown(some, replace(PLAN, changes=(handed, DEBT))) == 1
    assert shown(replace(PLAN, changes=(handed,)), replace(PLAN, changes=(SUPPLIED, DEBT))) == 2
    lasting = replace(PLAN, changes=(INCOME, DEBT), strength=0.9, needed=0.8, lasting=0.9)
    assert shown(lasting, replace(PLAN, strength=0.7, needed=0.8)) == 2  # what lasts is worth more


SUPPLIED = Change("Income", None, 52000.0, 0.1, 44512.3, 90000.0, supplied=True)
NOT_GIVEN = Reason("Income", None, 45000, -0.2, 0.5, "missing", alone=True, with_others=True,
                   from_value=44600.0, until=90000.0, asked=True)  # fmt: skip


def test_a_missing_value_is_asked_for_in_its_own_words():
    plan = replace(PLAN, changes=(SUPPLIED, DEBT), at_least=True)
    said = {language: prose(notices(language).render(plan, form="text")) for language in LANGUAGES}
    for language, now, needed in (
        ("en", "(now not given)", "tell us; it must be from 44,513 to 90,000 "),
        ("de", "(jetzt nicht angegeben)", "bitte angeben; nötig ist: 44.513 bis 90.000 "),
        ("fr", "hui non indiqué)", "à nous indiquer ; il faut de 44 513 à 90 000 "),
    ):
        assert now in said[language] and needed in said[language]
    more = "You may change more than is needed: we have checked that this does no harm."
    assert f"We may ask you to show it. {more} What you tell us must" in said["en"]
    assert "zu belegen. Sie dürfen auch mehr ändern:" in said["de"]
    assert "de le prouver. Vous pouvez changer plus :" in said["fr"]
    only = prose(notices().render(replace(plan, changes=(SUPPLIED,)), form="text"))
    assert "tell us what is true" in only and "You may change more" not in only
    least = replace(SUPPLIED, high=None)
    text = prose(notices().render(replace(plan, changes=(least,)), form="text"))
    assert "tell us; it must be 44,600 or more" in text
    job = Change("Purpose", None, "home", 0.1, switch=True, supplied=True)
    assert "tell us; it must be home" in prose(
        notices().render(replace(plan, changes=(job,)), form="text")
    )


@pytest.mark.parametrize(
    ("more", "changes", "says"),
    [
        ({}, (SUPPLIED,), "Telling us this alone is enough: see below."),
        ({}, (SUPPLIED, DEBT), "Telling us this is part of what would be enough: see below."),
        ({"alone": False}, (DEBT,), "You need not hand this in: what we name below is enough"),
        ({"alone": False, "with_others": False}, (DEBT,), "If you send it to us, we decide again."),
        ({"alone": False, "changeable": False}, (DEBT,), "If you send it to us, we decide again."),
    ],
)  # fmt: skip
def test_a_missing_value_as_a_reason(more, changes, says):
    reason = replace(NOT_GIVEN, **more)
    settings = NoticeSettings.suggest(fitted())
    codes = settings.features["Income"].codes | {"missing": Code("1", "Income: not given")}
    features = settings.features | {"Income": FeatureText("Income", codes)}
    one = Notices(fitted(), replace(settings, features=features, details=DETAILS))
    plan = replace(PLAN, changes=changes)
    text = one.render(plan, replace(REASONS, reasons=(reason,)), "text")
    assert f"1. Income: not given [1] We did not have this. {says}" in prose(text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_people_without_values_get_notices_from_the_table_on(language):
    """Whatever is missing and whatever it is that mends it: numbers, categories."""
    frame, target = credit_with_holes(300, 0)
    model = keeping_reference(
        RecourseForestClassifier(SUPPLYING, n_estimators=10, random_state=0).fit(frame, target),
        frame,
    )
    settings = NoticeSettings.suggest(model, language=language)
    sentence = settings.features["income"].codes["missing"].sentence
    assert "Income" in sentence  # which of them is missing
    allowed = tuple(feature.name for feature in SUPPLYING)
    settings = replace(settings, details=replace(DETAILS, protected_reasons=allowed))
    one, people = Notices(model, settings), frame.head(150)
    plans = few_changes(model.recourse, people, n_alternatives=2, ranges=True, at_least=True)
    refused = np.flatnonzero(~plans.accepted)
    reasons = model.reasons(people.iloc[refused])
    alone = set()
    for i, why in zip(refused.tolist(), reasons, strict=True):
        text = one.render(plans[i], why, "text")
        assert not re.search(r"\bnan\b", text)
        alone |= {r.feature for r in why.reasons if r.direction == "missing" and r.alone}
    assert alone == {"income", "job"}


def test_reasons_that_blur_or_belong_to_others_are_refused():
    with pytest.raises(InvalidSpec, match="^The reasons are those of 'B', and the plan is that of"):
        notices().render(PLAN, replace(REASONS, person="B"))
    with pytest.raises(InvalidSpec, match=r"^Person 'A' has no principal reason"):
        notices().render(PLAN, replace(REASONS, reasons=()))
    with pytest.raises(InvalidSpec, match=r"^There is no code for 'Income' \(too low\)\.$"):
        Notices(fitted()).values(PLAN, REASONS)
    settings = NoticeSettings.suggest(fitted())
    for name in ("Purpose", "Education"):  # alike only once the value is in them
        text = FeatureText(name, {"category": Code("1", "It is {value}" + "." * (name > "F"))})
        settings = replace(settings, features={**settings.features, name: text})
    purpose, other = REASONS.reasons[3], replace(REASONS.reasons[3], feature="Education")
    both = (replace(purpose, value="a"), replace(other, value="a."))
    with pytest.raises(InvalidSpec, match=r"^Two reasons of 'A' have the same sentence, 'It"):
        Notices(fitted(), settings).values(PLAN, replace(REASONS, reasons=both))


@pytest.mark.parametrize("status", ["accepted", "invalid"])
def test_who_is_not_refused_gets_no_notice(status):
    with pytest.raises(InvalidSpec, match=r"^Person 'A' (is accepted|cannot be read)"):
        notices().render(replace(PLAN, status=status, changes=()))


def test_a_notice_says_how_long_its_ways_hold():
    quiet = replace(DETAILS, promise_days=0)

    def said(plan, details=quiet):
        return notices(details=details).render(plan)

    lasting = replace(PLAN, strength=0.9, needed=0.8, lasting=0.9)
    assert "in at least 90 of 100 cases, a way like yours met them after that too." in said(lasting)
    weaker = replace(PLAN, strength=0.7, needed=0.8)
    assert "We cannot say if this will be enough then." in said(weaker)
    assert "If our criteria change, this may change too." in said(PLAN)
    long = replace(lasting, changes=(INCOME, DEBT), alternatives=(weaker,))
    text = said(long)
    assert "a way like way 2 met them after that too. We cannot say that of the other one" in text
    assert text.index("Way 1") < text.index("Way 2") < text.index("Debt")
    other = replace(lasting, changes=(PURPOSE, replace(INCOME, feature="Savings")))
    assert "ways like these met them" in said(replace(long, alternatives=(other,)))
    assert "This is not yet an approval" in said(PLAN) and "we decide by" not in said(PLAN)
    promise = "Until <strong>September 5, 2026</strong> we decide by today"
    assert promise in said(PLAN, DETAILS) and "not yet an approval" not in said(PLAN, DETAILS)
    none = replace(PLAN, status="none", changes=())
    assert "we decide by" not in said(none, DETAILS)


@pytest.mark.parametrize(
    ("language", "said"),
    [
        (
            "en",
            "If these change before you are there, way 2 is more likely",
        ),
        (
            "de",
            "Weg 1 verlangt weniger und würde die heutigen Kriterien auch erfüllen. Falls sie "
            "sich ändern, bevor Sie so weit sind, reicht Weg 2 eher.",
        ),
        (
            "fr",
            "changent avant que vous y soyez, la voie 2 a plus",
        ),
    ],
)
def test_a_smaller_way_is_named_only_where_it_is_smaller(language, said):
    strong = replace(PLAN, changes=(DEBT,), cost=0.3, strength=0.8, alternatives=())
    less = replace(
        strong,
        changes=(replace(DEBT, after=800.0, high=800.0),),
        cost=0.1,
        strength=0.6,
        smaller=True,
    )

    def text(way, form="text"):
        plan = replace(strong, alternatives=(way,))
        return prose(notices(language).render(plan, form=form))

    assert said in text(less)
    assert "<details>" not in text(less, "html")  # the stronger one stands beside it
    assert said not in text(replace(less, cost=0.4))
    assert said not in text(replace(less, strength=0.9))
    assert said not in text(replace(less, smaller=False))


def test_several_changes_are_said_to_be_needed_together():
    both = replace(PLAN, changes=(DEBT, PURPOSE), alternatives=())
    assert "If all of this changes, and all else" in prose(notices().render(both))
    two = prose(notices().render(replace(both, alternatives=(replace(PLAN, changes=(INCOME,)),))))
    assert "A way of several lines needs all of them." in two
    one = replace(PLAN, changes=(DEBT,), alternatives=())
    assert "If this changes, and all else" in prose(notices().render(one))


def none(**obstacle):
    obstacle = Obstacle(**{"proved": True, "budget": np.inf, "features": ()} | obstacle)
    return notices().render(replace(PLAN, status="none", changes=(), obstacle=obstacle))


def test_what_the_operator_barred_is_not_called_a_fact_of_life():
    both = none(features=("LatePayments",), options=("Income", "Debt"))
    assert "The decision depends on: Late payments. We cannot ask you to change this." in both
    assert "We left these out of the search: Income, Debt." in both
    only = none(options=("Income",))
    assert "depends on" not in only and "limit of our criteria" not in only
    assert "limit of our criteria" in none(features=("Age",))
    dear = none(features=("Age",), budget=0.7)
    assert "With more effort there is a way." in dear and "depends on" not in dear
    unknown = notices().render(replace(PLAN, status="unknown", changes=()))
    assert "we have not shown that there is none" in unknown


def test_what_blocks_is_what_nobody_can_change_and_never_a_protected_attribute():
    assert "depends on" not in none(features=("Age",))
    said = prose(none(features=("Age", "Income", "LatePayments")))
    assert "depends on: Late payments. We cannot ask you to change this." in said


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_may_change_only_what_was_a_reason_blocks(language):
    one = notices(language)
    one.used = tuple(feature.fixed() for feature in one.used)
    blocked = Obstacle(("Purpose", "Debt"), True, np.inf)
    plan = replace(PLAN, status="none", changes=(), obstacle=blocked)
    texts = {}
    for feature, way in (("Debt", "too high"), ("Income", "too low")):
        given = replace(
            REASONS.reasons[0], feature=feature, direction=way, tied_with=(), changeable=False
        )
        text = prose(one.render(plan, replace(REASONS, reasons=(given,)), "text"))
        texts[feature, way] = text.partition({"en": "depends on: ", "de": "hängt hieran: ",
                                              "fr": "tient à ceci : "}[language])[2]  # fmt: skip
    assert texts["Debt", "too high"].startswith("Debt. ")
    assert texts["Income", "too low"] == ""
    assert "Purpose, Debt. " in prose(one.render(plan, form="text"))
    assert {"en": "Nothing that we look at", "de": "Nichts von dem, was wir ansehen",
            "fr": "Rien de ce que nous regardons"}[language] in text  # fmt: skip


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "would not be enough."), ("de", "würde nicht reichen."), ("fr", "ne suffirait pas.")],
)
def test_where_nothing_is_enough_no_reason_says_that_we_do_not_ask(language, said):
    reason = replace(REASONS.reasons[1], tied_with=(), with_others=False)
    assert reason.mending == "not at all"
    why = replace(REASONS, reasons=(reason,))
    plan = replace(PLAN, status="none", changes=(), obstacle=Obstacle((), True, np.inf))
    assert said in prose(notices(language).render(plan, why, "text"))


def test_who_decides_and_how_to_contest_it():
    text = notices().render(PLAN, form="text")
    assert "until May 8, 2026" in prose(text) and "Jane Roe, 555-0100" in prose(text)
    assert "Federal Equal Credit Opportunity Act" in text and "within 60 days" in prose(text)
    assert "We did not look at: religion, sex." in prose(text)
    assert "Credit Office, Sample Bank must answer for it." in prose(text)
    bare = notices(details=Details("", "B", "", False, "C")).values(PLAN)
    bare = notices().render_values(bare, "text")
    assert "We made this decision with the help" in prose(bare) and "Federal" not in bare


def syllables(word, language):
    """About how many syllables a word has: groups of vowels, and what each language leaves out."""
    word = word.lower()
    if language == "fr":
        word = re.sub(r"(?<=[^aeiouyéèêàâîïôûùëœ])(es?|ent)$", "", word) or word
    if language == "en":
        word = re.sub(r"(?<=[^aeiouyl])es?$|(?<=[^td])ed$", "", word) or word
    groups = {"de": r"ei|ie|au|eu|äu|[aeiouyäöü]", "en": r"[aeiouy]+"}
    return max(1, len(re.findall(groups.get(language, r"[aeiouyéèêàâîïôûùëœ]+"), word)))


def ease(text, language):
    """Flesch's reading ease, in the versions of Amstad (de) and of Kandel and Moles (fr)."""
    sentences = [s for s in re.split(r"[.!?:;]\s", text) if re.search(r"\w{2}", s)]
    words = re.findall(r"[^\W\d_]+", text)
    length = len(words) / len(sentences)
    spoken = sum(syllables(word, language) for word in words) / len(words)
    return {
        "en": 206.835 - 1.015 * length - 84.6 * spoken,
        "de": 180 - length - 58.5 * spoken,
        "fr": 207 - 1.015 * length - 73.6 * spoken,
    }[language]


def test_the_score_of_readability_tells_easy_from_hard():
    easy = "We looked at it. We can not say yes to you now. Please ask us why. "
    hard = "Notwithstanding considerations, interventional attributions necessitate. "
    assert ease(easy, "en") > 90 > 0 > ease(hard, "en")
    assert ease("Wir sagen heute Nein. Das tut uns leid. ", "de") > 75
    assert ease("Nous ne pouvons pas dire oui. Merci de nous le dire. ", "fr") > 75


@pytest.mark.parametrize(("language", "least"), [("en", 70), ("de", 60), ("fr", 70)])
def test_notices_are_easy_to_read(language, least):
    """70 is plain English, 60 is what German officials are asked for."""
    plain = Details(
        "A", "B", contact="C", contest_days=30, promise_days=30, source="A",
        protected_reasons=("Age",),
    )  # fmt: skip
    one = notices(language, plain)
    ways = replace(
        PLAN,
        strength=0.9,
        needed=0.8,
        lasting=0.9,
        alternatives=(replace(PLAN, changes=(DEBT, PURPOSE)),),
    )
    held = Obstacle(("Age",), True, 0.5, ("Income",))
    asked = replace(PLAN, changes=(SUPPLIED, DEBT), at_least=True)
    for plan in (ways, asked, replace(PLAN, changes=(), status="none", obstacle=held),
                 replace(PLAN, changes=(), status="unknown")):  # fmt: skip
        text = one.render(plan, REASONS, "text")
        body = " ".join(line for line in text.splitlines() if not line.isupper())
        body = re.sub(
            r"(We looked only at this|Wir haben nur das angesehen|que ceci)[^.]*\.", "", body
        )
        assert ease(prose(body), language) >= least, (language, ease(prose(body), language))
        jargon = r"feature|model\b|Modell|modèle|score|Shapley|threshold|budget|optimal|probab"
        assert not re.search(jargon, text)


class Tags(html.parser.HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, tuple(attrs)))

    def handle_data(self, data):
        self.text += data


EVIL = "<script>alert(1)</script>\"'&{{ 7*7 }}{% if %}\x1b[2J\u202e\nWHY: none"


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_that_anyone_typed_becomes_markup(language):
    def all_texts(evil):
        text = FeatureText(evil, {"category": Code(evil, evil + "{value}")})
        settings = NoticeSettings.suggest(fitted(), language=language)
        settings = replace(
            settings,
            features={**settings.features, "Purpose": text},
            words={"home": evil},
            details=Details(evil, evil, evil, True, evil, 0, (f"{evil}!",), evil, evil),
        )
        plan = replace(PLAN, person=evil, changes=(replace(PURPOSE, before=evil),))
        reasons = replace(REASONS, person=evil, reasons=(replace(REASONS.reasons[3], value=evil),))
        one = Notices(fitted(), settings, date=DAY)
        return [one.render(plan, reasons, form) for form in ("html", "text", "json")]

    tame, evil = all_texts("word"), all_texts(EVIL)
    assert Tags(tame[0]).tags == Tags(evil[0]).tags
    assert "49" not in Tags(evil[0]).text and "<script>alert(1)</script>" in Tags(evil[0]).text
    for text in evil[:2]:
        assert "\x1b" not in text and "\u202e" not in text
    assert "WHY: none" not in [line.strip() for line in evil[1].splitlines()]
    assert json.loads(evil[2])["details"]["creditor"] == EVIL


def test_a_folder_replaces_a_sentence_or_brings_a_language(tmp_path):
    own = '{% extends "ract/en.jinja" %}{% block title %}Your mortgage{% endblock %}'
    (tmp_path / "en.jinja").write_text(own)
    text = notices(templates=tmp_path).render(PLAN, REASONS)
    assert "<h1>Your mortgage</h1>" in text and "Why we cannot accept it" in text
    with pytest.raises(InvalidSpec, match=r"^There are no sentences for the language 'it': built"):
        notices("it", templates=tmp_path)
    (tmp_path / "it.jinja").write_text("{% extends layout %}{% block title %}Esito{% endblock %}")
    with pytest.raises(InvalidSpec, match=r"Required block 'reference' not found\.$"):
        notices("it", templates=tmp_path).render(PLAN)
    (tmp_path / "it.jinja").write_text(
        '{% extends "ract/fr.jinja" %}{% block title %}Esito{% endblock %}'
    )
    assert "<h1>Esito</h1>" in notices("it", templates=tmp_path).render(PLAN)


def test_a_mistake_in_a_template_is_one_sentence(tmp_path):
    path = tmp_path / "notice.txt"
    path.write_text("\n{{ persn }}")
    with pytest.raises(InvalidSpec, match=r"notice\.txt, line 2: 'persn' is undefined\.$"):
        notices(templates=tmp_path).render(PLAN, form="text")
    path.write_text("\n\n{% for %}")
    with pytest.raises(InvalidSpec, match=r"notice\.txt, line 3: Expected .*\.$"):
        notices(templates=tmp_path)
    with pytest.raises(InvalidSpec, match=r"^form must be one of 'html', 'text', 'json', got 'pdf"):
        notices().render(PLAN, form="pdf")
    with pytest.raises(InvalidSpec, match=r"^The sentences of the settings are in 'en', and noti"):
        Notices(fitted(), NoticeSettings.suggest(fitted()), language="fr")


def test_more_changes_only_where_few_would_not_do():
    people = load_loans(80, random_state=3).frame
    few = few_changes(fitted().recourse, people, max_changes=2, n_alternatives=1, budget=0.6)
    usual = fitted().recourse(people, budget=0.6)
    limited = fitted().recourse(people, budget=0.6, max_changes=2)
    assert (few.found == usual.found).all() and 0 < limited.found.sum() < usual.found.sum()
    assert (few.n_changes[limited.found] <= 2).all()
    more = few.found & ~limited.found
    np.testing.assert_allclose(few.cost[more], usual.cost[more])
    for i in np.flatnonzero(few.found):
        assert fitted().predict(few.counterfactuals.iloc[[i]])[0] == "approved"
        assert all(len(way.changes) <= 2 for way in few[i].alternatives)


def test_one_that_lasts_comes_with_one_of_few_changes():
    model = copy.copy(fitted())
    model.lasting_ = LastingCurve((Point(0.9, 500, 500, 500, 500, (1.0, 1.0)),), 0.9, 0.9)
    people = load_loans(60, random_state=4).frame
    people.loc[3, "Income"] = np.nan
    found = few_changes(model.recourse, people, max_changes=1, budget=0.6)
    assert found.status[3] == "invalid"
    both = [plan for plan in found if plan.alternatives and plan.lasting]
    assert both
    for plan in both:
        assert plan.lasting == 0.9 and len(plan.changes) > 1
        assert plan.alternatives[0].lasting is None and len(plan.alternatives[0].changes) == 1


PAPER = {"A4": (8.27, 11.69), "US letter": (8.5, 11.0)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("asked", [False, True])
def test_a_usual_notice_prints_on_one_page(browser, tmp_path, language, asked):
    """Three ways of three changes each, perhaps with a value that is to be supplied."""
    first = SUPPLIED if asked else INCOME
    ways = [
        replace(
            PLAN, changes=(first, *(replace(INCOME, feature=name) for name in others)),
            strength=0.9, needed=0.8, lasting=0.9, at_least=asked,
        )
        for others in itertools.combinations(("Savings", "YearsEmployed", "LoanAmount"), 2)
    ]  # fmt: skip
    plan = replace(ways[0], alternatives=tuple(ways[1:]))
    path = tmp_path / "notice.html"
    path.write_text(notices(language).render(plan, REASONS), encoding="utf-8")
    browser.set_window_size(900, 1300)
    browser.get(path.as_uri())
    assert len(browser.find_elements("css selector", "table.plan")) == 3
    assert len(browser.find_elements("css selector", "table.reasons tr")) == 4
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    for name, (wide, high) in PAPER.items():
        printed = browser.execute_cdp_cmd(
            "Page.printToPDF", {"paperWidth": wide, "paperHeight": high}
        )
        pdf = base64.b64decode(printed["data"])
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1, name


def test_a_notice_fits_a_phone(browser, tmp_path):
    path = tmp_path / "notice.html"
    three = replace(PLAN, person="x" * 300, changes=(DEBT, PURPOSE, INCOME), at_least=True)
    others = (replace(three, changes=(DEBT, PURPOSE)), replace(three, changes=(PURPOSE, INCOME)))
    plan, why = replace(three, alternatives=others), replace(REASONS, person="x" * 300)
    path.write_text(notices().render(plan, why), encoding="utf-8")
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(path.as_uri())
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert browser.execute_script("return document.documentElement.scrollHeight") <= 2500
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_plans_go_along_with_reasons_where_there_are_such_plans():
    free = [replace(feature, change="any") for feature in LOANS.actions]
    model = RecourseForestClassifier(
        ActionSpace(free, LOANS.actions.desired, limits=None), n_estimators=10, random_state=0,
        recourse_weight=0.0, min_samples_leaf=1,
    ).fit(LOANS.frame.head(300), LOANS.target[:300])  # fmt: skip
    people, options = load_loans(120, random_state=4).frame, {"max_changes": 2, "budget": 0.4}
    plans = few_changes(model.recourse, people, **options)
    refused = np.flatnonzero(~plans.accepted)
    reasons = model.reasons(people.iloc[refused], reference=LOANS.frame, budget=0.4)
    before = [plans[int(i)] for i in refused]
    found = along_reasons(model.recourse, people, plans, reasons, **options)
    n_other = n_same = 0
    right = {"too low": "increase", "too high": "decrease"}
    for i, plan, why in zip(refused.tolist(), before, reasons, strict=True):
        if not against(plan, why):
            assert found[i].changes == plan.changes
            continue
        rules = {r.feature: right[r.direction] for r in why.reasons if r.direction in right}
        there_is = model.recourse(
            people.iloc[[i]], budget=0.4, overrides={people.index[i]: rules}, explain=False
        ).found[0]
        if there_is:
            n_other += 1
            assert found[i].changes and not against(found[i], why)
            assert model.predict(found.counterfactuals.iloc[[i]])[0] == "approved"
        else:
            n_same += 1
            assert found[i].changes == plan.changes
    assert n_other and n_other + n_same < len(refused)


def test_rules_of_single_people_hold_where_few_changes_would_not_do():
    people = load_loans(80, random_state=3).frame
    rules = {person: {"Income": "fixed"} for person in people.index}
    few = few_changes(fitted().recourse, people, max_changes=1, overrides=rules)
    usual = fitted().recourse(people, overrides=rules)
    assert (few.found == usual.found).all() and few.found.any()
    assert not any(change.feature == "Income" for plan in few for change in plan.changes)


def test_what_is_enough_alone_is_searched_for_where_no_plan_has_it():
    people = load_loans(120, random_state=4).frame
    options = {"max_changes": 3, "ranges": True, "at_least": True, "budget": 0.4}
    plans = few_changes(fitted().recourse, people, **options)
    refused = np.flatnonzero(~plans.accepted)
    reasons = fitted().reasons(people.iloc[refused], reference=LOANS.frame, budget=0.4)
    before = [plans[int(i)] for i in refused]
    after = with_sufficient(fitted().recourse, people.iloc[refused], before, reasons, **options)
    n_added = n_first = 0
    for plan, offered, why in zip(before, after, reasons, strict=True):
        assert (offered.changes, offered.person) == (plan.changes or offered.changes, plan.person)
        added = offered.alternatives[len(plan.alternatives) :]
        n_added += len(added)
        for way in added:
            (change,) = way.changes
            assert change.feature in sufficient(why)
            person = people.loc[[plan.person]].assign(**{change.feature: change.after})
            assert fitted().predict(person)[0] == "approved"
        ways = ways_of(offered, why)
        if sufficient(why) and any(is_safe(way) for way in added):
            n_first += 1
            assert len(ways[0].changes) == 1
        assert len({is_safe(way) for way in ways}) <= 1
    assert n_added > 3 and n_first > 0


def test_time_is_said_with_its_day_in_every_language():
    takes = replace(PLAN, month=4.0, until=36.0)
    older = Change("Age", 31, 32, 0.0, by_itself=True)
    waits = replace(PLAN, changes=(older,), month=4.0, until=17.0)
    for language, pace, wait, then in (
        ("en", "At a usual pace this takes 4 months, until July 9, 2026.",
         "you would meet today\u2019s criteria in 4 months, on July 9, 2026, and until "
         "August 8, 2027.",
         "will then be about 32"),
        ("de", "Im üblichen Tempo dauert das 4 Monate, bis zum 9. Juli 2026.",
         "erfüllen Sie die Kriterien von heute in 4 Monaten, am 9. Juli 2026, und bis zum "
         "8. August 2027.", "ist dann etwa 32"),
        ("fr", "Au rythme habituel, cela prend 4 mois, jusqu\u2019au 9 juillet 2026.",
         "vous remplirez les critères d\u2019aujourd\u2019hui dans 4 mois, "
         "le 9 juillet 2026, et jusqu\u2019au "
         "8 août 2027.", "sera alors d\u2019environ 32"),
    ):  # fmt: skip
        write = notices(language)
        assert pace in prose(write.render(takes, form="text"))
        said = prose(write.render(waits, form="text"))
        assert wait in said and then in said and pace not in said
        assert pace not in prose(write.render(PLAN, form="text"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_advice_and_data_are_told_where_they_are_given(language):
    given = {"debt_advice": "Advice Office", "data_request": "privacy@example.org"}
    for form in ("html", "text"):
        plain = prose(notices(language).render(PLAN, form=form))
        told = prose(notices(language, replace(DETAILS, **given)).render(PLAN, form=form))
        assert all(f": {text}." in told and text not in plain for text in given.values())


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_is_read_in_light_and_dark_and_by_screen_readers(
    language, browser, faults_of_page, tmp_path
):
    path = tmp_path / "notice.html"
    path.write_text(notices(language).render(PLAN, REASONS), encoding="utf-8")
    browser.get(path.as_uri())
    assert faults_of_page() == []

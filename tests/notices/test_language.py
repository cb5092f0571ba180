"""Values as each language writes them."""

import datetime

import pytest

from ract._utils.errors import InvalidSpec
from ract.notices.language import Language, single_line


def test_what_people_typed_becomes_one_line_of_printable_text():
    assert single_line("two\n lines\t\x1b[2J") == "two lines [2J"


@pytest.mark.parametrize(
    ("name", "number", "yes", "missing", "day"),
    [
        ("en", "1,234.5", "yes", "not given", "March 9, 2026"),
        ("de", "1.234,5", "ja", "nicht angegeben", "9. März 2026"),
        ("de-CH", "1\u2019234.5", "ja", "nicht angegeben", "9. März 2026"),
    ],
)
def test_numbers_words_and_dates(name, number, yes, missing, day):
    language = Language(name)
    assert language.exact(1234.5) == number
    assert (language.value(True), language.value(None)) == (yes, missing)
    assert language.value(float("nan")) == missing
    assert language.date(datetime.date(2026, 3, 9)) == day


def test_values_have_four_digits_or_all_of_those_before_the_point():
    english = Language("en")
    shown = [english.value(value) for value in (46512.75, 123.456, 0.012341, 3.0)]
    assert shown == ["46,513", "123.5", "0.01234", "3"]
    assert english.exact(46512.75) == "46,512.75"


def test_own_words_replace_categories_and_the_usual_ones():
    language = Language("en", {"car": "a car", "yes": "aye"})
    assert language.value("car") == "a car" and language.value(True) == "aye"
    assert language.value("boat") == "boat"


def test_units_stand_where_the_language_puts_them():
    assert Language("en").with_unit("-5", "USD") == "-$5"
    assert Language("de").with_unit("5", "EUR") == "5\u00a0€"
    assert Language("de").with_unit("5", "%") == "5\u202f%"


def test_a_language_that_is_none_is_refused():
    with pytest.raises(InvalidSpec, match="language must be a code"):
        Language("no such tongue")

"""What pages show: words of every language, fields of forms."""

from ract.apps.web.views import best_language, page_words, rules_from_form
from tests.apps.web.test_pages import HOSTILE


def test_words_are_the_same_in_every_language():
    def keys(space):
        return {
            k: keys(v) if not isinstance(v, str) else v.count("{") for k, v in vars(space).items()
        }

    assert keys(page_words("en")) == keys(page_words("de")) == keys(page_words("fr"))
    assert best_language("de-CH,en;q=0.8") == "de" and best_language("xx") == "en"


def test_the_rules_of_a_form(served):
    live = served.service.live
    given = {"lock": ["Income", HOSTILE], "high:Savings": ["50000"], "high:Debt": ["x"],
             "low:Debt": ["0"], "high:Income": ["60000"], "low:LoanAmount": ["nan"],
             "low:Savings": ["1e308"]}  # fmt: skip
    rules = rules_from_form(live, given)
    assert rules.locked == ["Income"] and set(rules.bounds) == {"Savings"}
    assert rules.bounds["Savings"].upper == 50000 and rules.bounds["Savings"].lower is None

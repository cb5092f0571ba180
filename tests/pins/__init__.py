"""What must stay as it is while the package is rebuilt, each as a text that is equal or is not.

``PINS`` has a function for each file of ``tests/data/v02/expected``. It computes the text again
from files that version 0.2 wrote, through public interfaces only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.pins import loans, measures, records
from tests.pins.commands import SESSIONS, options_pin, session_pin
from tests.pins.names import FILES, MODELS, PICKLES, REAL_TABLES, SEARCHES
from tests.pins.real import real_pin

PINS: dict[str, Callable[[Path], str]] = {
    **{f"fitted/{name}.json": partial(loans.model_pin, name) for name in MODELS},
    **{f"files/{name}.json": partial(loans.file_pin, name) for name in FILES},
    **{f"pickles/{name}.json": partial(loans.pickle_pin, name) for name in PICKLES},
    **{f"search/{name}.json": partial(loans.search_pin, name) for name in SEARCHES},
    "search/two-models.json": loans.two_models_pin,
    **{f"reasons/{name}.json": partial(loans.reasons_pin, name)
       for name in ("tree", "forest", "forest-missing", "boosting", "boosting-plain")},
    "judge.json": loans.judge_pin,
    **{f"text/{name}.txt": partial(loans.text_pin, name) for name in ("tree", "tree-relabelled")},
    **{f"notices/{language}-{name}.txt": partial(loans.notice_pin, language, name)
       for language in ("en", "de", "fr") for name in ("forest", "boosting")},
    **{f"notices/suggested-{language}.toml": partial(loans.suggested_pin, language)
       for language in ("en", "de", "fr")},
    "settings.txt": loans.settings_pin,
    "loans.json": loans.loans_pin,
    "measures/report.json": measures.report_pin,
    "measures/tradeoff.json": measures.tradeoff_pin,
    "measures/guarantee.json": measures.guarantee_pin,
    "measures/export.json": measures.export_pin,
    "certificate.json": records.certificate_pin,
    **{f"ledgers/{name}.json": partial(records.ledger_pin, name) for name in ("ledger", "service")},
    "service.json": records.service_pin,
    **{f"commands/{name}.txt": partial(session_pin, name) for name in SESSIONS},
    "commands/options.json": options_pin,
}  # fmt: skip
REAL_PINS = {f"real/{name}.json": partial(real_pin, name) for name in REAL_TABLES}

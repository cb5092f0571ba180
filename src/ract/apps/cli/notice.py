"""``ract notice``: why each refused person was refused, and what would have changed it."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import typer

from ract._utils.errors import InvalidSpec, listing
from ract._utils.files import readable, write_whole
from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans, open_model
from ract.apps.cli.messages import BadInput, print_summary, refuse_both
from ract.apps.cli.searching import PlanOptions, search_sentence, search_summary, searched

app = typer.Typer(
    cls=options.WithDefault,  # the first command, write, need not be named
    help="Write a notice for each person who is refused; ract notice init writes the file of "
    "reason codes that it needs. ract notice MODEL PEOPLE is short for ract notice write.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@dataclass(frozen=True)
class NoticeOptions(PlanOptions):
    """Up to three plans of up to three changes for each person."""

    max_changes: int | None = 3
    n_alternatives: int = 2
    time_limit: float = 1.0


@options.command(app, "write")
def write_notices(
    model: Path,
    people: str,
    output: Path,
    reasons: Path,
    *,
    without_reasons: bool = False,
    reference: str | None = None,
    against: str = "margin",
    language: str | None = None,
    template: Path | None = None,
    replace: bool = False,
    form: list[str] | None = None,
    date: str | None = None,
    plans: NoticeOptions,
    id: str | None = None,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Write a notice for each person who is refused: the reasons, and what would have changed it.

    A letter is a notice without reasons.

    Example: ract notice model.ract people.csv -o notices --reasons notice.toml --reference data.csv
    --id Name
    """
    from ract.apps.cli.notice_folder import notice_writer, refused_of
    from ract.apps.cli.tables import held_out
    from ract.notices import Notices, with_sufficient
    from ract.recourse.few_changes import along_reasons, few_changes

    if id is None:
        raise BadInput("ract notice needs --id, the column whose values name the people's notices.")
    settings, forms = _settings(reasons), _forms(form)
    file, written = open_for_plans(model, csv)
    classifier, encoder = file.model, file.model.encoder_
    notices = Notices(classifier, settings, language=language, templates=template, date=_date(date))
    find = partial(few_changes, classifier.recourse, smaller=True)
    limits = {name: getattr(plans, name) for name in ("budget", "time_limit", "n_jobs")}
    if reference is not None and not without_reasons:
        limits["reference"] = held_out(reference, written, classifier).frame
    wanted = plans.parameters(encoder.space, for_people=True)
    n_notices, counts = 0, Counter[str]()
    chunks = searched(find, encoder, people, written, id, wanted, counts, is_named=True)
    with notice_writer(output, notices, forms, replace=replace) as write_notices:
        for X, found in chunks:
            given, refused = None, refused_of(found)
            if refused and not without_reasons:
                refused_people, find_plans = X.iloc[refused], classifier.recourse
                given = classifier.reasons(refused_people, against=against, **limits)
                found = along_reasons(find_plans, X, found, given, **wanted)
                plans_of = [found[i] for i in refused]
                ways = with_sufficient(find_plans, refused_people, plans_of, given, **wanted)
            else:
                ways = [found[i] for i in refused]
            n_notices += write_notices(ways, given)
    summary, where = search_summary(counts), f"{n_notices} notices are in {output}."
    if not n_notices:
        where = "Nobody is refused, so there is no notice."
    sentence = f"{search_sentence(summary)} {where}"
    print_summary(summary | {"notices": n_notices}, sentence, as_json=json)


@options.command(app, "init")
def propose_settings(
    model: Path,
    *,
    output: str = "-",
    codes: str = "regulation-b",
    language: str = "en",
    creditor: str = "",
    address: str = "",
    contact: str = "",
    json: bool = False,
) -> None:
    """Write a file of codes and sentences for the reasons of a model, to be edited.

    Example: ract notice init model.ract -o notice.toml
    """
    from ract.notices import Details, NoticeSettings

    refuse_both(output, json)
    settings = NoticeSettings.suggest(
        open_model(model).model,
        language=language,
        codes=codes,
        details=Details(creditor, address, contact=contact),
    )
    if output == "-":
        sys.stdout.write(settings.to_toml_text())
    else:
        write_whole(output, settings.to_toml_text())
    n_codes = sum(len(text.codes) for text in settings.features.values())
    print_summary(
        {"features": len(settings.features), "codes": n_codes, "file": output},
        f"{n_codes} reasons of {len(settings.features)} features. Now edit "
        f"{'the file' if output == '-' else output}: say who you are, and put sentences and "
        "categories into the words of your readers.",
        as_json=json,
    )


@options.command(app, "check")
def check_settings(
    reasons: Path = Path("notice.toml"), *, pack: list[str], json: bool = False
) -> None:
    """Check that a file of codes has the fields that a body of rules requires of a notice.

    What is missing is named, and the exit code is 2. Packs: eu-ccd2, eu-gdpr, eu-ai-act, uk-22c,
    us-reg-b, us-co-admt.

    Example: ract notice check notice.toml --pack eu-ccd2
    """
    from ract.notices import pack as pack_of

    settings, known = _settings(reasons), [pack_of(name) for name in pack]
    for one in known:
        try:
            one.check(settings)
        except InvalidSpec as error:
            raise BadInput(f"{reasons}: {error}") from None
    said = "; ".join(f"{one.name} ({one.title}; from {one.applies})" for one in known)
    found = {"file": str(reasons), "packs": [one.name for one in known]}
    print_summary(found, f"{reasons} has every field that these need: {said}.", as_json=json)


def _settings(path: Path) -> Any:
    from ract.notices import NoticeSettings

    with readable(path):
        settings = NoticeSettings.from_toml(path)
    try:
        settings.require_contact()
    except InvalidSpec as error:
        raise BadInput(f"{path}: {error}") from None
    return settings


def _forms(given: list[str] | None) -> list[str]:
    from ract.notices.notice import FORMS

    for form in given or ():
        if form not in FORMS:
            raise BadInput(f"--form must be one of {listing(FORMS)}, got {form!r}.")
    return list(dict.fromkeys(given or ["html"]))


def _date(given: str | None) -> Any:
    import datetime

    try:
        return None if given is None else datetime.date.fromisoformat(given)
    except ValueError:
        raise BadInput(f"--date must be a day such as 2026-12-31, got {given!r}.") from None

"""``ract notice``: why each refused person was refused, and what would have changed it."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options
from ract.cli.default import WithDefault
from ract.cli.searching import Plans, Searched


class NoticeCommands(WithDefault):
    """``write`` need not be said: what names no command is a model file."""

    default = "write"


@dataclass(frozen=True)
class NoticePlans(Plans):
    """Up to three plans of up to three changes for each person."""

    max_changes: Annotated[
        int | None, typer.Option(help="How many features plans change, unless only more would do.")
    ] = 3
    n_alternatives: Annotated[
        int, typer.Option(min=0, max=2, help="Further plans for each person.")
    ] = 2
    time_limit: options.TimeLimit = 0.03


@dataclass(frozen=True)
class Comparison:
    """Whom refused people are compared with."""

    reference: Annotated[
        str | None,
        typer.Option(help="Table of people to compare with; those that the model kept, if any."),
    ] = None
    against: Annotated[
        str, typer.Option(help="Whom of them: margin (of acceptance), accepted or mean (everyone).")
    ] = "margin"


def write(
    model: options.ModelPath,
    people: options.PeopleFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the notices.", show_default=False)
    ],
    reasons: Annotated[
        Path,
        typer.Option(
            help="File of ract notice init: codes, sentences, your details.", show_default=False
        ),
    ],
    *,
    comparison: Comparison,
    pages: options.NoticePages,
    form: Annotated[
        list[str] | None, typer.Option(help="html, text or json; html by default. May be repeated.")
    ] = None,
    date: Annotated[
        str | None, typer.Option(help="Date of the decisions, as 2026-12-31; today by default.")
    ] = None,
    plans: NoticePlans,
    id: options.Id = None,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Write a notice for each person who is refused: the reasons, and what would have changed it.

    Example: ract notice model.ract people.csv -o notices --reasons notice.toml --reference data.csv
    --id Name
    """  # fmt: skip
    from ract.cli.columns import held_out
    from ract.cli.failures import BadInput
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary, say_if_unrestricted
    from ract.cli.notice_folder import notice_writer, refused_of
    from ract.cli.tables import format_of
    from ract.notices import Notices, along_reasons, few_changes

    if id is None:
        raise BadInput("ract notice needs --id, the column whose values name the people's notices.")
    settings, forms = _settings(reasons), _forms(form)
    file = open_model(model)
    classifier, written = file.model, format_of(csv, file.table)
    notices = Notices(
        classifier, settings, language=pages.language, templates=pages.template, date=_date(date)
    )
    say_if_unrestricted(classifier.encoder_.space)
    why: dict[str, Any] = {
        "against": comparison.against, "budget": plans.budget, "n_jobs": plans.n_jobs,
        "time_limit": plans.time_limit,
    }  # fmt: skip
    if comparison.reference is not None:
        why["reference"] = held_out(comparison.reference, written, classifier).frame
    find = partial(few_changes, classifier.recourse)
    searched = Searched(classifier, find, people, written, id, is_named=True)
    n_notices, wanted = 0, plans.parameters(for_people=True)
    with notice_writer(output, "--output", notices, forms, replace=pages.replace) as write_notices:
        for X, found in searched(wanted):
            if refused := refused_of(found):
                given = classifier.reasons(X.iloc[refused], **why)
                found = along_reasons(classifier.recourse, X, found, given, **wanted)
                n_notices += write_notices(found, given)
    summary = searched.summary | {"notices": n_notices}
    sentence = f"{searched.sentence} {n_notices} notices are in {output}."
    if not n_notices:
        sentence = f"{searched.sentence} Nobody is refused, so there is no notice."
    print_summary(summary, sentence, as_json=json)


def init(
    model: options.ModelPath,
    *,
    output: Annotated[str, typer.Option("-o", "--output", help="File; - to print it.")] = "-",
    codes: Annotated[
        str, typer.Option(help="List that codes are from: regulation-b, hmda or none.")
    ] = "regulation-b",
    language: Annotated[str, typer.Option(help="Of the sentences: en, de, fr or another.")] = "en",
    json: options.Json = False,
) -> None:
    """Write a file of codes and sentences for the reasons of a model, to be edited.

    Example: ract notice init model.ract -o notice.toml
    """
    from ract._files import write_whole
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary, refuse_both
    from ract.notices import NoticeSettings

    refuse_both(output, json)
    settings = NoticeSettings.suggest(open_model(model).model, language=language, codes=codes)
    if output == "-":
        sys.stdout.write(settings.to_toml_text())
    else:
        write_whole(output, settings.to_toml_text())
    n_codes = sum(len(text.codes) for text in settings.features.values())
    print_summary(
        {"features": len(settings.features), "codes": n_codes, "file": output},
        f"{n_codes} reasons of {len(settings.features)} features. Now edit "
        f"{'the file' if output == '-' else output}: say who you are, and put sentences into the "
        "words of your readers.",
        as_json=json,
    )


def _settings(path: Path) -> Any:
    from ract.cli.inputs import readable
    from ract.cli.messages import say
    from ract.errors import listing
    from ract.notices import NoticeSettings

    with readable(path):
        settings = NoticeSettings.from_toml(path)
    wanted = ("creditor", "address", "contact")
    if empty := [name for name in wanted if not getattr(settings.details, name)]:
        say(f"Note: [notice] in {path} leaves {listing(empty)} empty; notices are without.")
    return settings


def _forms(given: list[str] | None) -> list[str]:
    from ract.cli.failures import BadInput
    from ract.errors import listing
    from ract.notices.notice import FORMS

    for form in given or ():
        if form not in FORMS:
            raise BadInput(f"--form must be one of {listing(FORMS)}, got {form!r}.")
    return list(dict.fromkeys(given or ["html"]))


def _date(given: str | None) -> Any:
    import datetime

    from ract.cli.failures import BadInput

    try:
        return None if given is None else datetime.date.fromisoformat(given)
    except ValueError:
        raise BadInput(f"--date must be a day such as 2026-12-31, got {given!r}.") from None

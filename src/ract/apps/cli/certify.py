"""``ract certify``: bound how many people are without recourse, and check such a bound again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from ract._utils.files import readable
from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans
from ract.apps.cli.messages import BAD_INPUT, FINE, NOT_CHECKED, print_summary


def certify_model(
    model: Path,
    people: str,
    *,
    output: Path | None = None,
    check: Path | None = None,
    groups: str | None = None,
    training: str | None = None,
    bound: options.Bound,
    max_risk: float | None = None,
    witnesses: Path | None = None,
    keep: bool = False,
    strict: bool = False,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Bound the share of a population without recourse, from held-out people.

    Example: ract certify model.ract new-people.csv --groups Sex -o recourse.json
    """
    from ract.apps.cli.tables import held_out, training_table
    from ract.evaluation import certificates
    from ract.io import save_model

    file, form = open_for_plans(model, csv)
    population = held_out(people, form, file.model, groups=groups, strict=strict)
    table = training_table(file, population, training, form)
    given: dict[str, Any] = {
        "groups": population.groups,
        "training": None if table is None else table.frame,
        "witnesses": witnesses,
        "progress": True,
        **asdict(bound),
    }
    if check is not None:
        _check(check, file.model, population.frame, given, as_json=json)
        return
    certificate = certificates.certify(file.model, population.frame, max_risk=max_risk, **given)
    if output is not None:
        certificate.save(output)
    if keep:
        records = [*file.certificates, certificate.to_dict()]
        save_model(
            file.model,
            model,
            summary=file.summary,
            certificates=records,
            judge=file.judge,
            table=file.table,
        )
    print_summary(certificate.to_dict(), str(certificate), as_json=json)


def _check(path: Path, model: Any, people: Any, given: dict[str, Any], *, as_json: bool) -> None:
    from ract.evaluation import certificates

    with readable(path):
        record = certificates.read_record(path)
    found = certificates.verify(record, model, people, **given)
    summary = {
        "agrees": bool(found),
        "complete": found.complete,
        "checked": list(found.checked),
        "problems": found.problems,
        "unchecked": found.unchecked,
        "notes": list(found.notes),
    }
    print_summary(summary, str(found), as_json=as_json)
    raise typer.Exit(BAD_INPUT if found.problems else FINE if found.complete else NOT_CHECKED)

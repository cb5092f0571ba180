"""``ract certify``: bound how many people are without recourse, and check such a bound again."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli.options import (
    Csv,
    Decimal,
    Delimiter,
    Encoding,
    Jobs,
    Json,
    ModelPath,
    PeopleFile,
    Thousands,
)


def certify(
    model: ModelPath,
    people: PeopleFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="JSON record to write.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check this record again instead of making one.")
    ] = None,
    budget: Annotated[
        float | None, typer.Option(help="Largest acceptable cost; the model's own by default.")
    ] = None,
    confidence: Annotated[float, typer.Option(help="With which the bound holds.")] = 0.95,
    groups: Annotated[str | None, typer.Option(help="Column of groups, each with a bound.")] = None,
    max_risk: Annotated[
        float | None, typer.Option(help="Refuse if there are too few people to show this risk.")
    ] = None,
    witnesses: Annotated[
        Path | None,
        typer.Option(
            help="Write everyone's action to this file, which holds people's values; with --check, "
            "check those in it."
        ),
    ] = None,
    training: Annotated[
        str | None, typer.Option(help="Training table, to notice people who are in both.")
    ] = None,
    keep: Annotated[bool, typer.Option(help="Keep the record in the model file too.")] = False,
    time_limit: Annotated[float, typer.Option(help="Seconds for each person's search.")] = 10.0,
    n_jobs: Jobs = -1,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Bound the share of a population without recourse, from people who were held out.

    Example: ract certify model.ract new-people.csv --groups Sex -o recourse.json
    """
    from ract import certificates
    from ract.cli.held_out import held_out, training_people
    from ract.cli.messages import open_model, tell
    from ract.persist import save_model

    file = open_model(model)
    csv = Csv(delimiter, decimal, thousands, encoding)
    held = held_out(people, csv, file.model, groups=groups)
    how: dict[str, Any] = {"n_jobs": n_jobs, "progress": sys.stderr.isatty()}
    if check is not None:
        _check(check, file.model, held, how | {"witnesses": witnesses}, as_json=json)
        return
    known = training_people(file, held, training, csv)
    certificate = certificates.certify(
        file.model, held.frame, budget, confidence, held.groups, max_risk=max_risk,
        training=known, witnesses=witnesses, time_limit=time_limit, **how,
    )  # fmt: skip
    if output is not None:
        certificate.save(output)
    if keep:
        records = [*file.certificates, certificate.to_dict()]
        save_model(file.model, model, summary=file.summary, certificates=records)
    tell(certificate.to_dict(), str(certificate), as_json=json)


def _check(path: Path, model: Any, held: Any, how: dict[str, Any], *, as_json: bool) -> None:
    from ract import certificates
    from ract.cli.failures import BAD_INPUT
    from ract.cli.messages import tell
    from ract.cli.tables import readable

    with readable(path):
        record = certificates.read_record(path)
    checked = certificates.verify(record, model, held.frame, groups=held.groups, **how)
    tell({"agrees": bool(checked), **asdict(checked)}, str(checked), as_json=as_json)
    if not checked:
        raise typer.Exit(BAD_INPUT)

"""``ract certify``: bound how many people are without recourse, and check such a bound again."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options


def certify(
    model: options.ModelPath,
    people: options.PeopleFile,
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="JSON record to write.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check this record again instead of making one.")
    ] = None,
    groups: options.Groups = None,
    training: options.Training = None,
    bound: options.Bound,
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
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the record in the model file too.")
    ] = False,
    strict: options.Strict = False,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Bound the share of a population without recourse, from people who were held out.

    Example: ract certify model.ract new-people.csv --groups Sex -o recourse.json
    """
    from ract import certificates
    from ract.cli.columns import held_out, training_table
    from ract.cli.inputs import open_model
    from ract.cli.messages import print_summary, say_if_unrestricted
    from ract.cli.tables import format_of
    from ract.persist import save_model

    file = open_model(model)
    say_if_unrestricted(file.model.encoder_.space)
    form = format_of(csv, file.table)
    held = held_out(people, form, file.model, groups=groups, strict=strict)
    if check is not None:
        _check(check, file.model, held, witnesses, bound.n_jobs, as_json=json)
        return
    table = training_table(file, held, training, form)
    certificate = certificates.certify(
        file.model, held.frame, groups=held.groups, max_risk=max_risk,
        training=None if table is None else table.frame, witnesses=witnesses,
        progress=True, **asdict(bound),
    )  # fmt: skip
    if output is not None:
        certificate.save(output)
    if keep:
        records = [*file.certificates, certificate.to_dict()]
        save_model(
            file.model, model, summary=file.summary, certificates=records, judge=file.judge,
            table=file.table,
        )  # fmt: skip
    print_summary(certificate.to_dict(), str(certificate), as_json=json)


def _check(
    path: Path, model: Any, held: Any, witnesses: Path | None, n_jobs: int, *, as_json: bool
) -> None:
    from ract import certificates
    from ract.cli.failures import BAD_INPUT
    from ract.cli.inputs import readable
    from ract.cli.messages import print_summary

    with readable(path):
        record = certificates.read_record(path)
    checked = certificates.verify(
        record, model, held.frame, groups=held.groups, witnesses=witnesses, n_jobs=n_jobs,
        progress=True,
    )  # fmt: skip
    summary = {"agrees": bool(checked), **asdict(checked)}
    print_summary(summary, str(checked), as_json=as_json)
    if not checked:
        raise typer.Exit(BAD_INPUT)

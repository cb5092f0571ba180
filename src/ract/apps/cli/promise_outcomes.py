"""``ract promises outcomes``: what became of redeemed promises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ract.apps.cli import options
from ract.apps.cli.failures import BadInput
from ract.apps.cli.promises import Output, Where, app, open_ledger

__all__ = ["app"]


def outcomes(
    record: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="Outcomes to keep first: columns promise and outcome (repaid, defaulted or open).",
        ),
    ] = None,
    *,
    ledger: Where = "ract-promises.db",
    model: Annotated[
        Path | None, typer.Option(help="Model file that has kept a judge (ract fit --keep-judge).")
    ] = None,
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Of intervals.")] = 0.95,
    output: Output = None,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Say how many redeemed promises were repaid, beside what a judge predicts.

    Example: ract promises outcomes repaid.csv --model model.ract
    """
    from ract.apps.cli.messages import print_summary
    from ract.apps.cli.outputs import table_writer
    from ract.apps.cli.tables import format_of
    from ract.data.csv.files import read_whole
    from ract.io import load_judge

    judge = None if model is None else load_judge(model)
    with open_ledger(ledger, "write" if record is not None else "read") as book:
        from ract.apps.ledger import promise_outcomes, record_outcomes

        if record is not None:
            table = read_whole(str(record), format_of(csv))
            if lacking := [name for name in ("promise", "outcome") if name not in table]:
                raise BadInput(f"{record} has no column {lacking[0]!r}.")
            if table["promise"].duplicated().any():
                raise BadInput(f"{record} names a promise twice.")
            ids, known = (table[name].astype(str) for name in ("promise", "outcome"))
            record_outcomes(book, dict(zip(ids, known, strict=True)))
        found = promise_outcomes(book, judge, confidence=confidence)
    if output is not None:
        with table_writer(output) as write:
            write(found.table)
    summary = {
        **found.counts, "kept": _known(found.kept), "warnings": found.warnings,
        "groups": [
            {name: _known(value) for name, value in row.items()}
            for row in found.table.to_dict("records")
        ],
    }  # fmt: skip
    print_summary(summary, str(found), as_json=json)


def _known(value: Any) -> Any:
    """A value; None for a share of nobody."""
    return None if isinstance(value, float) and value != value else value


app.command("outcomes")(options.with_option_groups(outcomes))

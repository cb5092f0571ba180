"""``ract predict``: the class and probability of each person."""

from __future__ import annotations

from typing import Annotated

import typer

from ract.cli.options import (
    Csv,
    Decimal,
    Delimiter,
    Encoding,
    Id,
    Json,
    ModelPath,
    PeopleFile,
    Thousands,
)

AT_ONCE = 50_000


def predict(
    model: ModelPath,
    people: PeopleFile,
    output: Annotated[
        str, typer.Option("-o", "--output", help="CSV, Parquet or JSON file; - to print CSV.")
    ] = "-",
    id: Id = None,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write what a model decides about each person.

    One row for each: the class, and the probability of the desired class.

    Example: ract predict model.ract people.csv -o out.csv
    """
    import pandas as pd

    from ract.cli.chunks import in_context
    from ract.cli.messages import open_model, progress, refuse_both, share, tell
    from ract.cli.outputs import table_writer
    from ract.cli.tables import Chunks, people_of, text_columns

    refuse_both(output, json)
    held = open_model(model).model
    k = held.classes_.tolist().index(held.desired_)
    csv = Csv(delimiter, decimal, thousands, encoding)
    n_people = n_desired = 0
    chunks = Chunks(people, csv, AT_ONCE, text_columns(held.encoder_))
    with table_writer(output) as write, progress("Predicting") as done:
        for chunk in chunks:
            own = people_of(chunk, held.encoder_, people, id)
            with in_context(chunk, people):
                decided = held.predict(own)
                probability = held.predict_proba(own)[:, k]
            told = {"person": own.index, "prediction": decided, "probability": probability}
            write(pd.DataFrame(told))
            n_people += len(own)
            n_desired += int((decided == held.desired_).sum())
            done(chunks.share)
    desired = str(held.desired_)
    summary = {"people": n_people, "desired": desired, "desired_share": n_desired / n_people}
    tell(summary, f"{n_people} people, {share(n_desired / n_people)} {desired}.", as_json=json)

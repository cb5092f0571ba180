"""``ract predict``: the class and probability of each person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ract._utils.progress import progress_bar
from ract.apps.cli import options
from ract.apps.cli.inputs import format_of, open_decider
from ract.apps.cli.messages import percent, print_summary, refuse_both

AT_ONCE = 50_000


def predict(
    model: Path,
    people: str,
    *,
    output: str = "-",
    id: str | None = None,
    strict: bool = False,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Write what a model decides about each person.

    One row for each: the class, and the probability of the desired class. A row that cannot be
    read has neither, but a message.

    Example: ract predict model.ract people.csv -o out.csv
    """
    from ract.apps.cli.outputs import table_writer
    from ract.apps.cli.tables import model_columns, refuse_invalid
    from ract.data.csv import Chunks, naming_lines, text_features
    from ract.io.decider import decided
    from ract.recourse.plan import class_in_words

    refuse_both(output, json)
    decider = open_decider(model)
    desired, encoder = decider.model.desired, decider.model.encoder
    n_people = n_desired = 0
    messages: list[str] = []
    form = format_of(csv, decider.table)
    chunks = Chunks(people, form, AT_ONCE, text_features(encoder.space))
    with table_writer(output) as write, progress_bar("Predicting", transient=True) as done:
        for chunk in chunks:
            X = model_columns(chunk, encoder, people, id, form, strict=strict)
            with naming_lines(people, form, chunk.index):
                answers = decided(decider, X, strict=strict)
            write(answers)
            n_people += len(X)
            n_desired += int((answers["prediction"] == desired).sum())
            messages += answers["message"].dropna().tolist()
            done(chunks.share)
        refuse_invalid(people, n_people, messages)
    part = n_desired / (n_people - len(messages))
    summary: dict[str, Any] = {"people": n_people, "desired": str(desired), "desired_share": part}
    wanted = class_in_words(desired)
    sentence = f"{n_people} people, {percent(part)} {wanted}."
    if messages:
        summary["invalid"] = len(messages)
        sentence = (
            f"{n_people} people, {len(messages)} of whom could not be read, {percent(part)} of the "
            f"others {wanted}."
        )
    print_summary(summary, sentence, as_json=json)

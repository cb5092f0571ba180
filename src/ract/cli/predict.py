"""``ract predict``: the class and probability of each person."""

from __future__ import annotations

from ract.cli import options

AT_ONCE = 50_000


def predict(
    model: options.ModelPath,
    people: options.PeopleFile,
    *,
    output: options.TableOutput = "-",
    id: options.Id = None,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Write what a model decides about each person.

    One row for each: the class, and the probability of the desired class.

    Example: ract predict model.ract people.csv -o out.csv
    """
    import pandas as pd

    from ract.cli.columns import model_columns, text_columns
    from ract.cli.inputs import open_decider
    from ract.cli.messages import print_summary, progress, refuse_both, share
    from ract.cli.outputs import table_writer
    from ract.cli.tables import Chunks, naming_lines

    refuse_both(output, json)
    decider = open_decider(model)
    desired, encoder = decider.model.desired, decider.model.encoder
    n_people = n_desired = 0
    chunks = Chunks(people, csv, AT_ONCE, text_columns(encoder))
    with table_writer(output) as write, progress("Predicting") as done:
        for chunk in chunks:
            X = model_columns(chunk, encoder, people, id)
            with naming_lines(people, csv, chunk.index[0]):
                prediction, probability = decider.decide(X)
            columns = {"person": X.index, "prediction": prediction, "probability": probability}
            write(pd.DataFrame(columns))
            n_people += len(X)
            n_desired += int((prediction == desired).sum())
            done(chunks.share)
    part = n_desired / n_people
    summary = {"people": n_people, "desired": str(desired), "desired_share": part}
    print_summary(summary, f"{n_people} people, {share(part)} {desired}.", as_json=json)

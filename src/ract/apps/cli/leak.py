"""``ract leak``: how well a model can be rebuilt from what it answers."""

from __future__ import annotations

from pathlib import Path

from ract.apps.cli import options
from ract.apps.cli.inputs import format_of, open_model
from ract.apps.cli.messages import print_summary, refuse_both


def leak(
    model: Path,
    people: str | None = None,
    *,
    queries: int = 1000,
    output: str = "-",
    random_state: int = 0,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Rebuild a model from its decisions and plans, and say how well the copy agrees with it.

    The table has a row for each kind of answer and number of queries. The attack is a simple one,
    so that a model leaks at least this much.

    Example: ract leak model.ract --queries 1000
    """
    from ract.apps.cli.outputs import write_table
    from ract.apps.cli.tables import held_out
    from ract.evaluation import measure_leak
    from ract.evaluation.leak import QUERIES

    refuse_both(output, json)
    file = open_model(model)
    written = format_of(csv, file.table)
    X = None if people is None else held_out(people, written, file.model).frame
    sizes = [n for n in QUERIES if n < queries] + [queries]
    found = measure_leak(file.model, X, sizes, random_state=random_state)
    write_table(output, found.table)
    last = found.table[found.table["queries"] == queries].set_index("given")["fidelity"]
    summary = {"queries": queries, "fidelity": {k: round(v, 4) for k, v in last.items()}}
    print_summary(summary, f"{found!r}.", as_json=json)

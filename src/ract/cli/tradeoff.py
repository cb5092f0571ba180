"""``ract tradeoff``: accuracy, AUC and recourse along a parameter."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli.options import (
    Csv,
    DataFile,
    Decimal,
    Delimiter,
    Desired,
    Drop,
    Encoding,
    Jobs,
    Json,
    Target,
    Thousands,
)


def tradeoff(
    data: DataFile,
    target: Target,
    actions: Annotated[
        Path | None, typer.Option(help="Action file; without one everything may change.")
    ] = None,
    desired: Desired = None,
    output: Annotated[
        str, typer.Option("-o", "--output", help="CSV, Parquet or JSON file; - to print CSV.")
    ] = "-",
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write: PNG, SVG or PDF by its suffix.")
    ] = None,
    model: Annotated[str, typer.Option(help="forest or tree.")] = "forest",
    param: Annotated[str, typer.Option(help="The parameter to vary.")] = "recourse_weight",
    values: Annotated[
        str, typer.Option(help="Its values, with commas between.")
    ] = "0,0.01,0.03,0.1,0.3,1",
    cv: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    n_estimators: Annotated[int, typer.Option(help="Trees of a forest.")] = 100,
    budget: Annotated[float, typer.Option(help="Largest acceptable cost of an action.")] = 0.3,
    random_state: Annotated[int, typer.Option(help="Seed; the same gives the same result.")] = 0,
    drop: Drop = None,
    n_jobs: Jobs = -1,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Measure what a parameter costs and gives, by cross-validation.

    Example: ract tradeoff data.csv --target Risk --desired Good --actions actions.toml -o out.csv
    """
    from ract.cli.fit import estimator_for
    from ract.cli.messages import open_actions, refuse_both, tell
    from ract.cli.outputs import table_writer
    from ract.cli.tables import training_table
    from ract.selection import tradeoff_curve

    refuse_both(output, json)
    form = None if plot is None else _form(plot)
    space = open_actions(actions)
    estimator = estimator_for(
        model, actions=space, n_estimators=n_estimators, budget=budget, random_state=random_state
    )
    csv = Csv(delimiter, decimal, thousands, encoding)
    X, y, label = training_table(data, csv, target, drop, desired, space)
    estimator.set_params(desired=label)
    curve = tradeoff_curve(
        estimator, X, y.to_numpy(), param, [_value(text) for text in values.split(",")], cv,
        n_jobs=n_jobs, progress=sys.stderr.isatty(),
    )  # fmt: skip
    table = curve.to_frame()
    with table_writer(output) as write:
        write(table)
    if plot is not None and form is not None:
        _draw(curve, plot, form)
    rows = table.to_dict(orient="records")
    tell({"param": param, "rows": rows}, _sentence(table, param), as_json=json)


def _value(text: str) -> Any:
    """A value as it was written: a whole number, a number, None, or a word."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None if text == "None" else text


def _sentence(table: Any, param: str) -> str:
    front = table.loc[table["front"], param].tolist()
    return f"Values of {param} that nothing beats in both AUC and recourse: {front}."


def _form(path: Path) -> str:
    """The form of a picture, by its suffix; refused before any work is done."""
    from ract.cli.failures import BadInput

    form = path.suffix.lstrip(".").lower()
    if form not in ("png", "svg", "pdf"):
        raise BadInput(f"--plot writes PNG, SVG or PDF, got {path.name!r}.")
    try:
        import matplotlib as mpl  # noqa: F401
    except ImportError:
        raise BadInput('Drawing needs matplotlib: pip install "ract[plot]".') from None
    return form


def _draw(curve: Any, path: Path, form: str) -> None:
    from matplotlib.figure import Figure

    from ract._files import whole_file
    from ract.plot import TradeoffDisplay

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    TradeoffDisplay.from_curve(curve, ax=figure.subplots())
    with whole_file(path) as file:
        figure.savefig(file, format=form)

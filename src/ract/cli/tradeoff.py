"""``ract tradeoff``: accuracy, AUC and recourse along a parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options


def tradeoff(
    table: options.TrainingData,
    *,
    actions: options.Actions = None,
    output: options.TableOutput = "-",
    plot: Annotated[
        Path | None, typer.Option(help="Picture to write: PNG, SVG or PDF by its suffix.")
    ] = None,
    model: options.ModelKind = "forest",
    param: Annotated[str, typer.Option(help="Parameter to vary.")] = "recourse_weight",
    values: Annotated[
        str, typer.Option(help="Values of the parameter, with commas between.")
    ] = "0,0.01,0.03,0.1,0.3,1",
    cv: Annotated[int, typer.Option(min=2, help="Number of folds.")] = 5,
    strength: Annotated[
        str | None,
        typer.Option(help="Measure lasting recourse too, for plans of this strength, or 'most'."),
    ] = None,
    n_estimators: options.NEstimators = 100,
    budget: options.Budget = 0.3,
    random_state: options.RandomState = 0,
    n_jobs: options.NJobs = -1,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Measure what a parameter costs and gives, by cross-validation.

    Example: ract tradeoff data.csv --target Risk --desired Good --actions actions.toml -o out.csv
    """
    from ract.cli.columns import training_set
    from ract.cli.fit import estimator_for
    from ract.cli.inputs import open_actions
    from ract.cli.messages import print_summary, refuse_both, say_if_unrestricted
    from ract.cli.outputs import table_writer
    from ract.cli.tables import format_of
    from ract.encoding import Encoder
    from ract.selection import tradeoff_curve

    refuse_both(output, json)
    if plot is not None:
        _check_plot(plot)
    space, kept = open_actions(actions)
    estimator = estimator_for(
        model, actions=space, n_estimators=n_estimators, budget=budget, random_state=random_state
    )
    (X, y, _), label = training_set(table, format_of(csv, kept), space)
    estimator.set_params(desired=label)
    say_if_unrestricted(Encoder(X, space).space)
    curve = tradeoff_curve(
        estimator, X, y.to_numpy(), param, [_value(text) for text in values.split(",")], cv,
        strength=options.strength_of(strength), n_jobs=n_jobs, progress=True,
    )  # fmt: skip
    frame = curve.to_frame()
    with table_writer(output) as write:
        write(frame)
    if plot is not None:
        _draw(curve, plot)
    front = frame.loc[frame["front"], param].tolist()
    print_summary(
        {"param": param, "rows": frame.to_dict(orient="records")},
        f"Values of {param} that nothing beats in both AUC and recourse: {front}.",
        as_json=json,
    )


def _value(text: str) -> Any:
    """A value as it was written: a whole number, a number, None, or a word."""
    text = text.strip()
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None if text == "None" else text


def _check_plot(path: Path) -> None:
    """Refuse a picture that cannot be drawn before any work is done."""
    from ract.cli.failures import BadInput, optional_library

    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise BadInput(f"--plot writes PNG, SVG or PDF, got {path.name!r}.")
    optional_library("matplotlib", "drawing", "plot")


def _draw(curve: Any, path: Path) -> None:
    from matplotlib.figure import Figure

    from ract._files import whole_file
    from ract.plot import TradeoffDisplay

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    TradeoffDisplay.from_curve(curve, ax=figure.subplots())
    with whole_file(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower())

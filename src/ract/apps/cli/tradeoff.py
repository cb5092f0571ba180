"""``ract tradeoff``: accuracy, AUC and recourse along a parameter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ract.apps.cli import options
from ract.apps.cli.inputs import format_of, open_actions
from ract.apps.cli.messages import print_summary, refuse_both, say_if_unrestricted


def tradeoff(
    table: options.TrainingData,
    *,
    actions: Path | None = None,
    output: str = "-",
    plot: Path | None = None,
    model: str = "forest",
    param: str = "recourse_weight",
    values: str = "0,0.01,0.03,0.1,0.3,1",
    cv: int = 5,
    strength: str | None = None,
    n_estimators: int = 100,
    budget: float | None = None,
    random_state: int = 0,
    n_jobs: int = -1,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Measure accuracy, AUC and recourse along a parameter, by cross-validation.

    Example: ract tradeoff data.csv --target Risk --desired Good --actions actions.toml -o out.csv
    """
    from ract.apps.cli.fit import estimator_for
    from ract.apps.cli.outputs import check_picture, picture, write_table
    from ract.apps.cli.tables import training_set
    from ract.data.csv import naming_lines
    from ract.data.encoder import Encoder
    from ract.evaluation.tradeoff import tradeoff_curve

    refuse_both(output, json)
    check_picture(plot)
    space, kept = open_actions(actions)
    estimator = estimator_for(
        model, actions=space, n_estimators=n_estimators, budget=budget, random_state=random_state
    )
    form = format_of(csv, kept)
    X, y, _, desired = training_set(table, form, space)
    estimator.set_params(desired=desired)
    with naming_lines(table.data, form, X.index):
        say_if_unrestricted(Encoder(X, space).space)
    curve = tradeoff_curve(
        estimator,
        X,
        y.to_numpy(),
        param,
        [_value(text) for text in values.split(",")],
        cv,
        strength=options.strength_of(strength),
        n_jobs=n_jobs,
        progress=True,
    )
    frame = curve.to_frame()
    write_table(output, frame)
    if plot is not None:
        from ract.evaluation.plots import TradeoffDisplay

        with picture(plot) as ax:
            TradeoffDisplay.from_curve(curve, ax=ax)
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

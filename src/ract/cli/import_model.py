"""``ract import``: models of other libraries into a model file."""

from __future__ import annotations

import importlib
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
    Json,
    Thousands,
)

PICKLES = (".pkl", ".pickle", ".joblib")


def import_model(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="XGBoost's .json or .ubj, LightGBM's .txt, or a .pkl or .joblib with --trust.",
        ),
    ],
    data: DataFile,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Model file to write.", show_default=False)
    ],
    target: Annotated[
        str | None, typer.Option(help="Column of the data that is not a feature.")
    ] = None,
    actions: Annotated[
        Path | None, typer.Option(help="Action file; without one everything may change.")
    ] = None,
    desired: Desired = None,
    threshold: Annotated[
        float | None, typer.Option(help="Decide by this probability, not by the model's own rule.")
    ] = None,
    cost: Annotated[str, typer.Option(help="How effort is measured.")] = "percentile",
    budget: Annotated[
        float, typer.Option(help="Largest acceptable cost of an action; no limit by default.")
    ] = float("inf"),
    trust: Annotated[
        bool, typer.Option("--trust", help="Load a pickle, which runs whatever code is in it.")
    ] = False,
    drop: Drop = None,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Take over a model of another library.

    A fitted tree, forest or boosted trees of scikit-learn, LightGBM or XGBoost becomes a model
    file, so that ract serves it. DATA is a table like the one that the model was trained on; kinds,
    bounds, categories and costs are read off it. Decisions stay exactly those of the model.

    Example: ract import forest.joblib data.csv --trust --target Risk --desired Good -o model.ract
    """
    from ract.cli.messages import open_actions, tell
    from ract.cli.tables import class_named, read_whole
    from ract.imported import import_model as take_over
    from ract.persist import save_model

    model = _loaded(source, trust)
    space = open_actions(actions)
    table = read_whole(data, Csv(delimiter, decimal, thousands, encoding))
    people = _people(table, model, [target, *(drop or [])] if target else drop or [], data)
    if desired is None and space is not None:
        desired = space.desired
    label = class_named(desired, _classes(model))
    imported = take_over(
        model, people, space, desired=label, threshold=threshold, cost=cost, budget=budget
    )
    summary = {
        "source": imported.source,
        "people": len(people),
        "features": imported.n_features_in_,
        "trees": imported.ensemble_.n_trees,
        "desired": str(imported.desired_),
        "desired_share": float((imported.predict(people) == imported.desired_).mean()),
    }
    save_model(imported, output, summary=summary)
    tell(
        summary | {"file": str(output)},
        f"Took over a {imported.source} of {summary['trees']} trees; it is in {output}.",
        as_json=json,
    )


def _loaded(source: Path, trust: bool) -> Any:
    from ract.cli.failures import BadInput
    from ract.cli.tables import one_line, readable

    with readable(source), source.open("rb"):
        pass
    end = source.suffix.lower()
    if end in PICKLES and not trust:
        raise BadInput(
            f"{source} is a pickle, and loading it runs whatever code is in it; if you trust where "
            "it came from, say so with --trust."
        )
    loaders = {".json": _xgboost, ".ubj": _xgboost, ".txt": _lightgbm} | dict.fromkeys(
        PICKLES, _pickle
    )
    if end not in loaders:
        raise BadInput(f"{source} must end in one of {', '.join(loaders)}.")
    try:
        return loaders[end](source)
    except BadInput:
        raise
    except Exception as error:  # libraries raise all sorts of things
        raise BadInput(
            f"{source} could not be loaded ({type(error).__name__}: {one_line(error)[:200]})."
        ) from None


def _pickle(source: Path) -> Any:
    return importlib.import_module("joblib").load(source)


def _xgboost(source: Path) -> Any:
    booster = _library("xgboost").Booster()
    booster.load_model(str(source))
    return booster


def _lightgbm(source: Path) -> Any:
    return _library("lightgbm").Booster(model_file=str(source))


def _library(name: str) -> Any:
    from ract.cli.failures import BadInput

    try:
        return importlib.import_module(name)
    except ImportError:
        raise BadInput(f'This needs {name}: pip install "ract[{name}]".') from None


def _classes(model: Any) -> list[Any]:
    from ract.interop.steps import unwrapped

    classes = getattr(unwrapped(model)[1], "classes_", None)
    return [0, 1] if classes is None else list(classes.tolist())


def _people(table: Any, model: Any, left_out: list[str], source: str) -> Any:
    """The columns that the model was trained on, where it knows their names."""
    from ract.cli.tables import no_column
    from ract.interop.steps import unwrapped

    for name in left_out:
        if name not in table.columns:
            raise no_column(name, table.columns, "--target or --drop", source)
    steps, last = unwrapped(model)
    first = steps[0] if steps else last
    names = getattr(first, "feature_names_in_", getattr(first, "feature_names", None))
    if names is None and hasattr(first, "feature_name"):
        names = first.feature_name()
    if names is not None and all(name in table.columns for name in names):
        people = table[list(names)]
    else:
        people = table.drop(columns=left_out)
    if "lightgbm" in type(last).__module__:  # takes text as pandas categories only
        text = people.select_dtypes(exclude=["number", "bool"]).columns
        people = people.astype(dict.fromkeys(text, "category"))
    return people

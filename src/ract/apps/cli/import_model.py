"""``ract import``: models of other libraries into a model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ract._utils.errors import error_text, optional_library
from ract._utils.files import readable
from ract.apps.cli import options
from ract.apps.cli.inputs import cost_named, format_of, open_actions
from ract.apps.cli.messages import BadInput, print_summary, say_if_unrestricted

LIBRARIES = {".json": "xgboost", ".ubj": "xgboost", ".txt": "lightgbm", ".cbm": "catboost"}
PICKLES = (".pkl", ".pickle", ".joblib")


def import_file(
    source: Path,
    reference: str,
    output: Path,
    *,
    target: str | None = None,
    actions: Path | None = None,
    desired: str | None = None,
    drop: list[str] | None = None,
    threshold: float | None = None,
    cost: str = "percentile",
    exact_costs: bool = False,
    keep_reference: bool = False,
    budget: float | None = None,
    trust: bool = False,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Import a model of another library.

    A fitted tree, forest or boosted trees of scikit-learn, LightGBM, XGBoost or CatBoost is written
    as a model file, for all other commands. REFERENCE is a table like the one that the model was
    trained on; kinds, bounds, categories and costs are learned from it. The model's decisions do
    not change.

    Example: ract import forest.joblib data.csv --trust --target Risk --desired Good -o model.ract
    """
    from ract.apps.cli.tables import class_named
    from ract.data.csv import (
        as_read,
        naming_lines,
        read_whole,
        refuse_formatted_numbers,
        text_features,
    )
    from ract.io import save_model
    from ract.models.imported import import_model as take_over

    model = _loaded(source, trust)
    space, kept = open_actions(actions)
    form = format_of(csv, kept)
    left_out = [*([] if target is None else [target]), *(drop or [])]
    whole = as_read(read_whole(reference, form, text_features(space)), form, space or ())
    left_out += [name for name in form.drop if name in whole.columns and name not in left_out]
    people = _features(whole, model, left_out, reference)
    label = class_named(desired, _classes(model), space)
    for name in people.columns:
        refuse_formatted_numbers(people[name], name)
    with naming_lines(reference, form, people.index):
        imported = take_over(
            model,
            people,
            space,
            desired=label,
            threshold=threshold,
            cost=cost_named(cost, exact=exact_costs),
            budget=budget,
        )
    say_if_unrestricted(imported.encoder_.space)
    summary = {
        "source": imported.source,
        "people": len(people),
        "features": imported.n_features_in_,
        "trees": imported.ensemble_.n_trees,
        "desired": str(imported.desired_),
        "desired_share": float((imported.predict(people) == imported.desired_).mean()),
    }
    compared = people if keep_reference else None
    save_model(imported, output, summary=summary, table=form, keep_reference=compared)
    print_summary(
        summary | {"file": str(output)},
        f"Took over a {imported.source} of {summary['trees']} trees; it is in {output}.",
        as_json=json,
    )


def _loaded(source: Path, trust: bool) -> Any:
    with readable(source), source.open("rb"):
        pass
    end = source.suffix.lower()
    if end in PICKLES and not trust:
        raise BadInput(
            f"{source} is a pickle, and loading it runs whatever code is in it; if you trust where "
            "it came from, say so with --trust."
        )
    if end not in (*LIBRARIES, *PICKLES):
        raise BadInput(f"{source} must end in one of {', '.join((*LIBRARIES, *PICKLES))}.")
    try:
        return _read(source, LIBRARIES.get(end))
    except Exception as error:  # libraries raise all sorts of things
        raise BadInput(
            f"{source} could not be loaded ({type(error).__name__}: {error_text(error)[:200]})."
        ) from None


def _read(source: Path, name: str | None) -> Any:
    """The model in a file of a library; without a name, in a pickle."""
    if name is None:
        import joblib

        return joblib.load(source)
    library = optional_library(name, "such a file", name)
    if name == "lightgbm":
        return library.Booster(model_file=str(source))
    model = library.Booster() if name == "xgboost" else library.CatBoostClassifier()
    model.load_model(str(source))
    return model


def _classes(model: Any) -> list[Any]:
    from ract.trees.readers.steps import unwrapped

    classes = getattr(unwrapped(model)[1], "classes_", None)
    return [0, 1] if classes is None else list(classes.tolist())


def _features(table: Any, model: Any, left_out: list[str], source: str) -> Any:
    """The columns that the model was trained on, where it knows their names."""
    from ract.apps.cli.tables import require_column
    from ract.trees.readers.steps import unwrapped

    for name in left_out:
        require_column(name, table, "--target or --drop", source)
    steps, last = unwrapped(model)
    first = steps[0] if steps else last
    kinds = ("feature_names_in_", "feature_names_", "feature_names")
    names = next((getattr(first, kind) for kind in kinds if hasattr(first, kind)), None)
    if names is None and hasattr(first, "feature_name"):
        names = first.feature_name()
    if names is not None and all(name in table.columns for name in names):
        people = table[list(names)]
    else:
        people = table.drop(columns=left_out)
    takes_categories = type(last).__module__.partition(".")[0] in ("lightgbm", "xgboost")
    if takes_categories:  # text as pandas categories only
        text = people.select_dtypes(exclude=["number", "bool"]).columns
        people = people.astype(dict.fromkeys(text, "category"))
    return people

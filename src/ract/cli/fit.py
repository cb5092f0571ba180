"""``ract fit``: from a table and an action file to a model file."""

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

FORESTS_ONLY = ("n_estimators", "oob_score", "n_jobs", "verbose")
TREES_ONLY = ("confidence",)


def fit(
    data: DataFile,
    target: Target,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Model file to write.", show_default=False)
    ],
    actions: Annotated[
        Path | None, typer.Option(help="Action file; without one everything may change.")
    ] = None,
    desired: Desired = None,
    model: Annotated[str, typer.Option(help="forest or tree.")] = "forest",
    n_estimators: Annotated[int, typer.Option(help="Trees of a forest.")] = 100,
    budget: Annotated[float, typer.Option(help="Largest acceptable cost of an action.")] = 0.3,
    recourse_weight: Annotated[
        str,
        typer.Option(
            help="Weight of recourse against accuracy; 0 is a plain model, auto finds the weight "
            "that --min-recourse or --max-auc-loss needs."
        ),
    ] = "0.1",
    min_recourse: Annotated[
        float | None,
        typer.Option(help="With auto: share of people who must have recourse; 0.95 by default."),
    ] = None,
    max_auc_loss: Annotated[
        float | None, typer.Option(help="With auto: the most recourse at this loss of AUC.")
    ] = None,
    cost: Annotated[
        str, typer.Option(help="percentile, kernel-percentile, range, std or mad.")
    ] = "percentile",
    criterion: Annotated[str, typer.Option(help="gini, entropy or error.")] = "gini",
    max_depth: Annotated[
        int | None, typer.Option(help="Depth of trees; no limit by default.")
    ] = None,
    min_samples_leaf: Annotated[
        int | None, typer.Option(help="People in a leaf; 5 for forests, 1 for trees.")
    ] = None,
    max_risk: Annotated[
        float | None, typer.Option(help="Relabel until at most this share is without recourse.")
    ] = None,
    confidence: Annotated[
        float | None,
        typer.Option(
            help="With --max-risk and --model tree: hold for the population, this surely."
        ),
    ] = None,
    oob_score: Annotated[
        bool, typer.Option(help="Judge a forest by people whom its trees have not seen.")
    ] = True,
    random_state: Annotated[int, typer.Option(help="Seed; the same gives the same model.")] = 0,
    drop: Drop = None,
    n_jobs: Jobs = -1,
    json: Json = False,
    delimiter: Delimiter = None,
    decimal: Decimal = ".",
    thousands: Thousands = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Train a model and write it to a model file.

    Example: ract fit data.csv --target Risk --desired Good --actions actions.toml -o model.ract
    """
    from ract._fingerprint import data_fingerprint
    from ract.cli.messages import open_actions, tell
    from ract.cli.tables import training_table
    from ract.persist import save_model

    space = open_actions(actions)
    estimator = estimator_for(
        model,
        actions=space,
        n_estimators=n_estimators,
        budget=budget,
        recourse_weight=_weight(recourse_weight),
        min_recourse=min_recourse,
        max_auc_loss=max_auc_loss,
        cost=cost,
        criterion=criterion,
        max_depth=max_depth,
        min_samples_leaf=min_samples_leaf,
        max_risk=max_risk,
        confidence=confidence,
        oob_score=oob_score,
        random_state=random_state,
        n_jobs=n_jobs,
        verbose=int(sys.stderr.isatty()),
    )
    csv = Csv(delimiter, decimal, thousands, encoding)
    X, y, label = training_table(data, csv, target, drop, desired, space)
    estimator.set_params(desired=label)
    estimator.fit(X, y.to_numpy())
    summary = {
        "model": model,
        "people": len(X),
        "features": len(X.columns),
        "target": target,
        "desired": str(estimator.desired_),
        "desired_share": float((y == estimator.desired_).mean()),
        "data": data_fingerprint(X),
        **_found(estimator),
    }
    save_model(estimator, output, summary=summary)
    tell(summary | {"file": str(output)}, _sentence(summary, output, estimator), as_json=json)


def _weight(text: str) -> float | str:
    from ract.cli.failures import BadInput

    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"--recourse-weight must be a number or auto, got {text!r}.") from None


def estimator_for(model: str, **given: Any) -> Any:
    """A forest or tree that is yet to be fitted."""
    from ract.cli.failures import BadInput
    from ract.forest import RecourseForestClassifier
    from ract.tree import RecourseTreeClassifier

    if given.get("min_samples_leaf") is None:
        given.pop("min_samples_leaf", None)
    if model == "forest":
        if given.get("confidence") is not None:
            raise BadInput("--confidence is for --model tree; forests are certified afterwards.")
        return RecourseForestClassifier(
            **{name: value for name, value in given.items() if name not in TREES_ONLY}
        )
    if model == "tree":
        return RecourseTreeClassifier(
            **{name: value for name, value in given.items() if name not in FORESTS_ONLY}
        )
    raise BadInput(f"--model must be forest or tree, got {model!r}.")


def _found(estimator: Any) -> dict[str, float]:
    """What fitting measured, where it did."""
    names = ("oob_score_", "oob_recourse_ratio_", "recourse_risk_", "recourse_weight_")
    return {
        name.rstrip("_"): float(getattr(estimator, name))
        for name in names
        if getattr(estimator, name, float("nan")) == getattr(estimator, name, float("nan"))
    }


def _sentence(summary: dict[str, Any], output: Path, estimator: Any) -> str:
    from ract.cli.messages import share

    told = f"Trained a {summary['model']} on {summary['people']} people; it is in {output}."
    search = getattr(estimator, "weight_search_", None)
    if search is not None:
        told += f" After {len(search.trials)} trials its weight of recourse is {search.weight:.3g}."
    if "oob_score" in summary:
        told += (
            f" On people whom the trees had not seen: accuracy {share(summary['oob_score'])}, "
            f"{share(summary['oob_recourse_ratio'])} accepted or with a plan within the budget."
        )
    elif "recourse_risk" in summary:
        told += f" Of them {share(summary['recourse_risk'])} are without recourse."
    guarantee = getattr(estimator, "guarantee_", None)
    return told if guarantee is None else f"{told} {guarantee}"

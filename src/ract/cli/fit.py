"""``ract fit``: from a table and an action file to a model file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ract.cli import options

FORESTS_ONLY = ("n_estimators", "oob_score", "n_jobs", "verbose")
TREES_ONLY = ("confidence",)


@dataclass(frozen=True)
class Parameters:
    """Parameters of the estimators."""

    n_estimators: options.NEstimators = 100
    budget: options.Budget = 0.3
    recourse_weight: Annotated[
        str,
        typer.Option(
            help="Weight of recourse against accuracy; 0 is a plain model, auto finds the weight "
            "that --min-recourse or --max-auc-loss needs."
        ),
    ] = "0.1"
    min_recourse: Annotated[
        float | None,
        typer.Option(help="With auto: share of people who must have recourse; 0.95 by default."),
    ] = None
    max_auc_loss: Annotated[
        float | None, typer.Option(help="With auto: the most recourse at this loss of AUC.")
    ] = None
    cost: Annotated[
        str,
        typer.Option(help="Measure of effort: percentile, kernel-percentile, range, std or mad."),
    ] = "percentile"
    exact_costs: options.ExactCosts = False
    criterion: Annotated[str, typer.Option(help="gini, entropy or error.")] = "gini"
    max_depth: Annotated[
        int | None, typer.Option(help="Largest depth of a tree; no limit by default.")
    ] = None
    min_samples_leaf: Annotated[
        int | None, typer.Option(help="People in a leaf; by default 5 for forests, 1 for trees.")
    ] = None
    max_risk: Annotated[
        float | None,
        typer.Option(help="Relabel leaves until at most this share is without recourse."),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            help="With --max-risk and --model tree: confidence that it holds for the population."
        ),
    ] = None
    oob_score: Annotated[
        bool, typer.Option(help="Measure a forest on people whom its trees have not seen.")
    ] = True
    random_state: options.RandomState = 0
    n_jobs: options.NJobs = -1


def fit(
    table: options.TrainingData,
    output: options.ModelOutput,
    *,
    actions: options.Actions = None,
    model: options.ModelKind = "forest",
    parameters: Parameters,
    json: options.Json = False,
    csv: options.Csv,
) -> None:
    """Train a model and write it to a model file.

    Example: ract fit data.csv --target Risk --desired Good --actions actions.toml -o model.ract
    """
    from ract._fingerprint import data_fingerprint
    from ract.cli.columns import training_set
    from ract.cli.inputs import open_actions
    from ract.cli.messages import print_summary, say_if_unrestricted
    from ract.persist import save_model

    space = open_actions(actions)
    given = asdict(parameters) | {"recourse_weight": _weight(parameters.recourse_weight)}
    estimator = estimator_for(model, actions=space, verbose=1, **given)
    X, y, label = training_set(table, csv, space)
    estimator.set_params(desired=label).fit(X, y.to_numpy())
    say_if_unrestricted(estimator.encoder_.space)
    summary = {
        "model": model,
        "people": len(X),
        "features": len(X.columns),
        "target": table.target,
        "desired": str(estimator.desired_),
        "desired_share": float((y == estimator.desired_).mean()),
        "data": data_fingerprint(X),
        **_measured(estimator),
    }
    save_model(estimator, output, summary=summary)
    sentence = _sentence(summary, output, estimator)
    print_summary(summary | {"file": str(output)}, sentence, as_json=json)


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


def _measured(estimator: Any) -> dict[str, float]:
    """What fitting measured, where it did."""
    names = ("oob_score_", "oob_recourse_ratio_", "recourse_risk_", "recourse_weight_")
    values = {name.rstrip("_"): float(getattr(estimator, name, "nan")) for name in names}
    return {name: value for name, value in values.items() if value == value}


def _sentence(summary: dict[str, Any], output: Path, estimator: Any) -> str:
    from ract.cli.messages import share

    text = f"Trained a {summary['model']} on {summary['people']} people; it is in {output}."
    search = getattr(estimator, "weight_search_", None)
    if search is not None:
        text += f" After {len(search.trials)} trials its weight of recourse is {search.weight:.3g}."
    if "oob_score" in summary:
        text += (
            f" On people whom the trees had not seen: accuracy {share(summary['oob_score'])}, "
            f"{share(summary['oob_recourse_ratio'])} accepted or with a plan within the budget."
        )
    elif "recourse_risk" in summary:
        text += f" Of them {share(summary['recourse_risk'])} are without recourse."
    guarantee = getattr(estimator, "guarantee_", None)
    return text if guarantee is None else f"{text} {guarantee}"

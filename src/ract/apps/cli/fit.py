"""``ract fit``: from a table and an action file to a model file."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ract._utils.files import check_target
from ract.apps.cli import options
from ract.apps.cli.inputs import cost_named, format_of, open_actions, open_ledger
from ract.apps.cli.messages import BadInput, percent, print_summary, say, say_if_unrestricted

MOST_PROTECTED = 0.05  # of the refused may have a protected attribute as a principal reason
# Of leaves with labels, which boosters do not have; and the value that asks for nothing.
LABELS_ONLY = {
    "criterion": "gini",
    "min_leaf_share": None,
    "max_depth": None,
    "min_recourse": None,
    "confidence": None,
}


@dataclass(frozen=True)
class Parameters:
    """Parameters of the estimators."""

    n_estimators: int = 100
    budget: float | None = None
    recourse_weight: str | None = None
    min_recourse: float | None = None
    max_auc_loss: float | None = None
    lasting: float | None = None
    keep_reference: bool = False
    cost: str = "percentile"
    exact_costs: bool = False
    criterion: str = "gini"
    max_depth: int | None = None
    min_samples_leaf: int | None = None
    min_leaf_share: float | None = None
    threshold: float | None = None
    approval_rate: float | None = None
    max_bad_rate: float | None = None
    class_weight: str | None = None
    confidence: float | None = None
    oob_score: bool = True
    random_state: int = 0
    n_jobs: int = -1


def fit_model(
    table: options.TrainingData,
    output: Path,
    *,
    actions: Path | None = None,
    model: str | None = None,
    parameters: Parameters,
    weights: str | None = None,
    monotone: list[str] | None = None,
    promises: str | None = None,
    promises_share: float = 1.0,
    keep_judge: bool = False,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Train a model and write it to a model file.

    Example: ract fit data.csv --target Risk --desired Good --actions actions.toml -o model.ract
    """
    from ract import OutcomeJudge
    from ract.apps.cli.tables import training_of
    from ract.io import save_model
    from ract.models.table import MOST_ROWS
    from ract.models.tuned import TunedRecourseClassifierCV

    check_target(output)
    owed = _open_promises(promises, promises_share)
    space, kept = open_actions(actions)
    form = format_of(csv, kept)
    given = asdict(parameters) | {
        "recourse_weight": _weight(parameters.recourse_weight),
        "monotonic": _directions(monotone or []),
        "cost": cost_named(parameters.cost, exact=parameters.exact_costs),
    }
    model = model or _kind_for(given, space)
    if given["lasting"] is None:
        given["lasting"] = 0.0 if model == "boosting" else 0.9
    given["lasting"] = given["lasting"] or None
    goal = _goal(given, parameters)
    estimator = estimator_for(model, actions=space, verbose=1, **given)
    people = training_of(table, form, space, weights)
    if people.is_stored and (promises is not None or keep_judge):
        option = "--keep-judge" if promises is None else "--promises"
        raise BadInput(
            f"{option} needs the whole table in memory, but {table.data} is read in batches; take "
            "a sample of it."
        )
    balance = _class_weight(parameters.class_weight, sorted(people.counts, key=str))
    estimator.set_params(desired=people.desired, class_weight=balance)
    found, search = None, None
    if goal is not None:
        estimator = TunedRecourseClassifierCV(estimator, **goal)
    with people.lines:
        if owed is None:
            estimator.fit(people.X, people.y, people.weights)
        else:
            from ract.apps.ledger import refit

            how: dict[str, Any] = {"share": promises_share, "random_state": parameters.random_state}
            found = refit(estimator, people.X, people.y, owed, sample_weight=people.weights, **how)
            estimator = found.model
    if isinstance(estimator, TunedRecourseClassifierCV):
        search, estimator = estimator.weight_search_, estimator.estimator_
    say_if_unrestricted(estimator.encoder_.space)
    summary = {
        "model": model,
        "people": people.counts.total(),
        "features": people.n_features,
        "target": table.target,
        "desired": str(estimator.desired_),
        "desired_share": people.counts[people.desired] / people.counts.total(),
        **({} if people.data is None else {"data": people.data}),
        **_performance(estimator, people),
        **_measured(estimator),
        **_lasting(estimator),
        **({} if found is None else _kept(found)),
    }
    judge = None
    if keep_judge:
        judge = OutcomeJudge(
            estimator.encoder_.space, desired=people.desired, n_jobs=parameters.n_jobs, verbose=1
        ).fit(people.X, people.y)
    reference = people.evenly_spaced(MOST_ROWS) if parameters.keep_reference else None
    save_model(
        estimator, output, summary=summary, judge=judge, table=form, keep_reference=reference
    )
    if not people.is_stored:
        _warn_of_protected(estimator, people.X, parameters.n_jobs)
    sentence = _sentence(summary, output, estimator, search)
    if found is not None:
        sentence += f"\n{found}"
    print_summary(summary | {"file": str(output)}, sentence, as_json=json)


def _kind_for(given: dict[str, Any], space: Any) -> str:
    """The kind of model where none is named: that whose plans can be sent most often."""
    asks_for_labels = any(given[name] != nothing for name, nothing in LABELS_ONLY.items())
    is_limited = space is not None and space.is_limited
    return "boosting" if is_limited and not asks_for_labels else "forest"


def _warn_of_protected(estimator: Any, X: Any, n_jobs: int) -> None:
    """Say where a protected attribute is a principal reason for many of the refused."""
    from ract.recourse.reasons.find import protected_reasons

    for name, part in protected_reasons(estimator, X, n_jobs=n_jobs).items():
        if part > MOST_PROTECTED:
            say(
                f"Warning: {name!r} looks like a protected attribute and is a principal reason for "
                f"{percent(part)} of the refused, which notices must disclose; use = false in its "
                "table of the action file keeps it out of the model."
            )


def _open_promises(where: str | None, share: float) -> list[Any] | None:
    """What a ledger says is owed, read before any work is done; None if nobody asked for it."""
    if where is None:
        if share != 1:
            raise BadInput("--promises-share is a share of promises; say which with --promises.")
        return None
    if "://" not in where and not Path(where).exists():
        raise BadInput(f"There is no ledger in {where}; ract promises offer makes one.")
    with open_ledger(where) as book:
        return list(book.open())


def _kept(found: Any) -> dict[str, Any]:
    """What became of promises, and what it costs where that was measured."""
    counts = {
        "promises": found.check.n_promises,
        "promises_kept": int(found.check.kept.sum()),
        "promises_kept_without": int(found.plain.kept.sum()),
        "exceptions": found.n_exceptions,
    }
    aucs = {"auc": found.auc, "auc_without_promises": found.plain_auc}
    return counts | {name: value for name, value in aucs.items() if value == value}


def _weight(text: str | None) -> float | str | None:
    if text in (None, "auto"):
        return text
    try:
        return float(text)
    except ValueError:
        raise BadInput(f"--recourse-weight must be a number or auto, got {text!r}.") from None


def _goal(given: dict[str, Any], parameters: Parameters) -> dict[str, Any] | None:
    """The goal of a weight that is searched for, taken out of what the estimator is given."""
    if given["recourse_weight"] != "auto":
        if parameters.max_auc_loss is not None:
            raise BadInput("--max-auc-loss is a goal of --recourse-weight auto.")
        return None
    goal = {"min_recourse": given["min_recourse"], "max_auc_loss": parameters.max_auc_loss}
    given |= {"recourse_weight": None, "min_recourse": None}
    return goal


def _directions(given: list[str]) -> dict[str, int] | None:
    """Features that may only help or only harm."""
    directions = {}
    for text in given:
        name, _, way = text.rpartition("=")
        if not name or way not in ("+1", "1", "-1"):
            raise BadInput(f"--monotone takes such as Income=+1 or Debt=-1, got {text!r}.")
        directions[name] = int(way)
    return directions or None


def _class_weight(given: str | None, classes: list[Any]) -> Any:
    """Weights by class, or "balanced"."""
    if given in (None, "balanced"):
        return given
    labels = {str(label): label for label in classes}
    weights = {}
    for part in given.split(","):
        name, _, weight = part.strip().rpartition("=")
        try:
            weights[labels[name]] = float(weight)
        except (KeyError, ValueError):
            raise BadInput(
                f"--class-weight must be balanced or weights such as '{classes[0]}=2', got "
                f"{given!r}."
            ) from None
    return weights


def estimator_for(model: str, **given: Any) -> Any:
    """A forest, tree or booster that is yet to be fitted, with those of the options that it has."""
    from ract import RecourseBoostingClassifier, RecourseForestClassifier, RecourseTreeClassifier

    kinds: dict[str, Any] = {
        "forest": RecourseForestClassifier,
        "tree": RecourseTreeClassifier,
        "boosting": RecourseBoostingClassifier,
    }
    if model not in kinds:
        raise BadInput(f"--model must be forest, tree or boosting, got {model!r}.")
    if model == "boosting":
        given["max_iter"] = given.pop("n_estimators")
    known = kinds[model]().get_params(deep=False)
    for name, nothing in LABELS_ONLY.items():
        if name not in known and given.get(name, nothing) != nothing:
            allowed = "forest or tree, not for boosting"
            if model == "forest":
                allowed = "tree; forests are certified afterwards"
            raise BadInput(f"--{name.replace('_', '-')} is for --model {allowed}.")
    parameters = {k: value for k, value in given.items() if k in known and value is not None}
    return kinds[model](**parameters)


def _performance(estimator: Any, people: Any) -> dict[str, Any]:
    """AUC, accuracy and rates: of people held out, or of training people if there are too few."""
    from ract.models.performance import Performance, held_out_performance
    from ract.models.table import FEW_ROWS

    if people.is_stored:
        rows = people.evenly_spaced(FEW_ROWS, with_target=True)
        found = Performance.of(estimator, rows.drop(columns=people.y), rows[people.y])
    else:
        table = people.X, people.y, people.weights
        found = held_out_performance(estimator, *table) or Performance.of(estimator, *table)
    known = found.to_dict()
    measured_on = "held-out people" if known.pop("held_out") else "training people"
    return known | {"measured_on": measured_on}


def _measured(estimator: Any) -> dict[str, float]:
    """What fitting measured, where it did."""
    names = ("oob_score_", "oob_recourse_ratio_", "recourse_risk_", "recourse_weight_")
    values = {name.rstrip("_"): float(getattr(estimator, name, "nan")) for name in names}
    return {name: value for name, value in values.items() if value == value}


def _lasting(estimator: Any) -> dict[str, Any]:
    """The promise that plans last, where there is one."""
    curve = getattr(estimator, "lasting_", None)
    if curve is None or (strength := curve.strength_for(curve.lasting)) is None:
        return {}
    return {"lasting": curve.lasting, "strength": strength}


def _figures(summary: dict[str, Any]) -> str:
    """How the model does, in one sentence."""
    names = {
        "accuracy": "accuracy",
        "approval_rate": "approval rate",
        "bad_rate": "bad rate of the accepted",
        "base_rate": "desired among all",
    }
    said = [f"AUC {summary['auc']:.3f}"] if "auc" in summary else []
    said += [f"{name} {percent(summary[key])}" for key, name in names.items() if key in summary]
    return f"On {summary['measured_on']}: {', '.join(said)}."


def _sentence(summary: dict[str, Any], output: Path, estimator: Any, search: Any) -> str:

    what = "boosting model" if summary["model"] == "boosting" else summary["model"]
    text = f"Trained a {what} on {summary['people']} people; it is in {output}."
    if search is not None:
        text += f" After {len(search.trials)} trials its weight of recourse is {search.weight:.3g}"
        text += "." if search.floor is None else f", its least leaf share {search.floor:g}."
    if "oob_score" in summary:
        text += (
            f" On people whom the trees had not seen: accuracy {percent(summary['oob_score'])}, "
            f"{percent(summary['oob_recourse_ratio'])} accepted or with a plan within the budget."
        )
    elif "recourse_risk" in summary:
        text += f" Of them {percent(summary['recourse_risk'])} are without recourse."
    text += " " + _figures(summary)
    if hasattr(estimator, "lasting_"):
        text += " " + str(estimator.lasting_).replace("\n", " ")
    guarantee = getattr(estimator, "guarantee_", None)
    return text if guarantee is None else f"{text} {guarantee}"

"""``ract reasons``: why people were refused, as a table, and how consistent the reasons are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans
from ract.apps.cli.messages import BadInput, print_summary, refuse_both


@dataclass(frozen=True)
class ReasonOptions:
    """Which reasons are given; parameters of ``ract.find_reasons``."""

    against: str = "margin"
    max_reasons: int = 4
    budget: float | None = None
    time_limit: float = 10.0
    n_jobs: int = -1
    strict: bool = False


def explain_refusals(
    model: Path,
    people: str,
    *,
    reference: str | None = None,
    output: str = "-",
    report: str | None = None,
    groups: str | None = None,
    replicates: int = 0,
    search: ReasonOptions,
    id: str | None = None,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Say why people were refused, and whether changing the feature helps.

    The table has one row per reason, the most important first (one row without a reason for people
    who are accepted).

    Example: ract reasons model.ract people.csv --reference training.csv -o reasons.csv
    """
    from ract.apps.cli.outputs import form_of, write_table
    from ract.apps.cli.tables import held_out, model_columns, refuse_invalid, require_column
    from ract.data.csv import naming_lines, read_whole, text_features
    from ract.evaluation.reasons_report import reasons_stability, report_of

    refuse_both(output, json)
    if report is None and (groups is not None or replicates):
        raise BadInput("--groups and --replicates are for --report, the file to write it to.")
    for wanted in (output, report or output):
        form_of(wanted)
    file, form = open_for_plans(model, csv)
    classifier, target, other = file.model, file.summary.get("target"), None
    if reference is not None:
        other = held_out(reference, form, classifier, target=target)
    if replicates:
        _check_replicates(classifier, other)
    whole = read_whole(people, form, text_features(classifier.encoder_.space))
    if groups is not None:
        require_column(groups, whole, "--groups", people)
    X = model_columns(whole, classifier.encoder_, people, id, form, strict=search.strict)
    given = asdict(search)
    with naming_lines(people, form, whole.index):
        found = classifier.reasons(
            X, reference=None if other is None else other.frame, progress=True, **given
        )
    refuse_invalid(people, len(found), list(found.messages.values()))
    write_table(output, found.to_frame())
    counts = {s: int((found.status == s).sum()) for s in ("accepted", "refused", "invalid")}
    summary: dict[str, Any] = {"people": len(found), **{s: n for s, n in counts.items() if n}}
    sentence = f"{found!r}." + ("" if output == "-" else f" They are in {output}.")
    if report is not None:
        stability = None
        if other is not None and replicates:
            stability = reasons_stability(
                classifier, X, other.frame, other.y, n_replicates=replicates, progress=True, **given
            )
        labels = None if groups is None else whole[groups].to_numpy()
        made = report_of(found, groups=labels, stability=stability, **given)
        write_table(report, made.to_frame())
        summary |= {"with_plan": int(made.people.iloc[0]["with a plan"]), "report": report}
        sentence += f"\n{made}\nThe report is in {report}."
    print_summary(summary, sentence, as_json=json)


def _check_replicates(model: Any, other: Any) -> None:
    """Refuse a model that cannot be fitted again, before reasons are sought."""
    from ract.models.imported import ImportedClassifier

    if isinstance(model, ImportedClassifier):
        raise BadInput("--replicates needs a model of ract's own; this one was imported.")
    if other is None or other.y is None:
        raise BadInput("--replicates needs --reference, the training table with its target.")

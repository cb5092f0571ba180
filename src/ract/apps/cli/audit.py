"""``ract audit``: one page on what a model decides and who has recourse."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from ract.apps.cli import options
from ract.apps.cli.inputs import open_for_plans
from ract.apps.cli.messages import percent, print_summary


def audit_model(
    model: Path,
    people: str,
    output: Path,
    *,
    target: str | None = None,
    groups: str | None = None,
    training: str | None = None,
    bound: options.Bound,
    max_people: int = 5000,
    title: str = "Recourse audit",
    templates: Path | None = None,
    id: str | None = None,
    strict: bool = False,
    json: bool = False,
    csv: options.Csv,
) -> None:
    """Write a page: accuracy, recourse with a bound, groups, costs, people without recourse.

    Example: ract audit model.ract new-people.csv --groups Sex -o report.html
    """
    from ract import OutcomeJudge
    from ract.apps.cli.tables import held_out, training_table
    from ract.evaluation import report
    from ract.evaluation.report.page import open_templates

    open_templates(templates)  # a mistake is said before the search, which may take minutes
    file, form = open_for_plans(model, csv)
    named = file.summary.get("target") if target is None else target
    population = held_out(
        people,
        form,
        file.model,
        target=named,
        is_required=target is not None,
        groups=groups,
        id=id,
        strict=strict,
    )
    table = training_table(file, population, training, form, named)
    judge = file.judge
    if judge is None and training is not None and table is not None and table.y is not None:
        judge = OutcomeJudge(
            file.model.encoder_.space, desired=file.model.desired_, n_jobs=bound.n_jobs, verbose=1
        ).fit(table.frame, table.y)
    found = report.audit(
        file.model,
        population.frame,
        population.y,
        groups=population.groups,
        training=None if table is None else table.frame,
        judge=judge,
        max_people=max_people,
        title=title,
        progress=True,
        **asdict(bound),
    )
    found.save(output, templates)
    everyone, sent = found.certificate.everyone, found.sendable
    if sent is not None and not len(sent.people):
        sent = None
    summary = {
        "people": found.n_people,
        "sendable": None if sent is None else sent.share,
        "recourse_ratio": 1 - everyone.risk,
        "risk_bound": everyone.risk_bound,
        "confidence": bound.confidence,
        "file": str(output),
    }
    leads = ""
    if sent is not None:
        who = f"{percent(sent.share)} of {len(sent.people)} refused people"
        leads = f"{who} have a plan that can be sent. "
    sentence = (
        f"{leads}{found.n_people} people, {percent(1 - everyone.risk)} accepted or with a plan "
        f"within the budget; the page is {output}."
    )
    if population.n_invalid:
        summary["invalid"] = population.n_invalid
    if found.verdicts is not None:
        of_all = found.verdicts.iloc[0]
        summary |= {
            f"plans_{name}": int(of_all[name]) for name in ("earned", "undecided", "granted")
        }
        sentence += (
            f" Plans of the {of_all['refused']} refused: {of_all['earned']} earned, "
            f"{of_all['undecided']} undecided, {of_all['granted']} granted."
        )
    print_summary(summary, sentence, as_json=json)

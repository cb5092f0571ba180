"""``ract serve --demo``: a loans model, made-up people, and links to see them with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

APPLICANT = "A-17"
N_APPLICANTS, N_CASES, N_TREES = 2000, 60, 50


def prepare(model: Path, ledger: str) -> Callable[[Any, str], None]:
    """Fit the model, and say how to show it once it is served."""
    from ract import OutcomeJudge, RecourseForestClassifier, save_model
    from ract.cli.messages import say
    from ract.datasets import load_loans

    say("Training a model on 2,000 made-up loan applications ...")
    loans = load_loans(N_APPLICANTS)
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=N_TREES, budget=0.3, recourse_weight=0.2, random_state=0,
        keep_reference=True,
    ).fit(loans.frame, loans.target)  # fmt: skip
    judge = OutcomeJudge(loans.actions, desired=loans.desired).fit(loans.frame, loans.target)
    save_model(forest, model, judge=judge)

    def show(settings: Any, address: str) -> None:
        from ract.serve.keys import ROLES
        from ract.serve.service import Service

        service = Service(settings)
        people = load_loans(N_CASES, random_state=1).frame
        rows: list[Any] = people.to_dict("records")
        names = [f"A-{k}" for k in range(1, N_CASES + 1)]
        _swap(service, names, rows)
        cases = service.decide(names, rows, True, "Demo")
        case = next(one["case"] for one in cases if one["person"] == APPLICANT)
        token, _ = service.link(case)
        state = service.state
        keys = [
            (role, state.add_key(role, f"Demo {role}"), "auditor" if role == "auditor" else "desk")
            for role in ROLES
        ]
        service.close()
        say(f"\nThe applicant {APPLICANT}, who was refused, opens\n  {address}/my/{token}")
        say(f"\nOthers open {address}/login and enter a key:")
        for role, key, page in keys:
            say(f"  {role:<12} {key}   ({address}/{page})")
        say("\nAll of it is made up, and gone when you end this with Ctrl-C.\n")

    return show


def _swap(service: Any, names: list[str], rows: list[dict[str, Any]]) -> None:
    """Give the applicant the values of someone who is refused and has several ways."""
    import numpy as np

    from ract.serve.live import Rules

    refused = np.flatnonzero(~service.live.accepted(service.live.frame(rows))).tolist()
    own = names.index(APPLICANT)
    for i in refused:
        found = service.plans([rows[i]], [Rules()], n_alternatives=2)
        if len(found[0].alternatives) == 2 and len(found[0].changes) > 1:
            rows[own], rows[i] = rows[i], rows[own]
            return

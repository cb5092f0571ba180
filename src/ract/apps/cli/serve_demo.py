"""``ract serve --demo``: a loans model, made-up people, and links to see them with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ract._utils.toml import parsed_toml, read_toml
from ract.apps.cli.messages import say

APPLICANT, CREDITOR = "A-17", "Example Bank (made up)"
N_APPLICANTS, N_CASES, N_PROMISED, N_TREES, MAX_CHANGES = 2000, 60, 6, 50, 3

LANGUAGES = ("en", "de", "fr")
# What features and categories of the loans model are called in them.
LABELS, WORDS = read_toml(Path(__file__).with_suffix(".toml"), parsed_toml).values()


def prepare_demo(folder: Path) -> tuple[Path, tuple[Path, ...], Callable[[Any, str], None]]:
    """Fit the model and write its notices' settings; how to show them once they are served."""
    from ract import ActionSpace, OutcomeJudge, RecourseBoostingClassifier, save_model
    from ract.data.datasets import load_loans

    say(f"Training a model on {N_APPLICANTS:,} made-up loan applications ...")
    loans = load_loans(N_APPLICANTS)
    # Whoever is refused becomes older while a promise lasts, and nobody is told what to borrow for.
    other: dict[str, Any] = {"Age": {"drift": 1 / 12}, "Purpose": {"change": "fixed"}}
    features = [replace(feature, **other.get(feature.name, {})) for feature in loans.actions]
    space = ActionSpace(features, loans.desired).within("1 year")
    model = RecourseBoostingClassifier(space, max_iter=N_TREES, lasting=0.8, random_state=0)
    model.fit(loans.frame, loans.target)
    judge = OutcomeJudge(loans.actions, desired=loans.desired).fit(loans.frame, loans.target)
    save_model(model, folder / "loans.ract", judge=judge, keep_reference=loans.frame)
    files = tuple(_settings(model, language, folder) for language in LANGUAGES)
    return folder / "loans.ract", files, _show


def _settings(model: Any, language: str, folder: Path) -> Path:
    """The file of notice settings of a language."""
    from ract.notices import NoticeSettings

    path = folder / f"notice-{language}.toml"
    settings = NoticeSettings.suggest(model, language=language, codes="none")
    features = {}
    for name, text in settings.features.items():
        label = LABELS[name][language]
        codes = {
            way: replace(code, sentence=code.sentence.replace(text.label, label))
            for way, code in text.codes.items()
        }
        features[name] = replace(text, label=label, codes=codes)
    words = {word: meant[language] for word, meant in WORDS.items()}
    details = replace(settings.details, creditor=CREDITOR)
    settings = replace(settings, features=features, words=words, details=details)
    path.write_text(settings.to_toml_text(), encoding="utf-8")
    return path


def _show(settings: Any, address: str) -> None:
    """Decide on made-up people, and print how to see them."""
    from ract.apps.web.keys import ROLES
    from ract.apps.web.service import Service
    from ract.data.datasets import load_loans

    service = Service(settings)
    frame = load_loans(N_CASES, random_state=1).frame
    amounts = ["Income", "Debt", "Savings", "LoanAmount"]
    rows: list[Any] = frame.assign(**frame[amounts].round(-2)).to_dict("records")
    names = [f"A-{k}" for k in range(1, N_CASES + 1)]
    _give_ways(service, rows, names.index(APPLICANT))
    cases = service.decide(names, rows, True, "Demo")
    refused = [one for one in cases if not one.accepted and one.person != APPLICANT]
    people = [str(one.person) for one in refused]
    values = {person: rows[names.index(person)] for person in people}
    # Some people have plans of many changes only: none of these is promised here.
    plans = zip(people, service.plans(list(values.values()), part=1), strict=True)
    few = [person for person, (plan,) in plans if 0 < len(plan.changes) <= MAX_CHANGES]
    chosen = few[:N_PROMISED]
    service.offer(chosen, service.plans([values[person] for person in chosen]), by="Demo")
    applicant = next(one for one in cases if one.person == APPLICANT)
    link, _ = service.link(service.cases.get(str(applicant.case)))
    say(f"\nThe applicant {APPLICANT}, who was refused, opens\n  {link}")
    say(f"\nOthers open {address}/login and enter a key:")
    for role in ROLES:
        say(f"  {role:<12} {service.state.add_key(role, f'Demo {role}', by='Demo')}")
    say("\nAll of it is made up, and gone when you end this with Ctrl-C.\n")
    service.close()


def _give_ways(service: Any, rows: list[Any], applicant: int) -> None:
    """Give the applicant the values of someone who is refused and has several ways."""
    import numpy as np

    refused = np.flatnonzero(~service.live.accepted(rows)).tolist()
    for i in refused:
        (found,) = service.plans([rows[i]], n_alternatives=2)
        plan = found[0]
        if len(plan.alternatives) == 2 and len(plan.changes) > 1:
            rows[applicant], rows[i] = rows[i], rows[applicant]
            return

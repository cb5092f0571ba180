"""Models, plans, reasons and notices of the built-in table, as texts."""

from __future__ import annotations

import json
import pickle
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

from tests.pins.names import (
    HERE,
    MODELS,
    QUIET,
    SEARCHES,
    ActionSpace,
    Notices,
    NoticeSettings,
    RecourseTreeClassifier,
    __version__,
    along_reasons,
    data_fingerprint,
    export_text,
    few_changes,
    find_recourse,
    load_judge,
    load_loans,
    load_model,
    model_fingerprint,
    recourse_status,
)

N_SEARCHED = 12  # people whose plans are compared under each option


def table(name: str) -> pd.DataFrame:
    """A table that 0.2 wrote, people with their keys; or one that is made again."""
    if name == "many":
        made = load_loans(1500)
        return made.frame.assign(Decision=made.target)
    read = pd.read_csv(HERE / f"{name}.csv")
    return read.set_index("Applicant") if "Applicant" in read else read


def people() -> pd.DataFrame:
    """The forty who ask."""
    return table("people").drop(columns="Decision")


def asked_of(name: str) -> pd.DataFrame:
    """The people whom a model decides on: with holes for one that knows missing values."""
    return table("people-holes").drop(columns="Decision") if "missing" in name else people()


def fitted(name: str) -> object:
    """A model, trained again."""
    kind, source, parameters = MODELS[name]
    declared = ActionSpace.from_toml(HERE / ("holes.toml" if source == "holes" else "actions.toml"))
    space = ActionSpace(declared.features, declared.desired, limits=None)  # as files of 0.2 meant
    rows = table(source)
    target = rows.pop("Decision")
    threads = {} if kind is RecourseTreeClassifier else {"n_jobs": 1}
    return kind(space, random_state=0, **threads, **parameters).fit(rows, target)


@cache
def opened(name: str) -> object:
    """The model of a file that 0.2 wrote."""
    return load_model(HERE / "models" / f"{name}.ract")


def as_text(value: object) -> str:
    """JSON in which floats stand to the last bit."""
    return json.dumps(value, indent=1, default=_plain, ensure_ascii=False) + "\n"


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else value.item()


def near(values: Iterable[float], digits: int = 12) -> list[float]:
    """Numbers that come through a logarithm or an exponential, which libraries round as they do."""
    return [float(f"{value:.{digits}g}") for value in np.ravel(values).tolist()]


def refused(model: object, rows: pd.DataFrame, n: int) -> pd.DataFrame:
    """The first people who do not get the desired class."""
    return rows[model.predict(rows) != model.desired_].head(n)


def plan_record(plan: object) -> dict[str, object]:
    """One person's plan: numbers, and words."""
    record = {"person": plan.person, "status": plan.status, "cost": plan.cost, "bound": plan.bound}
    record |= {"strength": plan.strength, "lasting": plan.lasting, "at_least": plan.at_least}
    record["changes"] = [
        [c.feature, c.before, c.after, c.effort, c.low, c.high, c.by_itself, c.supplied]
        for c in plan.changes
    ]
    record["text"] = plan.describe()
    if plan.alternatives:
        record["alternatives"] = [[p.status, p.cost, p.describe()] for p in plan.alternatives]
    return record


def plans_record(found: object) -> dict[str, object]:
    """A result: its summary and each plan."""
    return {
        "summary": dict(found.summary()),
        "plans": [plan_record(found[i]) for i in range(len(found))],
    }


def reasons_record(found: object) -> dict[str, object]:
    """Reasons: values and words of each person."""
    each = [found[i].describe() for i in range(len(found))]
    score, values = near(found.score), [near(row, 9) for row in found.values]
    return {"base": near([found.base]), "score": score, "values": values, "text": each}


def decisions_record(model: object, rows: pd.DataFrame) -> dict[str, object]:
    """What a model decides, and by which score."""
    record = {"predict": model.predict(rows), "probability": near(model.predict_proba(rows)[:, 0])}
    if hasattr(model, "probability_ensemble_"):
        ahead = model.decision_function(rows)
        record["score"] = ahead if model.classes_[1] == model.desired_ else -ahead
    return record


def model_pin(name: str, _: Path) -> str:
    """A model that is trained again, and what it found out about itself."""
    model = fitted(name)
    record = {"fingerprint": model_fingerprint(model), "in file": model_fingerprint(opened(name))}
    for found in ("recourse_weight_", "oob_score_", "oob_recourse_ratio_", "min_leaf_share_"):
        if hasattr(model, found):
            record[found] = getattr(model, found)
    record["importances"] = near(model.feature_importances_)
    record["guarantee"] = str(getattr(model, "guarantee_", None))
    record["lasting"] = str(getattr(model, "lasting_", None))
    record["risk"] = model.recourse_risk(asked_of(name))
    return as_text(record | decisions_record(model, asked_of(name)))


def file_pin(name: str, _: Path) -> str:
    """A model file of 0.2: its decisions, who has recourse, and plans."""
    model, rows = opened(name), asked_of(name)
    record = {"fingerprint": model_fingerprint(model), **decisions_record(model, rows)}
    record["has recourse"] = recourse_status(model, rows, **QUIET)
    record |= plans_record(model.recourse(refused(model, rows, N_SEARCHED), **QUIET))
    return as_text(record)


def pickle_pin(name: str, _: Path) -> str:
    """A pickle of 0.2."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"ract\..* is now ract", FutureWarning)
        read = pickle.loads((HERE / "pickles" / f"{name}.pickle").read_bytes())
    if name == "actions":
        return read.to_toml_text()
    record = {"fingerprint": model_fingerprint(read)}
    return as_text(record | decisions_record(read, asked_of(name)))


def search_pin(option: str, _: Path) -> str:
    """Plans of a forest under an option of the search."""
    model = opened("forest")
    asked = refused(model, people(), N_SEARCHED)
    given = {**QUIET, **SEARCHES[option]}
    if rules := given.pop("rules", None):
        given["actions"] = model.encoder_.space.with_rules(*rules)
    if restriction := given.pop("restricted", None):
        given["actions"] = model.encoder_.space.restricted(**restriction)
    return as_text(plans_record(find_recourse(model, asked, **given)))


def two_models_pin(_: Path) -> str:
    """Plans that two models accept."""
    models = [opened("forest"), opened("boosting")]
    return as_text(plans_record(find_recourse(models, people().head(25), **QUIET)))


def reasons_pin(name: str, _: Path) -> str:
    """Why people were refused, against the people that a model has kept or a table."""
    model, rows = opened(name), asked_of(name)
    kept = getattr(model, "reference_", None) is not None
    source = MODELS[name][1]
    given = {} if kept else {"reference": table(source).drop(columns="Decision")}
    return as_text(reasons_record(model.reasons(refused(model, rows, 8), **given, **QUIET)))


def judge_pin(_: Path) -> str:
    """A judge that a model file of 0.2 has kept, to eight digits."""
    model, judge = opened("judged"), load_judge(HERE / "models" / "judged.ract")
    found = model.recourse(people(), **QUIET)
    verdicts = judge.judged(found).summary().iloc[0].to_dict()
    for name in ("undesired", "beyond the bar"):
        verdicts[name] = near([verdicts[name]], 8)
    return as_text({"bar": near([judge.bar(0.6)], 8), "verdicts": verdicts})


def text_pin(name: str, _: Path) -> str:
    """A tree in words."""
    return export_text(opened(name)) + "\n"


def notice_pin(language: str, name: str, _: Path) -> str:
    """Notices with reasons, and one without, as text and as data."""
    model, rows = opened(name), asked_of(name)
    settings = NoticeSettings.from_toml(HERE / f"notice-{language}.toml")
    named = replace(settings.details, protected_reasons=("Age",))
    settings = replace(settings, details=named)
    wanted = {"n_alternatives": 2, "ranges": True, "at_least": True, **QUIET}
    asked = refused(model, rows, 3)
    plans = few_changes(model.recourse, asked, **wanted)
    reasons = model.reasons(asked, reference=table("loans").drop(columns="Decision"), **QUIET)
    plans = along_reasons(model.recourse, asked, plans, reasons, **wanted)
    notices = Notices(model, settings, date=date(2021, 3, 14))
    forms = [notices.render(plans[i], reasons[i], form="text") for i in range(len(asked))]
    forms.append(notices.render(plans[0], reasons[0], form="json"))
    forms.append(notices.render(plans[1], form="text"))
    forms.append(visible(notices.render(plans[0], reasons[0], form="html")))
    return "\n=====\n".join(forms).replace(__version__, "<version>") + "\n"


def visible(page: str) -> str:
    """What a reader sees of a page, a line for each element."""
    page = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page)
    lines = (" ".join(line.split()) for line in re.sub(r"<[^>]*>", "\n", page).splitlines())
    return "\n".join(line for line in lines if line)


def suggested_pin(language: str, _: Path) -> str:
    """The file of codes that is proposed for a model."""
    return NoticeSettings.suggest(opened("forest"), language=language).to_toml_text()


def settings_pin(_: Path) -> str:
    """The files of codes and of actions that 0.2 wrote, read and written again."""
    texts = [NoticeSettings.from_toml(HERE / "notice-en.toml").to_toml_text()]
    for name in ("actions", "holes", "proposed"):
        space = ActionSpace.from_toml(HERE / f"{name}.toml")
        texts += [space.to_toml_text(), space.describe().to_csv()]
    return "\n".join(texts)


def loans_pin(_: Path) -> str:
    """The simulated table: the same people from the same seed."""
    prints = {f"{n} of {seed}": data_fingerprint(load_loans(n, random_state=seed).frame)
              for n, seed in ((400, 0), (1000, 7))}  # fmt: skip
    targets = load_loans(400).target.value_counts().to_dict()
    return as_text({"people": prints, "decisions": targets})

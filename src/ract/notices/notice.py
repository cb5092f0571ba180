"""The notice of one person: from plans and reasons to a page, a text or data."""

from __future__ import annotations

import datetime
import math
import textwrap
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

from markupsafe import Markup

from ract._utils.errors import InvalidSpec, listing
from ract._utils.status import Status
from ract._utils.templates import Templates
from ract._utils.validation import check_value, is_missing, is_number, one_of
from ract.data.actions.names import past_by_name, protected_feature
from ract.notices.language import BUILT_IN, Language, single_line
from ract.notices.record import notice_record
from ract.notices.settings import Code, NoticeSettings
from ract.notices.ways import asked_of, is_safe, only_change, ways_of
from ract.recourse.few_changes import against
from ract.recourse.plan import Change, Obstacle, Plan
from ract.recourse.reasons.person import PersonReasons, Reason
from ract.trees.fingerprint import model_fingerprint
from ract.trees.readers.model import FittedTrees, used_features

Form = Literal["html", "text", "json"]
FORMS: tuple[Form, ...] = get_args(Form)
MONTH = 365.25 / 12  # days

WIDTH = 78


class Notices:
    """Writes the notices of a model's decisions.

    Parameters
    ----------
    model : fitted classifier of ract, or imported model
    settings : NoticeSettings, optional
        Codes and sentences of reasons, labels, and what the lender fills in.
    language : str, optional
        Such as "en", "de" or "fr-CH"; by default that of the settings.
    templates : path, optional
        Folder of Jinja2 templates that replace ours by name.
    date : date, optional
        Of the decision; by default today.

    Raises
    ------
    InvalidSpec
        If settings and model do not fit, or a template has a mistake.

    Examples
    --------
    >>> from ract.models.examples import loans_forest
    >>> from ract.notices import Details
    >>> model, loans = loans_forest()
    >>> plans = model.recourse(loans.frame.head(20), budget=1)
    >>> details = Details("Alpha Bank", "1 Main Street", contact="555 0100")
    >>> settings = NoticeSettings.suggest(model, language="de", details=details)
    >>> print(Notices(model, settings).render(plans[2], form="text").splitlines()[5])
    ENTSCHEIDUNG ÜBER IHREN ANTRAG
    """

    def __init__(
        self,
        model: FittedTrees,
        settings: NoticeSettings | None = None,
        *,
        language: str | None = None,
        templates: str | Path | None = None,
        date: datetime.date | None = None,
    ) -> None:
        self.model = model
        self.settings = settings or NoticeSettings(language or "en")
        self.language = Language(language or self.settings.language, self.settings.words)
        if self.language.base != Language(self.settings.language).base:
            raise InvalidSpec(
                f"The sentences of the settings are in {self.settings.language!r}, and notices in "
                f"{language!r} need others."
            )
        self.date = date or datetime.date.today()
        self.used = used_features(model)
        self._protected = {f.name: what for f in self.used if (what := protected_feature(f))}
        self._units = {f.name: f.unit for f in self.used if f.unit}
        if settings is not None:
            settings.check(model)
        self._sentences = f"{self.language.base}.jinja"
        self._templates = {}
        for markup in (True, False):
            filters = {"strong": _strong if markup else str, "wrap": _wrapped}
            self._templates[markup] = Templates(
                "ract.notices", templates, markup=markup, more=[self._sentences], filters=filters
            )
        if self.language.base not in BUILT_IN and (
            templates is None or not Path(templates, self._sentences).is_file()
        ):
            raise InvalidSpec(
                f"There are no sentences for the language {self.language.base!r}: built in are "
                f"{listing(BUILT_IN)}, others need a template {self._sentences!r}."
            )

    @cached_property
    def fingerprint(self) -> str:
        """Which model decided."""
        return model_fingerprint(self.model)

    def render(self, plan: Plan, reasons: PersonReasons | None = None, form: Form = "html") -> str:
        """The notice of one person.

        Parameters
        ----------
        plan : Plan
            Of a refused person; its alternatives are on the notice too, up to three plans in all.
        reasons : PersonReasons, optional
            Of the same person; without them the notice says only what can be done.
        form : {"html", "text", "json"}

        Raises
        ------
        InvalidSpec
            If the settings do not say who decided and how to reach them, or a principal reason is
            a protected attribute that they do not allow to be named.
        """
        self.check_sendable(reasons)
        return self.render_values(self.values(plan, reasons), form)

    def check_sendable(self, reasons: PersonReasons | None = None) -> None:
        """Raise an error if contact data is missing or a reason names a protected attribute.

        Every principal reason has to be disclosed, so the lender must have allowed such a reason
        expressly, by ``protected_reasons`` in the settings.
        """
        self.settings.require_contact()
        allowed = self.settings.details.protected_reasons
        if reasons is None:
            return
        for name in (reason.feature for reason in reasons.reasons):
            if name in self._protected and name not in allowed:
                raise InvalidSpec(
                    f"{name!r} is a principal reason of {reasons.person!r} and looks like a "
                    f"protected attribute ({self._protected[name]}); keep it out of the model "
                    f"(use = false), or allow it to be named: protected_reasons = [{name!r}] in "
                    "[notice]."
                )

    def render_values(self, values: dict[str, Any], form: Form = "html") -> str:
        """Render a notice from the result of ``values``."""
        check_value("form", form, one_of(*FORMS))
        if form == "json":
            return self._templates[False].render("notice.json", values)
        layout = {"layout": "notice.html" if form == "html" else "notice.txt"}
        return self._templates[form == "html"].render(self._sentences, values | layout)

    def values(self, plan: Plan, reasons: PersonReasons | None = None) -> dict[str, Any]:
        """Values passed to the templates: texts in the notice's language, and the data."""
        _check_refused(plan, reasons)
        details = self.settings.details
        ways = ways_of(plan, reasons)
        said = [] if reasons is None else self._reasons(reasons, ways)
        obstacle = plan.obstacle
        contrary = dict.fromkeys(name for way in ways for name in against(way, reasons))
        return {
            "supplied": any(change.supplied for way in ways for change in way.changes),
            "language": self.language.tag,
            "date": self.language.date(self.date),
            "person": single_line(plan.person),
            "details": {
                name: single_line(value) if isinstance(value, str) else value
                for name, value in vars(details).items()
            },
            "answers": ", ".join(
                single_line(name) for name in (details.decided_by, details.creditor) if name
            ),
            "contest": self._day_after(details.contest_days),
            "promise": self._day_after(details.promise_days) if ways else "",
            "reasons": said,
            "tied": any(reason["tied"] for reason in said),
            "contrary": self._labels(contrary),
            "plans": [{"changes": [self.change(change) for change in way.changes]} for way in ways],
            "several": any(len(asked_of(way)) > 1 for way in ways),
            # What is only just enough stands beside what is stronger; further ways are folded.
            "open": 2 if any(way.smaller for way in ways) else 1,
            "beyond": _beyond(ways),
            **_lasting(plan, ways),
            **self._time(ways),
            "unknown": plan.status == Status.UNKNOWN.word,
            "held": self._labels(self._holding(obstacle, reasons)),
            "none_free": not any(f.actionable or f.may_supply for f in self.used),
            "barred": self._labels(() if obstacle is None else obstacle.options),
            "dearer": obstacle is not None and math.isfinite(obstacle.budget),
            "used": self._labels([feature.name for feature in self.used]),
            "not_considered": [single_line(thing) for thing in details.not_considered],
            "record": notice_record(self, plan, ways, reasons, said),
        }

    def _time(self, ways: list[Plan]) -> dict[str, Any]:
        """How many months the longest way takes, whether it is to wait, and the days."""
        longest = max(ways, key=lambda way: way.month or 0, default=None)
        if longest is None or not longest.month:
            return {"takes": 0, "waits": False, "ready": "", "over": ""}
        over = 0.0 if longest.until is None or not longest.waits else longest.until
        return {
            "takes": int(longest.month),
            "waits": longest.waits,
            "ready": self._day_after(math.ceil(longest.month * MONTH)),
            "over": self._day_after(math.floor(over * MONTH)),
        }

    def _holding(self, obstacle: Obstacle | None, reasons: PersonReasons | None) -> list[str]:
        """What blocks a person and cannot be asked of them, as far as it was a reason.

        Neither what may change a little, nor what they have not told us, nor what is protected.
        """
        given = () if reasons is None else reasons.reasons
        untold = {reason.feature for reason in given if reason.direction == "missing"}
        free = {f.name for f in self.used if f.actionable or f.may_supply}
        blocking = () if obstacle is None else obstacle.features
        named = [name for name in blocking if name not in {*self._protected, *untold, *free}]
        why = {reason.feature for reason in given}
        return named if reasons is None else [name for name in named if name in why]

    def _labels(self, features: Iterable[str]) -> list[str]:
        return [single_line(self.settings.label(name)) for name in features]

    def _day_after(self, days: int) -> str:
        return self.language.date(self.date + datetime.timedelta(days)) if days else ""

    def _reasons(self, reasons: PersonReasons, ways: Sequence[Plan]) -> list[dict[str, Any]]:
        """The principal reasons, each with a code and a sentence of its own."""
        if not reasons.reasons:
            raise InvalidSpec(
                f"Person {reasons.person!r} has no principal reason: nothing lowered the "
                f"score in comparison with {reasons.against!r}; compare with others."
            )
        shown = []
        among = {reason.feature for reason in reasons.reasons}
        for reason in reasons.reasons:
            direction = reason.direction.replace(" ", "_")
            code = self._code(reason.feature, direction)
            value = self._written(reason.feature, reason.value)
            helps, where = _advice(reason, ways)
            sentence = single_line(code.sentence.replace("{value}", value))
            label = single_line(self.settings.label(reason.feature))
            shown.append(
                {
                    "code": single_line(code.code),
                    "hmda": code.hmda,
                    "sentence": sentence,
                    # A sentence such as "Excessive obligations" does not say whose value follows.
                    "label": "" if label.casefold() in sentence.casefold() else label,
                    "value": value,
                    "missing": reason.direction == "missing",
                    "typical": self._written(reason.feature, reason.typical),
                    "tied": bool(among & set(reason.tied_with)),
                    "helps": helps,
                    "ways": where,
                    "mending": _mending(reason),
                }
            )
        sentences = [reason["sentence"] for reason in shown]
        if len(set(sentences)) < len(sentences):
            (twice, *_) = [text for text in sentences if sentences.count(text) > 1]
            raise InvalidSpec(
                f"Two reasons of {reasons.person!r} have the same sentence, {twice!r}; each needs "
                "its own."
            )
        return shown

    def _code(self, feature: str, direction: str) -> Code:
        text = self.settings.features.get(feature)
        if text is None or direction not in text.codes:
            raise InvalidSpec(f"There is no code for {feature!r} ({direction.replace('_', ' ')}).")
        return text.codes[direction]

    def _written(self, feature: str, value: object, *, exact: bool = False) -> str:
        """A value of a feature, with its unit if it is a number."""
        text = self.language.exact(value) if exact else self.language.value(value)
        unit = self._units.get(feature)
        return self.language.with_unit(text, unit) if unit and is_number(value) else text

    def change(self, change: Change) -> dict[str, str]:
        """One change of a plan, as passed to the templates."""
        name = change.feature
        text = {
            "feature": single_line(self.settings.label(name)),
            "before": self._written(name, change.before),
            **dict.fromkeys(("verb", "low", "high"), ""),
        }
        if change.switch:
            kind = {"kind": "is", "verb": "supply"} if change.supplied else {"kind": "switch"}
            return text | kind | {"goal": self._written(name, change.after)}
        if change.by_itself:
            return text | {"kind": "by itself", "goal": self._written(name, change.after)}
        raises = not is_missing(change.before) and change.after > change.before
        text["verb"] = "supply" if is_missing(change.before) else "raise" if raises else "lower"
        text["goal"] = self._written(name, change.goal, exact=True)
        if change.ends is None:
            return text | {"kind": "exactly"}
        low, high = change.ends
        if low is None or high is None:
            return text | {"kind": "at most" if low is None else "at least"}
        ends = (self._written(name, end, exact=True) for end in (low, high))
        return text | {"kind": "between"} | dict(zip(("low", "high"), ends, strict=True))


def _check_refused(plan: Plan, reasons: PersonReasons | None) -> None:
    """Refuse a notice for someone who is accepted or cannot be read, or with others' reasons."""
    if plan.status == Status.ACCEPTED.word:
        raise InvalidSpec(
            f"Person {plan.person!r} is accepted; a notice is for someone who is refused."
        )
    if plan.status == Status.INVALID.word:
        raise InvalidSpec(f"Person {plan.person!r} cannot be read, and so is not decided on.")
    if reasons is not None and reasons.person != plan.person:
        raise InvalidSpec(
            f"The reasons are those of {reasons.person!r}, and the plan is that of {plan.person!r}."
        )


def _lasting(plan: Plan, ways: list[Plan]) -> dict[str, Any]:
    """In how many of 100 cases ways last; which ways, if not all; which is only just enough."""
    last = [str(k) for k, way in enumerate(ways, 1) if way.lasting is not None]
    smaller = next((k for k, way in enumerate(ways, 1) if way.smaller), 0)
    weaker = any(way.needed is not None and way.strength < way.needed for way in ways)
    return {
        "lasting": str(math.floor(100 * plan.lasting + 1e-9)) if last and plan.lasting else "",
        "lasting_ways": last if 0 < len(last) < len(ways) else [],
        "unsure": weaker and not last,
        "smaller": smaller if len(ways) > 1 and not last else 0,
    }


def _beyond(ways: list[Plan]) -> str:
    """Whether doing more is proved to be fine; "" where there is no range to speak of.

    What is needed of a value that is supplied is said beside it.
    """
    changes = [change for way in ways for change in way.changes if not change.supplied]
    if not any(change.ends is not None for change in changes):
        return ""
    return "more" if all(map(is_safe, ways)) else "stay"


def _mending(reason: Reason) -> str:
    """What changing a feature does: in the words of ``Reason.mending``, or "fixed"; "" unasked."""
    if not reason.changeable:
        return "fixed"
    return str(reason.mending) if reason.asked else ""


def _advice(reason: Reason, ways: Sequence[Plan]) -> tuple[str, list[str]]:
    """What to say about changing a feature, and in which of the ways it is.

    "alone": one way is this change and nothing else; "part" of ways; "not needed" in the ways that
    there are; "past" or "fixed": nobody is asked to change it; "not asked": it would not help, and
    "not enough" if nothing would; "" where there is nothing to say.
    """
    name, mending = reason.feature, _mending(reason)
    if mending == "fixed":
        return "past" if past_by_name(name) and reason.direction != "missing" else "fixed", []
    alone = [str(k) for k, way in enumerate(ways, 1) if only_change(way, name)]
    if alone:
        return "alone", alone[:1]
    features = [{change.feature for change in way.changes} for way in ways]
    part = [str(k) for k, changed in enumerate(features, 1) if name in changed]
    if part:
        return "part", part
    if mending == "not at all":
        return ("not asked" if ways else "not enough"), []
    return ("not needed" if ways else ""), []


def _strong(text: object) -> Markup:
    return Markup("<strong>{}</strong>").format(text)


def _wrapped(text: str, indent: str = "") -> str:
    """Text in lines of a printed page."""
    return textwrap.fill(
        " ".join(text.split()),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )

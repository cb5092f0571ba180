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

from ract._fingerprint import model_fingerprint
from ract._templates import Templates
from ract.errors import InvalidSpec, listing
from ract.notices.language import BUILT_IN, Language, is_missing, is_number, one_line
from ract.notices.plans import against
from ract.notices.record import record_of
from ract.notices.settings import Code, NoticeSettings, used_features
from ract.recourse.plan import Change, Plan, short_decimal
from ract.status import Status

Form = Literal["html", "text", "json"]
FORMS: tuple[Form, ...] = get_args(Form)

MOST_PLANS = 3
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
    >>> from ract.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> plans = model.recourse(loans.frame.head(20), budget=1)
    >>> page = Notices(model, language="de").render(plans[2], form="text")
    >>> print(page.splitlines()[3])
    ENTSCHEIDUNG ÜBER IHREN ANTRAG
    """

    def __init__(
        self,
        model: Any,
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
        if settings is not None:
            settings.check(model)
        self._sentences = f"{self.language.base}.jinja"
        self._templates = {
            markup: Templates(
                "ract.notices", templates, markup=markup, more=[self._sentences],
                filters={"strong": _strong if markup else str, "wrap": _wrapped},
            )
            for markup in (True, False)
        }  # fmt: skip
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

    def render(self, plan: Plan, reasons: Any = None, form: Form = "html") -> str:
        """The notice of one person.

        Parameters
        ----------
        plan : Plan
            Of someone who is refused; its alternatives are on the notice too, three plans at most.
        reasons : PersonReasons, optional
            Of the same person; without them the notice says only what can be done.
        form : {"html", "text", "json"}
        """
        return self.render_values(self.values(plan, reasons), form)

    def render_values(self, values: dict[str, Any], form: Form = "html") -> str:
        """The notice that ``values`` make, which are the same in every form."""
        if form not in FORMS:
            raise InvalidSpec(f"form must be one of {listing(FORMS)}, got {form!r}.")
        if form == "json":
            return self._templates[False].render("notice.json", values)
        layout = {"layout": "notice.html" if form == "html" else "notice.txt"}
        return self._templates[form == "html"].render(self._sentences, values | layout)

    def values(self, plan: Plan, reasons: Any = None) -> dict[str, Any]:
        """What templates are given: texts in the notice's language, and the same as data."""
        _check_refused(plan, reasons)
        details = self.settings.details
        ways = sorted((plan, *plan.alternatives)[:MOST_PLANS], key=_few_changes_first)
        ways = [way for way in ways if way.changes]
        ways = [way for way in ways if not against(way, reasons)] or ways
        ways = _without_needless(ways)
        said = [] if reasons is None else self._reasons(reasons)
        obstacle = plan.obstacle
        promise = self._day_after(details.promise_days) if ways else ""
        return {
            "supplied": any(change.supplied for way in ways for change in way.changes),
            "language": self.language.tag,
            "date": self.language.date(self.date),
            "person": one_line(plan.person),
            "details": {
                name: one_line(value) if isinstance(value, str) else value
                for name, value in vars(details).items()
            },
            "answers": ", ".join(
                one_line(name) for name in (details.decided_by, details.creditor) if name
            ),
            "contest": self._day_after(details.contest_days),
            "promise": promise,
            "reasons": said,
            "tied": any(reason["tied"] for reason in said),
            "contrary": self._labels(dict.fromkeys(
                name for way in ways for name in against(way, reasons)
            )),
            "plans": [
                {"changes": [self.change(change) for change in way.changes]} for way in ways
            ],
            "beyond": _beyond(ways),
            **_lasting(plan, ways),
            "unknown": plan.status == Status.UNKNOWN.word,
            "held": self._labels(() if obstacle is None else obstacle.features),
            "barred": self._labels(() if obstacle is None else obstacle.options),
            "dearer": obstacle is not None and math.isfinite(obstacle.budget),
            "used": self._labels([feature.name for feature in self.used]),
            "not_considered": [one_line(thing) for thing in details.not_considered],
            "record": record_of(self, plan, ways, reasons, said),
        }  # fmt: skip

    def _labels(self, features: Iterable[str]) -> list[str]:
        return [one_line(self.settings.label(name)) for name in features]

    def _day_after(self, days: int) -> str:
        return self.language.date(self.date + datetime.timedelta(days)) if days else ""

    def _reasons(self, reasons: Any) -> list[dict[str, Any]]:
        """The principal reasons, each with a code and a sentence of its own."""
        if not reasons.reasons:
            raise InvalidSpec(
                f"Person {reasons.person!r} has no principal reason: nothing hurt in comparison "
                f"with {reasons.against!r}; compare with others."
            )
        shown = []
        among = {reason.feature for reason in reasons.reasons}
        for reason in reasons.reasons:
            direction = reason.direction.replace(" ", "_")
            code = self._code(reason.feature, direction)
            value = self.language.value(reason.value)
            kind, first, last = self._enough(reason)
            shown.append(
                {
                    "code": one_line(code.code),
                    "hmda": code.hmda,
                    "sentence": one_line(code.sentence.replace("{value}", value)),
                    "value": value,
                    "missing": reason.direction == "missing",
                    "typical": self.language.value(reason.typical),
                    "tied": bool(among & set(reason.tied_with)),
                    "helps": _helps(reason),
                    "kind": kind,
                    "first": first,
                    "last": last,
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

    def _enough(self, reason: Any) -> tuple[str, str, str]:
        """Which values of this feature alone would have been accepted."""
        if not reason.alone or reason.from_value is None:
            return "", "", ""
        if reason.direction == "category" or not is_number(reason.from_value):
            return "to", self.language.value(reason.from_value), ""
        first = self.language.exact(reason.from_value)
        if reason.until is None:
            return "at most" if reason.direction == "too high" else "at least", first, ""
        until = short_decimal(float(reason.until), float(reason.from_value), digits=5)
        if until == float(reason.from_value):
            return "to", first, ""
        return "between", first, self.language.exact(until)

    def change(self, change: Change) -> dict[str, str]:
        """What one change of a plan asks for, as templates take it."""
        text = {
            "feature": one_line(self.settings.label(change.feature)),
            "before": self.language.value(change.before),
            "verb": "", "low": "", "high": "",
        }  # fmt: skip
        if change.switch:
            kind = {"kind": "is", "verb": "supply"} if change.supplied else {"kind": "switch"}
            return text | kind | {"goal": self.language.value(change.after)}
        if change.by_itself:
            return text | {"kind": "by itself", "goal": self.language.value(change.after)}
        raises = not is_missing(change.before) and change.after > change.before
        text["verb"] = "supply" if is_missing(change.before) else "raise" if raises else "lower"
        text["goal"] = self.language.exact(change.goal)
        if change.ends is None:
            return text | {"kind": "exactly"}
        low, high = change.ends
        if low is None or high is None:
            return text | {"kind": "at most" if low is None else "at least"}
        ends = {"low": self.language.exact(low), "high": self.language.exact(high)}
        return text | {"kind": "between"} | ends


def _check_refused(plan: Plan, reasons: Any) -> None:
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


def _few_changes_first(way: Plan) -> tuple[int, float]:
    return sum(not change.by_itself for change in way.changes), way.cost


def _without_needless(ways: Sequence[Plan]) -> list[Plan]:
    """Ways in their order, but none that asks for all of one before it and does not last longer."""
    kept: list[Plan] = []
    for way in ways:
        if not any(
            _asks_for_all(way, other) and (way.lasting or 0.0) <= (other.lasting or 0.0)
            for other in kept
        ):
            kept.append(way)
    return kept


def _asks_for_all(way: Plan, other: Plan) -> bool:
    """Whether who goes a way does all that another one asks for."""
    changes = {change.feature: change for change in way.changes}
    return all(
        needed.feature in changes and _does(changes[needed.feature], needed)
        for needed in other.changes
        if not needed.by_itself
    )


def _does(change: Change, needed: Change) -> bool:
    """Whether a change is as much as another one of the same feature."""
    if needed.switch or change.by_itself:
        return bool(change.after == needed.after)
    if needed.supplied:
        (low, high), (least, most) = (_proved(one) for one in (change, needed))
        return least <= low and high <= most
    own, goal, least = (float(v) for v in (needed.before, change.goal, needed.goal))
    return goal >= least if least > own else goal <= least


def _proved(change: Change) -> tuple[float, float]:
    """The ends of a change's range, infinite where there is none."""
    low, high = change.low, change.high
    return -math.inf if low is None else low, math.inf if high is None else high


def _lasting(plan: Plan, ways: list[Plan]) -> dict[str, Any]:
    """Of 100 cases, in how many ways last; which ways, if not all; or that it is not known."""
    last = [str(k) for k, way in enumerate(ways, 1) if way.lasting is not None]
    weaker = any(way.needed is not None and way.strength < way.needed for way in ways)
    return {
        "lasting": str(math.floor(100 * plan.lasting + 1e-9)) if last and plan.lasting else "",
        "lasting_ways": last if 0 < len(last) < len(ways) else [],
        "unsure": weaker and not last,
    }


def _beyond(ways: list[Plan]) -> str:
    """Whether doing more is proved to be fine; "" where there is no range to speak of.

    What is needed of a value that is handed in is said beside it.
    """
    changes = [change for way in ways for change in way.changes if not change.supplied]
    if not any(change.ends is not None for change in changes):
        return ""
    return "more" if all(way.at_least for way in ways) else "stay"


def _helps(reason: Any) -> str:
    """What changing a feature does: in the words of ``Reason.mending``, or "fixed"; "" unasked."""
    if not reason.changeable:
        return "fixed"
    return str(reason.mending) if reason.asked else ""


def _strong(text: Any) -> Markup:
    return Markup("<strong>{}</strong>").format(text)


def _wrapped(text: str, indent: str = "") -> str:
    """Text in lines of a printed page."""
    return textwrap.fill(
        " ".join(text.split()), WIDTH, initial_indent=indent, subsequent_indent=indent,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip

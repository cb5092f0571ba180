"""What pages show, as plain texts in a language; templates put them into place.

Sentences are those of notices, whose templates (``en.jinja`` and so on) extend a layout of ours.
What pages say beside them stands in ``words``, one file for each language.
"""

from __future__ import annotations

import datetime
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from markupsafe import Markup
from pydantic import ValidationError

from ract._utils.errors import InvalidData
from ract._utils.templates import Templates
from ract._utils.validation import is_missing
from ract.apps.ledger import Case, Limit, Promise
from ract.apps.web.keys import ADMIN, AUDITOR, WORKER
from ract.apps.web.live import LARGEST, Bounds, Live, PersonalRules
from ract.apps.web.service import Service, Ways, token_of
from ract.data.actions import Feature
from ract.data.actions.pace import months_for
from ract.notices.language import BUILT_IN, single_line
from ract.recourse.plan import Change, short_decimal

HERE = Path(__file__).parent
LANGUAGES = (("en", "English"), ("de", "Deutsch"), ("fr", "Français"))
LAYOUTS = ("my.html", "ways.html", "case.html", "desk.html", "auditor.html", "login.html")
STEPS = 100  # of a slider


@cache
def page_words(language: str) -> SimpleNamespace:
    """What pages say in a language."""
    given = tomllib.loads((HERE / "words" / f"{language}.toml").read_text(encoding="utf-8"))
    parts = {name: SimpleNamespace(**v) for name, v in given.items() if isinstance(v, dict)}
    return SimpleNamespace(**given | parts)


@cache
def templates() -> Templates:
    """Ours, and the sentences of notices."""

    def strong(text: object) -> Markup:
        return Markup("<strong>{}</strong>").format(text)

    return Templates(
        "ract.notices", HERE / "templates", more=LAYOUTS, filters={"strong": strong, "wrap": str}
    )


@dataclass(frozen=True)
class View:
    """Pages of one language.

    Parameters
    ----------
    service : Service
    language : str
        One of those that are built in.
    role : str
        Of who asks; "" if that is not known.
    """

    service: Service
    language: str
    role: str = ""

    @property
    def live(self) -> Live:
        """The model that decides."""
        return self.service.live

    @property
    def t(self) -> SimpleNamespace:
        """What pages say."""
        return page_words(self.language)

    @property
    def notices(self) -> Any:
        """Labels, numbers and dates as notices write them."""
        return self.live.notices[self.language]

    def page(self, template: str, /, **values: Any) -> str:
        """A whole page."""
        common = {"t": self.t, "languages": LANGUAGES, "heading": ""}
        common["desk"], common["audit"] = (self.role in (one, ADMIN) for one in (WORKER, AUDITOR))
        common["lang"] = self.notices.language.tag
        common["creditor"] = single_line(self.notices.settings.details.creditor)
        return templates().render(template, common | values)

    @property
    def contact(self) -> str:
        """Whom to ask."""
        details = self.notices.settings.details
        return single_line(details.contact or details.creditor)

    def differences(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
        """What has changed between two times, a line each."""
        return [
            f"{self.label(name)}: {self.value(before.get(name))} → {self.value(after.get(name))}"
            for name in dict.fromkeys((*before, *after))
            if before.get(name) != after.get(name)
        ]

    def label(self, feature: str) -> str:
        """What a feature is called."""
        return single_line(self.notices.settings.label(feature))

    def value(self, value: object) -> str:
        """A value as people read it."""
        return str(self.notices.language.value(value))

    def day(self, at: datetime.datetime) -> str:
        """A day in full."""
        return str(self.notices.language.date(at.date()))

    def limit(self, limit: Limit) -> str:
        """The values of a feature that are promised."""
        words, exact = self.t.limit, self.notices.language.exact
        if limit.missing:
            return str(words.none)
        if limit.category is not None:
            return self.value(limit.category)
        low, high = ("" if end is None else exact(end) for end in (limit.low, limit.high))
        if low == high:
            return str(low or words.any)
        if not (low and high):
            return str((words.at_least if low else words.at_most).format(low or high))
        return str(words.between.format(low, high))

    def line(self, promise: Promise, name: str) -> str:
        """What a promise needs of a feature, in numbers that are short and inside it."""
        limit = promise.region.limits[name]
        if self._is_binary(name) and limit != Limit():
            return f"{self.label(name)}: {self.value((limit.low or 0) > 0)}"
        ends = self._change(promise, name).ends if name in promise.region.asked else None
        limit = _short(limit) if ends is None else Limit(*ends)
        return f"{self.label(name)}: {self.limit(limit)}"

    def missing(self, promise: Promise, values: Mapping[str, Any]) -> list[str]:
        """What values lack, a line each."""
        limits = promise.region.limits.items()
        return [
            self.line(promise, name) for name, limit in limits if not limit.holds(values.get(name))
        ]

    def ways(
        self,
        values: dict[str, Any],
        ways: Ways,
        rules: PersonalRules,
        standing: Iterable[Promise],
        **how: Any,
    ) -> Markup:
        """What someone can do, as a part of a page; ``values`` are those of their notice."""
        promised = {frozenset(promise.region.asked) for promise in standing}
        plans = [ways.plan, *ways.plan.alternatives]
        tokens = {frozenset(c.feature for c in plan.changes): token_of(plan) for plan in plans}
        for shown, plan in zip(values["plans"], values["record"]["plans"], strict=True):
            names = [change["feature"] for change in plan["changes"]]
            is_new = frozenset(names) not in promised
            shown["token"] = tokens[frozenset(names)] if is_new else ""
            for change, name in zip(shown["changes"], names, strict=True):
                change["name"] = name
            shown["timeline"] = self._timeline(plan["changes"])
        limited = bool(rules.locked or rules.bounds)
        given = {"lead": True, "limited": limited, "offer_lead": "", "promise": "", "take": ""}
        return self._part(values | given | how)

    def _timeline(self, changes: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """How many months each change takes, of those of which a pace or a delay says so."""
        known, takes = {feature.name: feature for feature in self.live.space}, {}
        for change in changes:
            feature = known.get(change["feature"])
            if feature is not None and not feature.columns and not is_missing(change["from"]):
                takes[feature.name] = months_for(feature, change["from"], change["to"]) or 0
        longest, t = max(takes.values(), default=0), self.t.applicant
        words = {0: t.at_once, 1: t.one_month}
        return [
            {"label": self.label(name), "months": n, "of": longest}
            | {"text": words.get(n, t.months).format(n)}
            for name, n in takes.items()
            if longest
        ]

    def promise(self, promise: Promise, now: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A promise, with what it asks for as a table, and fields for what someone has now."""
        limits, asked = promise.region.limits, promise.region.asked
        others = [name for name in limits if name not in asked and limits[name] != Limit()]
        changes = [self.notices.change(self._change(promise, name)) for name in asked]
        shown = {"plans": [{"changes": changes}], "lead": False, "may_lock": False, "take": ""}
        return {
            "id": promise.id, "number": promise.id[:6], "until": self.day(promise.expires),
            "status": getattr(self.t.staff, promise.status), "is_open": promise.status == "open",
            "person": promise.person, "table": self._part(shown),
            "asked": [self.line(promise, name) for name in asked],
            "rest": [self.line(promise, name) for name in others],
            "reason": promise.reason or "",
            "fields": [] if now is None else [self._field(promise, name, now) for name in limits],
        }  # fmt: skip

    def _field(self, promise: Promise, name: str, now: Mapping[str, Any]) -> dict[str, Any]:
        """A field for what someone has now of a feature of their promise."""
        value, kind = now.get(name), promised_kind(promise, name)
        if kind == "number":
            value = "" if is_missing(value) or isinstance(value, str) else _typed(value)
        needed = self.line(promise, name).partition(": ")[2]
        field = {"name": name, "label": self.label(name), "kind": kind, "value": value}
        return field | {"then": self.value(promise.before.get(name)), "needed": needed}

    def _change(self, promise: Promise, name: str) -> Change:
        """A change that a promise asks for, as its plan had it."""
        limit, before, after = (
            of[name] for of in (promise.region.limits, promise.before, promise.after)
        )
        switch = limit.category is not None or self._is_binary(name)
        if self._is_binary(name):
            before, after = (None if value is None else bool(value) for value in (before, after))
        low, high = limit.low, limit.high
        if not (switch or before is None or low is None or high is None):
            # the near end in the round number that the way named; the far end as it is promised
            if after > before:
                low = Change(name, before, after, 0.0, low, None).goal
            else:
                high = Change(name, before, after, 0.0, None, high).goal
        return Change(name, before, after, 0.0, low, high, switch=switch, supplied=before is None)

    def _is_binary(self, name: str) -> bool:
        return any(f.name == name and f.kind == "binary" for f in self.live.space)

    def _part(self, values: dict[str, Any]) -> Markup:
        common = {"t": self.t, "layout": "ways.html", "limited": False, "offer_lead": ""}
        return Markup(templates().render(f"{self.language}.jinja", common | values))

    def limits(self, case: Case, rules: PersonalRules) -> list[dict[str, Any]]:
        """What someone may say of what they can do: for each feature a lock and sliders."""
        shown = []
        for feature in self.live.space:
            if not feature.actionable or feature.columns:
                continue
            name = feature.name
            value, given = case.values.get(name), rules.bounds.get(name)
            lock = {"name": name, "label": self.label(name), "locked": name in rules.locked}
            sliders = self._sliders(feature, value, given or Bounds())
            shown.append(lock | {"value": self.value(value), "sliders": sliders})
        return shown

    def _sliders(self, feature: Feature, own: Any, given: Bounds) -> list[dict[str, Any]]:
        if feature.kind not in ("continuous", "integer") or is_missing(own):
            return []
        (lower, upper), t, found = feature.bounds, self.t.applicant, []
        for end, text, moves, first, last, chosen in (
            ("high", t.up_to, feature.may_rise, own, upper, given.upper),
            ("low", t.down_to, feature.may_fall, lower, own, given.lower),
        ):
            if not moves or not 0 < last - first < math.inf:
                continue
            step = 1.0 if feature.kind == "integer" else _nice((last - first) / STEPS)
            least, most = math.floor(first / step) * step, math.ceil(last / step) * step
            if chosen is None:
                chosen = most if end == "high" else least
            value = min(max(chosen, least), most)
            numbers = {"min": least, "max": most, "step": step, "value": value}
            slider = {name: f"{number:.15g}" for name, number in numbers.items()}
            found.append(slider | {"end": end, "text": text, "shown": self.value(value)})
        return found

    def inputs(self, values: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A field for each of a person's values."""
        return [
            self._input(feature, name, values.get(name))
            for feature in self.live.space
            for name in feature.columns or (feature.name,)
        ]

    def _input(self, feature: Feature, name: str, value: Any) -> dict[str, Any]:
        kind, needed = "binary" if feature.columns else feature.kind, feature.missing is None
        known = [*feature.categories, *([None] if value is None or not needed else [])]
        options = [
            {"value": "" if c is None else str(c), "text": self.value(c), "chosen": c == value}
            for c in known
        ]
        if kind not in ("binary", "categorical"):
            value = "" if is_missing(value) else _typed(value)
        field = {"name": name, "kind": kind, "label": self.label(name), "value": value}
        return field | {"needed": needed, "options": options}


def values_from_form(live: Live, form: Mapping[str, str]) -> dict[str, Any]:
    """A person's values from the fields of a form."""
    values: dict[str, Any] = {}
    for feature in live.space:
        for name in feature.columns or (feature.name,):
            text = form.get(f"value:{name}", "")
            if feature.columns:
                values[name] = 1.0 if text else 0.0
            elif feature.kind == "binary":
                values[name] = bool(text)
            elif feature.is_categorical:
                values[name] = {str(c): c for c in feature.categories}.get(text, text or None)
            else:
                values[name] = text or None
    try:
        return live.values.model_validate(values).model_dump(by_alias=True)
    except ValidationError as error:
        faults = [f"{fault['loc'][-1]}: {fault['msg']}" for fault in error.errors()]
        raise InvalidData("; ".join(faults[:5]) + ".") from None


def promised_kind(promise: Promise, name: str) -> str:
    """What kind of value a feature of a promise has, whatever the model of today says."""
    held = [promise.before.get(name), promise.after.get(name), promise.region.limits[name].category]
    if any(isinstance(value, bool) for value in held):
        return "binary"
    return "label" if any(isinstance(value, str) for value in held) else "number"


def promised_values(promise: Promise, form: Mapping[str, str]) -> dict[str, Any]:
    """Values for the features of a promise, from the fields of a form."""
    values: dict[str, Any] = {}
    for name in promise.region.limits:
        text, kind = form.get(f"value:{name}", ""), promised_kind(promise, name)
        values[name] = bool(text) if kind == "binary" else text or None
        if kind == "number" and text:
            try:
                values[name] = float(text)
            except ValueError:
                raise InvalidData(f"{name}: {text[:60]!r} is not a number.") from None
    return values


def rules_from_form(live: Live, form: Mapping[str, list[str]]) -> PersonalRules:
    """What someone says that they can do, from the fields of a form.

    A slider that stands at its end says nothing.
    """
    known = {feature.name: feature for feature in live.space}
    locked = [name for name in dict.fromkeys(form.get("lock", ())) if name in known]
    bounds: dict[str, Bounds] = {}
    for name, feature in known.items():
        ends, (first, last) = {}, feature.bounds
        for end, side in (("low", "lower"), ("high", "upper")):
            with suppress(ValueError):
                value = float(form.get(f"{end}:{name}", [""])[0])
                is_said = value > first if end == "low" else value < last
                if is_said and -LARGEST <= value <= LARGEST:
                    ends[side] = value
        if ends and name not in locked:
            bounds[name] = Bounds(**ends)
    return PersonalRules(locked=locked, bounds=bounds)


def best_language(wanted: str, otherwise: str = "en") -> str:
    """The first of the languages that a browser asks for in which there are pages.

    >>> best_language("it,fr-CH;q=0.9,en;q=0.8"), best_language("")
    ('fr', 'en')
    """
    codes = (part.partition(";")[0].strip().lower()[:2] for part in wanted.split(","))
    return next((code for code in codes if code in BUILT_IN), otherwise)


def _short(limit: Limit) -> Limit:
    """The same with shorter numbers, inside it."""
    low, high = limit.low, limit.high
    if low is not None and low != high:
        far = low + max(abs(low) / 20, 1e-9)
        low = short_decimal(low, far if high is None else min(far, high), digits=4)
    if high is not None and low != high:
        far = high - max(abs(high) / 20, 1e-9)
        high = short_decimal(high, far if low is None else max(far, low), digits=4)
    return limit._replace(low=low, high=high)


def _typed(value: Any) -> str:
    """A number as it is typed, with all its digits: at the edge of a promise each one counts.

    >>> _typed(46500.0), _typed(43603.29443988531)
    ('46500', '43603.29443988531')
    """
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _nice(step: float) -> float:
    """A round number near a step: 1, 2 or 5 times a power of ten.

    >>> _nice(1480.0), _nice(0.3)
    (2000.0, 0.5)
    """
    unit = 10.0 ** math.floor(math.log10(step))
    return next(m * unit for m in (1, 2, 5, 10) if m * unit >= step)

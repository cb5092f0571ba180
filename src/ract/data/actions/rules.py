"""Rules between features: what a plan must keep beyond the limits of each feature.

Every rule is a small object and has a text, which action files hold:

    a weighted sum           Debt <= 0.5 * Income        Rent + Food + Other = 1
    an implication           if Education = Graduate then Age >= 22
    changes that go together if Job changes then Tenure changes
    a forbidden transition   never Job from clerk to manager
    a one-way switch         never Licence from yes

A name or a category with blanks or signs in it stands between back quotes. Rules hold for what
people end at, whatever they start from.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import Label
from ract._utils.validation import as_names, as_python
from ract.data.actions.feature import Feature

# Sums of rounded numbers are not exact: 0.1 + 0.2 <= 0.3 is meant to hold.
ROUNDING = 1e-9

Sign = Literal["changes", "stays", "=", "!=", "<=", ">="]
SIGNS: tuple[str, ...] = get_args(Sign)

_WORD = r"[^\W\d][\w.]*"
_NAME = rf"`(?P<quoted>[^`]+)`|(?P<plain>{_WORD})"
_VALUE = r"`[^`]*`|\S+"
_TERM = re.compile(
    rf"(?P<sign>[+-])?\s*(?:(?P<number>\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)\s*(?P<times>\*)?\s*)?"
    rf"(?:{_NAME})?\s*",
    re.IGNORECASE,
)
_IF = re.compile(r"if\s+(?P<condition>(?:`[^`]*`|[^`])+?)\s+then\s+(?P<consequence>.+)")
_NEVER = re.compile(
    rf"never\s+(?:{_NAME})(?:\s+from\s+(?P<source>{_VALUE}))?(?:\s+to\s+(?P<target>{_VALUE}))?"
)
_CONDITION = re.compile(
    rf"(?:{_NAME})\s*(?:(?P<change>changes|stays)|(?P<sign>==?|!=|<=|>=)\s*(?P<value>{_VALUE}))"
)


@dataclass(frozen=True)
class LinearRelation:
    """A weighted sum of features that must not exceed a number, after the action.

    Parameters
    ----------
    coefficients : dict of str to float
        By the name of the feature, which may be anything but categorical.
    upper : float
    equal : bool
        Whether the sum must equal that number, as a sum of shares equals 1.

    Examples
    --------
    >>> LinearRelation({"Debt": 1.0, "Savings": -0.5}, upper=0.0)
    LinearRelation(coefficients={'Debt': 1.0, 'Savings': -0.5}, upper=0.0, equal=False)
    >>> str(LinearRelation.parse("2*Debt <= Savings + 1000"))
    '2 * Debt - Savings <= 1000'
    """

    coefficients: dict[str, float]
    upper: float
    equal: bool = False

    def __post_init__(self) -> None:
        given = {str(name): _number(c) for name, c in dict(self.coefficients).items()}
        if not given:
            raise InvalidSpec("A relation needs at least one feature, got none.")
        object.__setattr__(self, "coefficients", given)
        object.__setattr__(self, "upper", _number(self.upper))

    def __hash__(self) -> int:
        return hash((*sorted(self.coefficients.items()), self.upper, self.equal))

    def __str__(self) -> str:
        terms = ""
        for name, c in self.coefficients.items():
            sign = (" - " if c < 0 else " + ") if terms else ("-" if c < 0 else "")
            factor = "" if abs(c) == 1 else f"{_digits(abs(c))} * "
            terms += f"{sign}{factor}{_quoted(name)}"
        return f"{terms} {'=' if self.equal else '<='} {_digits(self.upper)}"

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it names."""
        return tuple(self.coefficients)

    @classmethod
    def parse(cls, text: str) -> LinearRelation:
        """Read a relation such as "a <= b", "2*a - b <= 3", "a + b >= 10" or "a + b = 1".

        Write names with blanks or signs in back quotes.

        >>> LinearRelation.parse("`Loan amount` + 0.5 Debt >= 10").coefficients
        {'Loan amount': -1.0, 'Debt': -0.5}
        """
        parts = re.split(r"(<=|>=|==?)", text)
        if len(parts) != 3:
            raise InvalidSpec(
                f"A relation has one <=, one >= or one =, such as 'a <= b'; got {text!r}."
            )
        left, sign, right = parts
        if sign == ">=":
            left, right = right, left
        coefficients: dict[str, float] = {}
        upper = 0.0
        for side, factor in ((left, 1.0), (right, -1.0)):
            for number, name in _terms(side, text):
                if name is None:
                    upper -= factor * number
                else:
                    coefficients[name] = coefficients.get(name, 0.0) + factor * number
        coefficients = {name: c for name, c in coefficients.items() if c}
        return cls(coefficients, upper + 0.0, sign.startswith("="))

    def slack(self, values: Mapping[str, Any]) -> Any:
        """How far the sum stays below ``upper``; negative where the relation fails.

        >>> LinearRelation.parse("a <= b").slack({"a": 1.0, "b": 3.0})
        2.0
        """
        return self.upper - sum(c * values[name] for name, c in self.coefficients.items())

    def holds(self, values: Mapping[str, Any], rounding: float = ROUNDING) -> Any:
        """Whether the relation holds, up to the rounding of sums (1e-9 of their terms).

        Parameters
        ----------
        values : mapping of feature name to number or array
        rounding : float
        """
        size = sum(np.abs(c * values[name]) for name, c in self.coefficients.items())
        slack, room = self.slack(values), rounding * (size + abs(self.upper))
        return (slack >= -room) & (slack <= room) if self.equal else slack >= -room


@dataclass(frozen=True)
class Condition:
    """A condition on one feature after the action.

    Parameters
    ----------
    feature : str
    sign : {"changes", "stays", "=", "!=", "<=", ">="}
    value : number or category, optional
        What the feature is compared with; for categories only with "=" and "!=".

    Examples
    --------
    >>> Condition.parse("Age >= 22")
    Condition(feature='Age', sign='>=', value=22)
    >>> str(Condition("Job", "changes"))
    'Job changes'
    """

    feature: str
    sign: Sign
    value: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", as_python(self.value))
        if self.sign not in SIGNS:
            raise InvalidSpec(f"A condition's sign is one of {listing(SIGNS)}; got {self.sign!r}.")
        if (self.value is None) != (self.sign in ("changes", "stays")):
            raise InvalidSpec(
                f"A condition compares a feature with a value, or says that it changes or stays; "
                f"got {self.sign!r} with {self.value!r}."
            )

    def __str__(self) -> str:
        said = f"{_quoted(self.feature)} {self.sign}"
        return said if self.value is None else f"{said} {_quoted(self.value)}"

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition such as "Age >= 22", "Job = clerk" or "Job changes"."""
        found = _CONDITION.fullmatch(text.strip())
        if found is None:
            raise InvalidSpec(f"Cannot read the condition {text!r}; write 'Age >= 22'.")
        name = found["quoted"] or found["plain"]
        if found["change"]:
            return cls(name, found["change"])  # type: ignore[arg-type]
        sign = "=" if found["sign"] == "==" else found["sign"]
        return cls(name, sign, _value(found["value"]))  # type: ignore[arg-type]


@dataclass(frozen=True)
class IfThen:
    """If one condition holds after the action, another one has to hold too.

    Parameters
    ----------
    condition, consequence : Condition or str

    Examples
    --------
    >>> IfThen("Education = Graduate", "Age >= 22").consequence.value
    22
    >>> str(IfThen(Condition("Job", "changes"), Condition("Tenure", "changes")))
    'if Job changes then Tenure changes'
    """

    condition: Condition
    consequence: Condition

    def __post_init__(self) -> None:
        for name in ("condition", "consequence"):
            given = getattr(self, name)
            if isinstance(given, str):
                object.__setattr__(self, name, Condition.parse(given))
            elif not isinstance(given, Condition):
                raise InvalidSpec(f"The {name} of IfThen is a Condition or text, got {given!r}.")

    def __str__(self) -> str:
        return f"if {self.condition} then {self.consequence}"

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it names."""
        return self.condition.feature, self.consequence.feature


@dataclass(frozen=True)
class NoTransition:
    """A change between categories that nobody can make.

    Parameters
    ----------
    feature : str
        A categorical one.
    source, target : category, optional
        From which to which. Without a target nobody leaves the source (a one-way switch); without
        a source nobody enters the target.

    Examples
    --------
    >>> str(NoTransition("Job", "clerk", "manager")), str(NoTransition("Licence", "yes"))
    ('never Job from clerk to manager', 'never Licence from yes')
    """

    feature: str
    source: Label | None = None
    target: Label | None = None

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            object.__setattr__(self, name, as_python(getattr(self, name)))
        if self.source is None and self.target is None:
            raise InvalidSpec(
                f"A forbidden transition of {self.feature!r} needs a source or a target; declare "
                "the feature fixed where nobody can change it."
            )

    def __str__(self) -> str:
        source = "" if self.source is None else f" from {_quoted(self.source)}"
        target = "" if self.target is None else f" to {_quoted(self.target)}"
        return f"never {_quoted(self.feature)}{source}{target}"

    @property
    def features(self) -> tuple[str, ...]:
        """The features that it names."""
        return (self.feature,)


Rule = LinearRelation | IfThen | NoTransition


def as_rule(given: Rule | str) -> Rule:
    """A rule, as it is or from its text.

    >>> as_rule("never Job from clerk to manager")
    NoTransition(feature='Job', source='clerk', target='manager')
    """
    if isinstance(given, LinearRelation | IfThen | NoTransition):
        return given
    if not isinstance(given, str):
        raise InvalidSpec(
            f"rules takes LinearRelation, IfThen, NoTransition or text such as 'a <= b'; got "
            f"{given!r}."
        )
    text = given.strip()
    if found := _IF.fullmatch(text):
        return IfThen(Condition.parse(found["condition"]), Condition.parse(found["consequence"]))
    if found := _NEVER.fullmatch(text):
        ends = (None if found[end] is None else _value(found[end]) for end in ("source", "target"))
        return NoTransition(found["quoted"] or found["plain"], *ends)
    return LinearRelation.parse(text)


def as_rules(given: Iterable[Rule | str]) -> tuple[Rule, ...]:
    """The rules of an action space."""
    return tuple(map(as_rule, as_names("rules", given)))


def check_rules(rules: Sequence[Rule], features: Sequence[Feature]) -> None:
    """Refuse rules that name what there is not, or that ask of a feature what it cannot have."""
    by_name = {feature.name: feature for feature in features}
    for rule in rules:
        for fault in _faults(rule, by_name):
            raise InvalidSpec(f"The rule '{rule}' {fault}")


def _faults(rule: Rule, by_name: Mapping[str, Feature]) -> Iterator[str]:
    """What is wrong with a rule: ends of sentences that begin with it."""
    for name in rule.features:
        if name not in by_name:
            yield f"names {name!r}; the features are {listing(by_name, 30)}."
        if by_name[name].missing is not None and not isinstance(rule, NoTransition):
            yield f"names {name!r}, of which values are missing."
    if isinstance(rule, LinearRelation):
        for name in rule.features:
            if by_name[name].is_categorical:
                yield f"adds up {name!r}, which is categorical."
    elif isinstance(rule, IfThen):
        for condition in (rule.condition, rule.consequence):
            yield from _faults_of_condition(rule, condition, by_name[condition.feature])
    else:
        feature = by_name[rule.feature]
        if not feature.is_categorical:
            how = "say change = 'increase' or 'decrease' instead"
            yield f"is for categories; {rule.feature!r} is {feature.kind}: {how}."
        for end in (rule.source, rule.target):
            if end is not None:
                position_of(feature, end, rule)


def _faults_of_condition(rule: IfThen, condition: Condition, feature: Feature) -> Iterator[str]:
    sign, value, name = condition.sign, condition.value, feature.name
    if sign in ("changes", "stays"):
        return
    if feature.is_categorical:
        if sign in ("<=", ">="):
            yield f"orders {name!r}, which is categorical; use = or !=."
        position_of(feature, value, rule)
    elif isinstance(value, bool) or not isinstance(value, Real):
        yield f"compares {name!r}, a number, with {value!r}."


def position_of(feature: Feature, category: Label, rule: Rule) -> int:
    """Position of a category, by its value or, failing that, by its text."""
    by_text = [str(known) for known in feature.categories]
    if category in feature.categories:
        return feature.categories.index(category)
    category = str(category)
    if category in by_text:
        return by_text.index(category)
    raise InvalidSpec(
        f"The rule '{rule}' names {category!r}; the categories of {feature.name!r} are "
        f"{listing(feature.categories, 20)}."
    )


def barred_of(rules: Sequence[Rule], feature: Feature) -> tuple[tuple[int, int], ...]:
    """Positions of the categories between which nobody moves, from the first to the second."""
    barred: set[tuple[int, int]] = set()
    for rule in rules:
        if not isinstance(rule, NoTransition) or rule.feature != feature.name:
            continue
        everywhere = range(len(feature.categories))
        sources, targets = (
            everywhere if end is None else [position_of(feature, end, rule)]
            for end in (rule.source, rule.target)
        )
        barred |= {(s, t) for s in sources for t in targets if s != t}
    return tuple(sorted(barred))


def _terms(side: str, text: str) -> list[tuple[float, str | None]]:
    """Factor and name of each term of one side; a plain number has no name."""
    terms: list[tuple[float, str | None]] = []
    side, at = side.strip(), 0
    while at < len(side):
        match = _TERM.match(side, at)
        assert match is not None  # every part of a term may be missing
        name, number = match["quoted"] or match["plain"], match["number"]
        half = name is None and (number is None or match["times"])
        if half or (terms and match["sign"] is None):
            raise InvalidSpec(f"Cannot read {side[at:]!r} in the relation {text!r}.")
        factor = float(number or 1.0)
        terms.append((-factor if match["sign"] == "-" else factor, name))
        at = match.end()
    if not terms:
        raise InvalidSpec(f"The relation {text!r} has nothing on one side.")
    return terms


def _number(value: object) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise InvalidSpec(f"A relation takes finite numbers, got {value!r}.")
    return float(value)


def _value(text: str) -> Any:
    """A number or, between back quotes or where it is none, text."""
    if text.startswith("`"):
        return text[1:-1]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


def _quoted(value: Label) -> str:
    """A name or a value as rules write it."""
    if not isinstance(value, str):
        return str(value)
    return value if re.fullmatch(_WORD, value) and _value(value) == value else f"`{value}`"


def _digits(number: float) -> str:
    return repr(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)

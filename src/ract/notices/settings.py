"""What the lender says in notices: who they are, and the code and sentence of every reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import tomli_w

from ract._utils.errors import InvalidSpec, listing, refuse_unknown
from ract._utils.toml import parsed_toml, read_toml
from ract.data.actions import Feature
from ract.notices.language import SAID_ALIKE, Language, single_line
from ract.notices.standard import LISTS, check_list, reasons_for, spoken
from ract.trees.readers.model import FittedTrees, used_features

RARE = ("protected_reasons", "debt_advice", "data_request")  # fields left out where they are empty
DIRECTIONS = ("too_low", "too_high", "category", "missing")

HEADER = """\
# What notices say. Fill in [notice], and edit labels and sentences until a reader would understand
# them. What is left empty in [notice] is left out.
#   too_low, too_high, category   the reason that a feature is, by what is wrong with its value
#   code, hmda                    your own code, and HMDA's from 1 to 9 (0: none)
#   sentence                      what the person reads; {value} becomes the value that was scored
#   [words]                       what to write for categories, such as  car = "a car"
"""

# What a sentence says of each direction where no list has one.
_PLAIN = {
    "en": ("too low", "too high", "{value}", "not given"),
    "de": ("zu niedrig", "zu hoch", "{value}", "nicht angegeben"),
    "fr": ("trop bas", "trop élevé", "{value}", "non renseigné"),
}
_COLONS = {"fr": " : "}


Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Details:
    """What the lender fills in; what is empty is left out of notices.

    Parameters
    ----------
    creditor, address : str
        Who decided, and where they are.
    decided_by : str
        Which office or person decided; with ``automated``, who is responsible for the decision.
    automated : bool
        Whether a program decided alone.
    contact : str
        How to reach a person who can look at the case again.
    contest_days : int
        Number of days in which the decision can be contested; 0 for no limit.
    not_considered : tuple of str
        What had no part in the decision.
    source : str
        Name and address of an agency whose information was used.
    agency : str
        United States: name and address of the agency that supervises the creditor under the Equal
        Credit Opportunity Act. The notice that this law requires is then added.
    promise_days : int
        Number of days for which the creditor decides by today's criteria; 0 if that is left open.
    protected_reasons : tuple of str
        Protected attributes (age, sex, family, nationality and the like) that may nevertheless be
        named as reasons.
    debt_advice : str
        Where people get advice on their debts.
    data_request : str
        How to ask which personal data were used, and where they come from.
    """

    creditor: str = ""
    address: str = ""
    decided_by: str = ""
    automated: bool = True
    contact: str = ""
    contest_days: int = 0
    not_considered: tuple[str, ...] = ()
    source: str = ""
    agency: str = ""
    promise_days: int = 0
    protected_reasons: tuple[str, ...] = ()
    debt_advice: str = ""
    data_request: str = ""

    def filled(self) -> dict[str, Any]:
        """Every field as plain values, without the rarer ones that are empty."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value or name not in RARE
        }


@dataclass(frozen=True)
class Code:
    """The code and the sentence of a reason."""

    code: str
    sentence: str
    hmda: int = 0


@dataclass(frozen=True)
class FeatureText:
    """The name of a feature in notices, and the reasons that it can give."""

    label: str
    codes: Mapping[str, Code] = field(default_factory=dict)


@dataclass(frozen=True)
class NoticeSettings:
    """Everything that notices take from the lender, as in the file of ``ract notice init``.

    Parameters
    ----------
    language : str
        Of the sentences, such as "en" or "fr-CH".
    details : Details
    features : mapping of str to FeatureText
    words : mapping of str to str
        What to write for categories.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> model, loans = loans_tree(max_depth=3)
    >>> settings = NoticeSettings.suggest(model)
    >>> settings.features["Income"].codes["too_low"]
    Code(code='8', sentence='Income insufficient for amount of credit requested', hmda=1)
    >>> NoticeSettings.from_toml_text(settings.to_toml_text()) == settings
    True
    """

    language: str = "en"
    details: Details = field(default_factory=Details)
    features: Mapping[str, FeatureText] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def suggest(
        cls,
        model: FittedTrees,
        *,
        language: str = "en",
        codes: str = "regulation-b",
        details: Details | None = None,
    ) -> NoticeSettings:
        """Settings to start from: a code and a sentence for every reason that a model can have.

        Parameters
        ----------
        model : fitted classifier of ract, or imported model
        language : str
        codes : {"regulation-b", "hmda", "none"}
            The list that codes are from; its phrases are English. With "none" features are
            numbered.
        details : Details, optional
            Who decided, and how to reach them; a notice needs it.
        """
        check_list(codes)
        base = Language(language).base
        plain = dict(zip(DIRECTIONS, _PLAIN.get(base, _PLAIN["en"]), strict=True))
        colon = _COLONS.get(base, ": ")
        used = used_features(model)
        names = [feature.name for feature in used]
        suggested = {
            f.name: {way: reasons_for(f.name, way, names) for way in directions_of(f)} for f in used
        }
        everywhere = [pair for of_feature in suggested.values() for pair in of_feature.values()]
        texts = {}
        for number, feature in enumerate(used, 1):
            label, made = feature.label or spoken(feature.name), {}
            for direction, both in suggested[feature.name].items():
                sentence = f"{label}{colon}{plain[direction]}"
                code = str(number)
                if codes != "none":
                    which = list(LISTS).index(codes)
                    code = str(both[which])
                    alone = [pair[which] for pair in everywhere].count(both[which]) == 1
                    phrase = LISTS[codes][both[which] - 1]
                    if base == "en" and phrase != "Other":
                        # An incomplete application says what is missing from it.
                        named = not alone or direction == "missing"
                        sentence = f"{phrase} ({sentence})" if named else phrase
                made[direction] = Code(code, sentence, both[1])
            texts[feature.name] = FeatureText(label, made)
        return cls(language, details or Details(), texts, _words_of(used))

    @classmethod
    def from_toml(cls, path: str | Path) -> NoticeSettings:
        """Settings from a file."""
        return read_toml(path, cls.from_toml_text)

    @classmethod
    def from_toml_text(cls, text: str) -> NoticeSettings:
        """Settings from the text of a file; unknown entries are refused."""
        document = parsed_toml(text)
        refuse_unknown("The file", document, ("language", "notice", "words", "features"))
        language = _typed(document.get("language", "en"), str, "language")
        Language(language)
        words = _typed(document.get("words", {}), dict, "[words]")
        for word, meant in words.items():
            _typed(meant, str, f"[words] {word}")
        tables = _typed(document.get("features", {}), dict, "[features]")
        features = {name: _feature(name, table) for name, table in tables.items()}
        return cls(language, _details(document.get("notice", {})), features, words)

    def to_toml_text(self) -> str:
        """The text of a file, to be edited."""
        lines = [HEADER, tomli_w.dumps({"language": self.language}), "[notice]"]
        lines.append(tomli_w.dumps(self.details.filled()))
        lines += ["[words]", tomli_w.dumps(dict(self.words))]
        for name, text in self.features.items():
            head = tomli_w.dumps({"features": {name: {"label": text.label}}}).splitlines()[-2:]
            lines += head
            lines += [f"{way} = {{ {_inline(code)} }}" for way, code in text.codes.items()]
            lines.append("")
        return "\n".join(lines)

    def label(self, feature: str) -> str:
        """What to call a feature."""
        text = self.features.get(feature)
        return feature if text is None else text.label

    def require_contact(self) -> None:
        """Raise an error if the lender's name or contact data is missing."""
        wanted = ("creditor", "address", "contact")
        if empty := [name for name in wanted if not getattr(self.details, name).strip()]:
            raise InvalidSpec(
                f"[notice] leaves {listing(empty)} empty; a notice says who decided, where they "
                "are and how to reach someone who can look at the case again."
            )

    def check(self, model: FittedTrees) -> None:
        """Raise an error if a reason has no code, or if two reasons have the same sentence.

        Raises
        ------
        InvalidSpec
            If a feature that the model decides by lacks a code for a direction, if a feature is
            unknown to the model, if two features have the same sentence, or if something is said
            not to be considered that the model decides by.
        """
        used = used_features(model)
        known = {axis.feature.name for axis in model.encoder_.axes}
        if unknown := [name for name in self.features if name not in known]:
            raise InvalidSpec(
                f"{listing(unknown)} has a code but is no feature of the model; it has "
                f"{listing(sorted(known), 30)}."
            )
        said: dict[str, tuple[str, str]] = {}
        for feature in used:
            text = self.features.get(feature.name, FeatureText(feature.name))
            for direction in directions_of(feature):
                way = direction.replace("_", " ")
                if direction not in text.codes:
                    raise InvalidSpec(
                        f"There is no code for {feature.name!r} ({way}), which the model decides "
                        "by; ract notice init writes one for every reason."
                    )
                sentence = text.codes[direction].sentence.casefold()
                other, its_way = said.setdefault(sentence, (feature.name, way))
                if other != feature.name:
                    raise InvalidSpec(
                        f"{other!r} ({its_way}) and {feature.name!r} ({way}) have the same "
                        f"sentence, {text.codes[direction].sentence!r}; each reason needs its own."
                    )
        names = {
            name.casefold(): feature.name
            for feature in used
            for name in (feature.name, self.label(feature.name), *feature.columns)
        }
        for thing in self.details.not_considered:
            if thing.casefold() in names:
                raise InvalidSpec(
                    f"not_considered names {thing!r}, but the model decides by "
                    f"{names[thing.casefold()]!r}."
                )


def _words_of(features: Sequence[Feature]) -> dict[str, str]:
    """Categories as they are, to be put into words; every language has those for yes and no."""
    every = (single_line(c) for f in features for c in f.categories or () if isinstance(c, str))
    return {category: category for category in every if category not in SAID_ALIKE}


def directions_of(feature: Feature) -> Sequence[str]:
    """In which ways a feature can be a reason."""
    is_switch = feature.kind in ("binary", "categorical")
    known = DIRECTIONS[2:3] if is_switch else DIRECTIONS[:2]
    return known if feature.missing is None else (*known, "missing")


def _details(table: object) -> Details:
    given = dict(_typed(table, dict, "[notice]"))
    kinds = {one.name: type(one.default) for one in fields(Details)}
    refuse_unknown("[notice]", given, list(kinds))
    for name, value in given.items():
        _typed(value, list if kinds[name] is tuple else kinds[name], f"[notice] {name}")
        if kinds[name] is int and value < 0:
            raise InvalidSpec(f"[notice] {name} must be 0 or more, got {value}.")
    for name in ("not_considered", "protected_reasons"):
        for thing in given.get(name, ()):
            _typed(thing, str, f"[notice] {name}")
        given[name] = tuple(given.get(name, ()))
    return Details(**given)


def _feature(name: str, table: object) -> FeatureText:
    where = f"Feature {name!r}"
    texts = _typed(table, dict, where)
    refuse_unknown(where, texts, ("label", *DIRECTIONS))
    codes = {}
    for direction in DIRECTIONS:
        if direction in texts:
            entry, at = _typed(texts[direction], dict, where), f"{where}, {direction}"
            refuse_unknown(at, entry, ("code", "sentence", "hmda"))
            code, sentence = (
                _typed(entry.get(key, ""), str, f"{at}, {key}").strip()
                for key in ("code", "sentence")
            )
            if not code or not sentence:
                raise InvalidSpec(f"{at} needs a code and a sentence, got {entry!r}.")
            hmda = _typed(entry.get("hmda", 0), int, f"{at}, hmda")
            if not 0 <= hmda <= 9:
                raise InvalidSpec(f"{at}: hmda must be from 1 to 9, or 0 for none, got {hmda}.")
            codes[direction] = Code(code, sentence, hmda)
    return FeatureText(_typed(texts.get("label", name), str, f"{where}, label"), codes)


def _typed(value: object, kind: type[Kind], where: str) -> Kind:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        words = {str: "text", int: "a whole number", bool: "true or false", list: "a list"}
        raise InvalidSpec(f"{where} must be {words.get(kind, 'a table')}, got {value!r}.")
    return value


def _inline(code: Code) -> str:
    """A code as the inside of an inline table."""
    return ", ".join(
        tomli_w.dumps({key: value}).strip()
        for key, value in asdict(code).items()
        if key != "hmda" or value
    )

"""What people may change, feature by feature: declared, read off a table or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.files import write_whole
from ract._utils.toml import dump_toml, feature_tables, parsed_toml, read_toml
from ract.data.actions.assumed import (
    every_feature,
    fixed_names,
    one_feature,
    separate_flags,
    warn_of,
)
from ract.data.actions.blanks import (
    Limits,
    Steps,
    features_in_order,
    filled,
    refuse_missing,
)
from ract.data.actions.feature import Change, Feature, plain
from ract.data.actions.names import fixed_feature
from ract.data.actions.one_hot import one_hot_groups
from ract.data.actions.pace import months_of
from ract.data.actions.rules import Rule, check_rules, rules_of
from ract.data.actions.shown import as_html, as_text
from ract.data.frames import Table, read_table

if TYPE_CHECKING:
    from ract.data.actions.propose import Proposal

_CONSTRAINT_WORDS = {
    "any": "Nothing",
    "increase": "Increasing only",
    "decrease": "Decreasing only",
    "fixed": "Fix",
}


@dataclass(frozen=True)
class ActionSpace:
    """What people may change, feature by feature.

    Columns of the data that no feature names are taken as fixed.

    Parameters
    ----------
    features : sequence of Feature
    desired : label, optional
        The class that people want.
    limits : "size" or None
        How far numbers may move that say nothing of it (neither ``max_change`` nor
        ``max_relative``): by half of the person's own value, or of the column's median where that
        is larger, at most by one interquartile range where that is not 0, but always by one step
        (1 for whole numbers). Read off the data as bounds are. With None any distance is allowed,
        as in the paper.
    steps : "round", "limits" or None
        Where numbers that have no ``step`` end: at multiples of one that is proposed from the
        column (1, 5, 10, 50, 100 ..., percent points), or anywhere (None). "limits" is "round"
        where there are limits, and None elsewhere.
    rules : sequence of LinearRelation, IfThen, NoTransition or str
        What must hold between features after a plan, such as "Debt <= 0.5 * Income". Forbidden
        transitions between categories hold in training too, which passes over all other rules.

    Examples
    --------
    >>> space = ActionSpace([
    ...     Feature("Income", kind="integer", change="increase", lower=0, upper=250_000),
    ...     Feature("Age", kind="integer", change="fixed", lower=18, upper=99),
    ... ])
    >>> space["Age"].actionable
    False
    >>> space.describe()  # doctest: +NORMALIZE_WHITESPACE
      feature     type   min       max immutable       constraint
    0  Income  Integer   0.0  250000.0        No  Increasing only
    1     Age  Integer  18.0      99.0       Yes              Fix
    """

    features: tuple[Feature, ...]
    desired: Any = None
    limits: Limits = "size"
    steps: Steps = "limits"
    rules: tuple[Rule, ...] = ()
    _by_name: dict[str, Feature] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        features: Iterable[Feature],
        desired: Any = None,
        limits: Limits = "size",
        steps: Steps = "limits",
        rules: Iterable[Rule | str] = (),
    ) -> None:
        if limits not in ("size", None):
            raise InvalidSpec(f"limits must be 'size' or None, got {limits!r}.")
        if steps not in ("round", "limits", None):
            raise InvalidSpec(f"steps must be 'round', 'limits' or None, got {steps!r}.")
        if steps == "limits":
            steps = None if limits is None else "round"
        object.__setattr__(self, "features", tuple(features))
        object.__setattr__(self, "desired", plain(desired))
        object.__setattr__(self, "limits", limits)
        object.__setattr__(self, "steps", steps)
        object.__setattr__(self, "rules", rules_of(rules))
        by_name: dict[str, Feature] = {}
        owner: dict[str, str] = {}
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise InvalidSpec(f"Expected a Feature, got {type(feature).__name__}.")
            if feature.name in by_name:
                raise InvalidSpec(f"Feature {feature.name!r} is declared twice.")
            by_name[feature.name] = feature
            for column in feature.columns or (feature.name,):
                if column in owner:
                    raise InvalidSpec(
                        f"Column {column!r} belongs to both {owner[column]!r} and {feature.name!r}."
                    )
                owner[column] = feature.name
        object.__setattr__(self, "_by_name", by_name)

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of 0.2 know neither limits nor steps, and none held.
        for name, value in ({"limits": None, "steps": None, "rules": ()} | dict(state)).items():
            object.__setattr__(self, name, value)

    def __len__(self) -> int:
        return len(self.features)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def __getitem__(self, name: str) -> Feature:
        try:
            return self._by_name[name]
        except KeyError:
            raise KeyError(f"No feature {name!r}; there are {listing(self._by_name)}.") from None

    @property
    def names(self) -> tuple[str, ...]:
        """Feature names in order."""
        return tuple(self._by_name)

    @property
    def is_limited(self) -> bool:
        """Whether changes are limited relative to the person, as plans that are sent need it."""
        return self.limits == "size"

    @property
    def unused(self) -> frozenset[str]:
        """Columns that a model is not to know: those of features with ``use=False``."""
        return frozenset(
            column for f in self.features if not f.use for column in f.columns or (f.name,)
        )

    @classmethod
    def infer(
        cls,
        frame: Any,
        *,
        fixed: Iterable[str] | None = None,
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        orders: Mapping[str, Sequence[Any]] | None = None,
        desired: Any = None,
        limits: Limits = "size",
        steps: Steps = "limits",
    ) -> ActionSpace:
        """Read kinds, bounds and categories off a table.

        Text and category columns are categorical, bool columns and numbers that are only 0
        and 1 are binary, integer columns are integers and floats are continuous. Bounds are
        the observed range. Columns of 0 and 1 of which exactly one is 1 in every row are one
        feature. Everything may change unless it is named in ``fixed``, ``increase`` or
        ``decrease``. A warning, ``AssumedActions``, says what had to be assumed.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame, or array
        fixed : iterable of str, optional
            Features that may not change. By default those whose names say that nobody can
            change them, such as age, sex, nationality or an identifier; ``()`` for none.
        increase, decrease : iterable of str
            Features that may change in one direction only. Text needs an order.
        groups : mapping of str to sequence of str, optional
            Columns that are already one-hot encoded, by the name of their feature; ``{}`` if
            there are none. By default they are recognised.
        orders : mapping of str to sequence, optional
            Categories of text features from the lowest to the highest. An ordered pandas
            category or a polars enum has its own.
        desired : label, optional
        limits : "size" or None
            How far numbers may move, as in ``ActionSpace``.
        steps : "round", "limits" or None
            Where they end, likewise.

        Examples
        --------
        >>> frame = pd.DataFrame({"age": [20, 40], "job": ["clerk", "cook"]})
        >>> space = ActionSpace.infer(frame, increase=["age"])
        >>> space["age"].upper, space["job"].categories
        (40.0, ('clerk', 'cook'))
        """
        table = read_table(frame)
        change = _directions(fixed or (), increase, decrease)
        found = one_hot_groups(table) if groups is None else []
        declared = [Feature(name, columns=tuple(cols)) for name, cols in (groups or {}).items()]
        declared += [group for group in found if not change.keys() & set(group.columns)]
        declared += [
            Feature(name, kind="categorical", categories=tuple(order))
            for name, order in (orders or {}).items()
        ]
        names = features_in_order(table, declared)
        unknown = [name for name in change if name not in names]
        if unknown:
            raise InvalidSpec(
                f"No column called {listing(unknown)}; the table has {listing(names, 30)}."
            )
        by_name = {feature.name: feature for feature in declared}
        features = [by_name.get(name, Feature(name)) for name in names]
        by_their_name = [] if fixed is not None else [
            f.name for f in features if f.name not in change and fixed_feature(f) is not None
        ]  # fmt: skip
        own: dict[str, Change] = dict.fromkeys(by_their_name, "fixed")
        rules = own | change
        features = [replace(f, change=rules.get(f.name, "any")) for f in features]
        space = cls(features, desired, limits, steps).complete(table)
        assumed = fixed_names(by_their_name)
        assumed += [] if change or groups else every_feature(space)
        if groups is None:
            assumed += one_feature([group for group in found if group.name in by_name])
            assumed += separate_flags(space)
        warn_of(assumed)
        return space

    @classmethod
    def propose(
        cls,
        frame: Any,
        target: str,
        *,
        desired: Any = None,
        fixed: Sequence[str] = (),
        increase: Sequence[str] = (),
        decrease: Sequence[str] = (),
        orders: Mapping[str, Sequence[Any]] | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        dates: str | None = None,
        rare: int | None = None,
        rare_name: str = "other",
    ) -> Proposal:
        """What ``ract init`` proposes for a table, to be looked through and edited.

        Columns that name rows or never vary are left out; codes such as 98 are read as missing;
        protected attributes are kept from the model (``use=False``), with the AUC that this costs;
        past events are fixed; directions come from names (English, German, Spanish, French) and,
        if ``desired`` is given, from the data. Each proposal comes with its reason.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        target : str
            Column of the classes.
        desired : label, optional
            The class that people want.
        fixed, increase, decrease : sequence of str
            Features that may not change, or in one direction only, whatever is proposed.
        orders : mapping of str to sequence, optional
            Categories of text features from the lowest to the highest.
        drop, keep : sequence of str
            Columns that are no features, and columns that are, whatever they look like.
        dates : {"years", "days"}, optional
            Read dates as times since; left out by default.
        rare : int, optional
            Put categories of fewer people than this together, as ``rare_name``.

        Returns
        -------
        Proposal
            Its ``space`` is the action space, ``read(frame)`` gives the features as proposed,
            ``notes`` says what was decided, and ``to_toml`` writes an action file with the reasons
            as comments.

        Examples
        --------
        >>> frame = pd.DataFrame({
        ...     "client": [f"C{k}" for k in range(40)], "sex": ["f", "m"] * 20,
        ...     "phone": ["no", "yes", "no", "yes"] * 10, "good": [0, 1] * 20,
        ... })
        >>> proposal = ActionSpace.propose(frame, "good", desired=1)
        >>> proposal.form.drop, proposal.space["sex"].use
        (('client',), False)
        >>> proposal.read(frame).columns.tolist()
        ['phone']
        """
        from ract.data.actions.propose import Wishes, propose  # which stands on this module

        wishes = Wishes(
            fixed, increase, decrease, {n: tuple(o) for n, o in (orders or {}).items()}, drop,
            keep, dates, rare, rare_name,
        )  # fmt: skip
        return propose(frame, target, desired=desired, wishes=wishes)

    def complete(self, frame: Any) -> ActionSpace:
        """This space with every blank filled from a table, and checked against it.

        Columns that are not declared become fixed features, and those of features that are not
        used are left out; kinds, bounds, categories and limits that are not given are read off the
        data. Where values are missing and nothing is said of them, people without one keep none
        (``missing="stays"``). A column in which nobody has a value is refused unless its feature
        leaves nothing to be read off it.
        """
        table = read_table(frame)
        used = [feature for feature in self.features if feature.use]
        names = [n for n in features_in_order(table, used) if n not in self.unused]
        table.refuse_empty_columns([*self.unused, *(f.name for f in used if f.is_complete)])
        refuse_missing(table, used)
        declared = [self._by_name.get(name, Feature(name, change="fixed")) for name in names]
        features = [filled(feature, table, self.limits, self.steps) for feature in declared]
        check_rules(self.rules, features)
        return self.with_features(features)

    def with_features(self, features: Iterable[Feature]) -> ActionSpace:
        """A space of other features, with the same desired class, limits, steps and rules."""
        return ActionSpace(features, self.desired, self.limits, self.steps, self.rules)

    def with_rules(self, *rules: Rule | str) -> ActionSpace:
        """The same space with further rules between features.

        Examples
        --------
        >>> space = ActionSpace([Feature("Income"), Feature("Debt")])
        >>> [str(rule) for rule in space.with_rules("Debt <= 0.5 Income").rules]
        ['Debt - 0.5 * Income <= 0']
        """
        every = (*self.rules, *rules_of(rules))
        return ActionSpace(self.features, self.desired, self.limits, self.steps, every)

    @property
    def is_complete(self) -> bool:
        """Whether every kind, bound and category is filled in, so that no table is needed."""
        return all(
            bool(feature.categories) if feature.is_categorical else feature.is_bounded
            for feature in self
        )

    def restricted(
        self, features: Iterable[str] | None = None, *, forbidden: Iterable[str] = ()
    ) -> ActionSpace:
        """The same space, in which fewer features may change.

        Parameters
        ----------
        features : names, optional
            Only these may change; all by default.
        forbidden : names
            These may not change, and nobody hands in a missing value of theirs.

        Examples
        --------
        >>> space = ActionSpace([Feature("Income"), Feature("Debt", change="decrease")])
        >>> [feature.change for feature in space.restricted(forbidden=["Income"])]
        ['fixed', 'decrease']
        """
        allowed = set(self.names if features is None else as_names("features", features))
        barred = set(as_names("forbidden", forbidden))
        if unknown := sorted((allowed | barred) - set(self.names)):
            raise InvalidSpec(
                f"{listing(unknown)} is not a feature of the action space; its features are "
                f"{listing(self.names, 30)}."
            )
        kept = allowed - barred
        return self.with_features(
            feature if feature.name in kept else feature.fixed() for feature in self
        )

    def within(self, time: float | str) -> ActionSpace:
        """The same space, with the reach that people have within a number of months.

        A model that is trained with it offers, and counts as recourse, what can be done in that
        time at the pace of each feature (``Feature.pace``, ``Feature.delay``).

        Parameters
        ----------
        time : float or str
            Months, or a text such as "12 months" or "1 year".

        Examples
        --------
        >>> space = ActionSpace([Feature("Income", "integer", "increase", 0, 90_000, pace=300)])
        >>> space.within("12 months")["Income"].limits(40_000)
        (40000.0, 43600.0)
        """
        months = months_of(time, "within")
        return self.with_features(replace(feature, within=months) for feature in self)

    def describe(self) -> pd.DataFrame:
        """One row per column, as in the paper's feature tables."""
        rows = []
        for feature in self.features:
            if feature.columns:
                rows += [_described(feature, c, "Binary", 0.0, 1.0) for c in feature.columns]
            else:
                kind = (feature.kind or "unknown").capitalize()
                rows.append(_described(feature, feature.name, kind, feature.lower, feature.upper))
        columns = ["feature", "type", "min", "max", "immutable", "constraint"]
        return pd.DataFrame(rows, columns=columns).astype({"min": float, "max": float})

    @classmethod
    def from_toml(cls, source: str | Path) -> ActionSpace:
        """Read an action file.

        Parameters
        ----------
        source : path
        """
        return read_toml(source, cls.from_toml_text)

    @classmethod
    def from_toml_text(cls, text: str) -> ActionSpace:
        """Read the text of an action file.

        >>> space = ActionSpace.from_toml_text('''
        ... desired = "approved"
        ... [features.Income]
        ... kind = "integer"
        ... change = "increase"
        ... ''')
        >>> space.desired, space["Income"].change
        ('approved', 'increase')
        """
        return cls.from_document(parsed_toml(text))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> ActionSpace:
        """The space that an action file's parsed text declares."""
        known = (*_TOML_FIELDS, *_RENAMED)
        entries, tables = feature_tables(document, known, ("desired", *_SWITCHES, "rules"))
        features = [
            Feature(name, **{_RENAMED.get(key, key): value for key, value in table.items()})
            for name, table in tables.items()
        ]
        said = {name: entries.get(name, default) for name, default in _SWITCHES.items()}
        switches = {name: None if value == OFF else value for name, value in said.items()}
        return cls(features, entries.get("desired"), **switches, rules=entries.get("rules", ()))

    def to_toml_text(self) -> str:
        """The text of an action file that reads back to an equal space."""
        return dump_toml(toml_entries(self), toml_tables(self))

    def to_toml(self, target: str | Path) -> None:
        """Write an action file, whole or not at all."""
        write_whole(target, self.to_toml_text())


def as_names(option: str, given: Any) -> tuple[Any, ...]:
    """What an option lists; a single text would be read as a list of its letters."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InvalidSpec(f"{option} takes a list; write [{given!r}] and not {given!r}.")
    return tuple(given)


def budget_for(space: ActionSpace | None) -> float:
    """Most that a plan may cost where nothing is said: limits take the place of a budget."""
    return 1.0 if space is not None and space.is_limited else 0.3


def unrestricted(table: Table) -> ActionSpace:
    """Every column as a feature that may change, with all else read off the table."""
    return ActionSpace(map(Feature, table.names), limits=None).complete(table)


def warn_of_unrestricted(space: ActionSpace) -> None:
    """Warn of what plans assume in a space that was read off a table, with nothing declared."""
    warn_of(every_feature(space) + separate_flags(space))


def _described(
    feature: Feature, name: str, kind: str, low: float | None, high: float | None
) -> tuple[Any, ...]:
    immutable = "No" if feature.actionable else "Yes"
    return name, kind, low, high, immutable, _CONSTRAINT_WORDS[feature.change]


def _directions(
    fixed: Iterable[str], increase: Iterable[str], decrease: Iterable[str]
) -> dict[str, Change]:
    change: dict[str, Change] = {}
    given: tuple[tuple[Change, Iterable[str]], ...] = (
        ("fixed", fixed),
        ("increase", increase),
        ("decrease", decrease),
    )
    for direction, names in given:
        if isinstance(names, str):
            raise InvalidSpec(f"{direction} takes a list of names, got the text {names!r}.")
        for name in names:
            if name in change:
                raise InvalidSpec(f"{name!r} is named both {change[name]!r} and {direction!r}.")
            change[name] = direction
    return change


OFF = "none"  # in an action file
_SWITCHES: dict[str, Any] = {"limits": "size", "steps": "limits"}
_RENAMED = {"per_month": "drift"}  # keys of 0.2
_TOML_FIELDS = tuple(f.name for f in fields(Feature) if f.name != "name")


def toml_entries(space: ActionSpace) -> dict[str, Any]:
    """What an action file says above its features: all that differs from the defaults."""
    entries = {} if space.desired is None else {"desired": space.desired}
    if space.limits is None:
        entries["limits"] = OFF
    if (space.steps is None) != (space.limits is None):
        entries["steps"] = space.steps or OFF
    if space.rules:
        entries["rules"] = [str(rule) for rule in space.rules]
    return entries


def toml_tables(space: ActionSpace) -> dict[str, dict[str, Any]]:
    """The table of each feature in an action file."""
    return {feature.name: _table_of(feature) for feature in space}


def _table_of(feature: Feature) -> dict[str, Any]:
    """What an action file says of a feature: all that differs from the defaults."""
    table: dict[str, Any] = {"kind": feature.kind, "change": feature.change}
    table |= {"lower": feature.lower, "upper": feature.upper}
    if feature.weight != 1.0:
        table["weight"] = feature.weight
    if feature.categories and feature.categories != feature.columns:
        table["categories"] = list(feature.categories)
    if feature.columns:
        table["columns"] = list(feature.columns)
    table |= {"missing": feature.missing, "supply_cost": feature.supply_cost}
    table |= {"pace": feature.pace, "delay": feature.delay or None, "drift": feature.drift or None}
    if feature.per != "month":
        table["per"] = feature.per
    table["within"] = feature.within
    table |= {name: getattr(feature, name) for name in ("max_change", "max_relative", "median")}
    table |= {"step": feature.step, "unit": feature.unit or None, "label": feature.label or None}
    if not feature.use:
        table = {"use": False} | table
    return {key: value for key, value in table.items() if value is not None}

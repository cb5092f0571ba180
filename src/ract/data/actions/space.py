"""What people may change, feature by feature: declared, read off a table or from a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ract._utils.errors import InvalidSpec, listing
from ract._utils.files import write_whole
from ract._utils.toml import parsed_toml, read_toml
from ract._utils.typing import Label, TableLike
from ract._utils.validation import NONE, as_names, as_python, check_value, one_of
from ract.data.actions.feature import Feature
from ract.data.actions.infer import (
    Limits,
    Steps,
    declared_features,
    directed,
    directions,
    every_feature,
    features_in_order,
    filled,
    one_feature,
    one_hot_groups,
    refuse_missing_one_hot,
    separate_flags,
    warn_of,
)
from ract.data.actions.pace import months_of
from ract.data.actions.rules import Rule, as_rules, check_rules
from ract.data.actions.shown import as_frame, as_html, as_text
from ract.data.actions.toml import dump_toml, parsed_space, toml_entries, toml_tables
from ract.data.frames import Table, read_table

if TYPE_CHECKING:
    from ract.data.actions.propose import Proposal

LIMITS, STEPS = one_of("size"), one_of("round", "limits")


@dataclass(frozen=True)
class ActionSpace:
    """What people may change, feature by feature.

    Columns of the data that belong to no feature are fixed.

    Parameters
    ----------
    features : sequence of Feature
    desired : label, optional
        The class that people want.
    limits : "size" or None
        How far numbers without ``max_change`` and ``max_relative`` may move. "size": by half of the
        person's own value, or of the column's median where that is larger, and at most by one
        interquartile range where that is not 0, but always by one step (1 for whole numbers).
        Medians and ranges are inferred from the data, as bounds are. None: any distance, as in the
        paper.
    steps : "round", "limits" or None
        Values to which numbers without ``step`` may be changed: multiples of a step that is
        proposed from the column ("round": 1, 5, 10, 50, 100 ..., percent points), or any (None).
        "limits" is "round" if there are limits, and None otherwise.
    rules : sequence of LinearRelation, IfThen, NoTransition or str
        What must hold between features after a plan, such as "Debt <= 0.5 * Income". Training
        observes forbidden transitions between categories, and ignores all other rules.

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
    desired: Label | None = None
    limits: Limits = "size"
    steps: Steps = "limits"
    rules: tuple[Rule, ...] = ()
    _by_name: dict[str, Feature] = field(init=False, repr=False, compare=False)

    def __init__(
        self,
        features: Iterable[Feature],
        desired: Label | None = None,
        limits: Limits = "size",
        steps: Steps = "limits",
        rules: Iterable[Rule | str] = (),
    ) -> None:
        check_value("limits", limits, NONE, LIMITS)
        check_value("steps", steps, NONE, STEPS)
        if steps == "limits":
            steps = None if limits is None else "round"
        by_name: dict[str, Feature] = {}
        vars(self).update(
            features=tuple(features),
            desired=as_python(desired),
            limits=limits,
            steps=steps,
            rules=as_rules(rules),
            _by_name=by_name,
        )
        owner: dict[str, str] = {}
        for feature in self.features:
            if not isinstance(feature, Feature):
                raise InvalidSpec(f"Expected a Feature, got {type(feature).__name__}.")
            if feature.name in by_name:
                raise InvalidSpec(f"Feature {feature.name!r} is declared twice.")
            by_name[feature.name] = feature
            for column in feature.table_columns:
                if column in owner:
                    raise InvalidSpec(
                        f"Column {column!r} belongs to both {owner[column]!r} and {feature.name!r}."
                    )
                owner[column] = feature.name

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        # Pickles of 0.2 know neither limits nor steps, and none held.
        vars(self).update({"limits": None, "steps": None, "rules": ()} | dict(state))

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
        """Whether changes are limited relative to the person, as plans that can be sent require."""
        return self.limits == "size"

    @property
    def unused(self) -> frozenset[str]:
        """Columns that models do not get: those of features with ``use=False``."""
        return frozenset(column for f in self if not f.use for column in f.table_columns)

    @classmethod
    def infer(
        cls,
        frame: TableLike | Table,
        *,
        fixed: Iterable[str] | None = None,
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        groups: Mapping[str, Sequence[str]] | None = None,
        orders: Mapping[str, Sequence[Label]] | None = None,
        desired: Label | None = None,
        limits: Limits = "size",
        steps: Steps = "limits",
    ) -> ActionSpace:
        """Infer kinds, bounds and categories from a table.

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
        change = directions(fixed or (), increase, decrease)
        found = one_hot_groups(table) if groups is None else []
        found = [group for group in found if not change.keys() & set(group.columns)]
        declared = [*found, *declared_features(groups or {}, orders or {})]
        features, by_name = directed(table, declared, change, by_name=fixed is None)
        space = cls(features, desired, limits, steps).complete(table)
        assumed = [f"{listing(by_name)} is fixed, by the name"] if by_name else []
        assumed += [] if change or groups else every_feature(space)
        if groups is None:
            assumed += one_feature(found) + separate_flags(space)
        warn_of(assumed)
        return space

    @classmethod
    def propose(
        cls,
        frame: TableLike,
        target: str,
        *,
        desired: Label | None = None,
        fixed: Sequence[str] = (),
        increase: Sequence[str] = (),
        decrease: Sequence[str] = (),
        orders: Mapping[str, Sequence[Label]] | None = None,
        drop: Sequence[str] = (),
        keep: Sequence[str] = (),
        dates: str | None = None,
        rare: int | None = None,
        rare_name: str = "other",
    ) -> Proposal:
        """Propose a space for a table, as ``ract init`` does, to be checked and edited.

        Columns that name rows or never vary are left out; codes such as 98 are read as missing;
        protected attributes are left out of the model (``use=False``), with the AUC that this
        costs; past events are fixed; directions are guessed from names (English, German, Spanish,
        French) and, if ``desired`` is given, from the data. Each proposal comes with its reason.

        Parameters
        ----------
        frame : pandas, polars or pyarrow frame
        target : str
            Column of the classes.
        desired : label, optional
            The class that people want.
        fixed, increase, decrease : sequence of str
            Features that may not change, or in one direction only; they take precedence over
            proposals.
        orders : mapping of str to sequence, optional
            Categories of text features from the lowest to the highest.
        drop, keep : sequence of str
            Columns to leave out, and columns to use in any case.
        dates : {"years", "days"}, optional
            Read dates as times since; left out by default.
        rare : int, optional
            Merge categories of fewer people than this, under the name ``rare_name``.

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

        given = {name: tuple(order) for name, order in (orders or {}).items()}
        wishes = Wishes(fixed, increase, decrease, given, drop, keep, dates, rare, rare_name)
        return propose(frame, target, desired=desired, wishes=wishes)

    def complete(self, frame: TableLike | Table) -> ActionSpace:
        """Complete the space from a table: infer missing entries and check the declared ones.

        Columns that are not declared become fixed features, and those of features that are not used
        are left out; kinds, bounds, categories and limits that are not given are inferred from the
        data. If values are missing and the feature does not say what that means, missing values
        stay missing (``missing="stays"``). A column without any value is refused, unless nothing
        has to be inferred from it.
        """
        table = read_table(frame)
        used = [feature for feature in self.features if feature.use]
        names = [n for n in features_in_order(table, used) if n not in self.unused]
        table.refuse_empty_columns([*self.unused, *(f.name for f in used if f.is_complete)])
        refuse_missing_one_hot(table, used)
        declared = [self._by_name.get(name, Feature(name, change="fixed")) for name in names]
        features = [filled(feature, table, self.limits, self.steps) for feature in declared]
        check_rules(self.rules, features)
        return self.with_features(features)

    def with_features(self, features: Iterable[Feature]) -> ActionSpace:
        """Replace the features; desired class, limits, steps and rules stay the same."""
        return ActionSpace(features, self.desired, self.limits, self.steps, self.rules)

    def with_rules(self, *rules: Rule | str) -> ActionSpace:
        """Add rules between features.

        Examples
        --------
        >>> space = ActionSpace([Feature("Income"), Feature("Debt")])
        >>> [str(rule) for rule in space.with_rules("Debt <= 0.5 Income").rules]
        ['Debt - 0.5 * Income <= 0']
        """
        every = (*self.rules, *as_rules(rules))
        return ActionSpace(self.features, self.desired, self.limits, self.steps, every)

    @property
    def is_complete(self) -> bool:
        """Whether every kind, bound and category is filled in, so that no table is needed."""
        return all(f.categories if f.is_categorical else f.is_bounded for f in self)

    def restricted(
        self, features: Iterable[str] | None = None, *, forbidden: Iterable[str] = ()
    ) -> ActionSpace:
        """Restrict the features that may change.

        Parameters
        ----------
        features : names, optional
            Only these may change; all by default.
        forbidden : names
            These may not change, and their missing values may not be supplied.

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
        """Limit all changes to what can be done within a number of months.

        For a model that is trained with it, recourse is what can be done in that time at the pace
        of each feature (``Feature.pace``, ``Feature.delay``).

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
        return as_frame(self)

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
        features, entries = parsed_space(document)
        return cls(features, **entries)

    def to_toml_text(self) -> str:
        """Return the space as the text of an action file, which reads back to an equal space."""
        return dump_toml(toml_entries(self), toml_tables(self))

    def to_toml(self, target: str | Path) -> None:
        """Write an action file atomically."""
        write_whole(target, self.to_toml_text())


def budget_for(space: ActionSpace | None) -> float:
    """Most that a plan may cost where nothing is said: limits take the place of a budget."""
    return 1.0 if space is not None and space.is_limited else 0.3


def unrestricted(table: Table) -> ActionSpace:
    """Every column as a feature that may change, with all else read off the table."""
    return ActionSpace(map(Feature, table.names), limits=None).complete(table)


def warn_of_unrestricted(space: ActionSpace) -> None:
    """Warn of what plans assume in a space that was read off a table, with nothing declared."""
    assumed = every_feature(space) + separate_flags(space)
    warn_of([*assumed, "no number has a limit on how far it moves"] if assumed else [])

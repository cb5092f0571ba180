"""Parameters of estimators: each is declared once, with its default and what it may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import names_parameters
from ract._utils.typing import Label
from ract._utils.validation import (
    AMOUNT,
    ANYTHING,
    COUNT,
    FRACTION,
    INNER_SHARE,
    JOBS,
    NONE,
    PROBABILITY,
    Allowed,
    at_least,
    check_value,
    instance,
    is_number,
    one_of,
    whole,
)
from ract.data.actions import ActionSpace
from ract.data.costs import Cost
from ract.data.encoder import Axis, Encoder
from ract.data.grid import BINS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind")


# What parameters of several estimators may be.
Monotonic = str | Mapping[str, int] | Sequence[int] | np.ndarray | None
ClassWeight = Mapping[Label, float] | Literal["balanced"] | None
MaxFeatures = Literal["sqrt", "log2"] | int | float | None
RandomState = int | np.random.RandomState | None

WAYS = ("auto", "all", "none")  # of choosing monotonic constraints
CONSTRAINTS = Allowed(  # monotonic_directions, which knows the columns, reads all but a way
    f"one of {listing(WAYS)}, or a direction for each feature",
    lambda value: not isinstance(value, str) or value in WAYS,
)
SPACE = (NONE, instance(ActionSpace, "an ActionSpace"))
COST = (instance(str, "the name of a cost"), instance(Cost, "an object with a fit method"))
MAX_FEATURES = (NONE, one_of("sqrt", "log2"), whole(1), FRACTION)


def parameter(*allowed: Allowed, default: object = MISSING, kw_only: bool = True) -> Any:
    """A parameter of an estimator: what it may be, and its default."""
    return field(default=default, kw_only=kw_only, metadata={"allowed": allowed})


@dataclass_transform(eq_default=False, field_specifiers=(parameter,))
def with_parameters(kind: type[Kind]) -> type[Kind]:
    """Give an estimator a constructor that takes its parameters, and those of its base classes.

    It does what scikit-learn asks of a constructor: each parameter becomes an attribute as it is.
    """
    made = dataclass(eq=False, repr=False)(kind)
    made.__init__ = names_parameters(made.__init__)  # type: ignore[method-assign]
    return made


@with_parameters
class LearnerParameters:
    """What all learners have; their docstrings say what it means."""

    actions: ActionSpace | None = parameter(*SPACE, default=None, kw_only=False)
    desired: Label | None = parameter(ANYTHING, default=None)
    cost: str | Cost = parameter(*COST, default="percentile")
    budget: float | None = parameter(NONE, AMOUNT, default=None)
    recourse_weight: float = parameter(at_least(0), default=0.1)
    lasting: float | None = parameter(NONE, PROBABILITY, default=None)
    max_bins: int = parameter(BINS, default=256)
    class_weight: ClassWeight = parameter(ANYTHING, default=None)  # as scikit-learn reads it
    monotonic: Monotonic = parameter(CONSTRAINTS, default=None)
    threshold: float | None = parameter(NONE, INNER_SHARE, default=None)
    approval_rate: float | None = parameter(NONE, INNER_SHARE, default=None)
    max_bad_rate: float | None = parameter(NONE, INNER_SHARE, default=None)
    random_state: RandomState = parameter(ANYTHING, default=None)  # as scikit-learn reads it


@with_parameters
class ThreadParameters:
    """What estimators have that use threads."""

    n_jobs: int | None = parameter(NONE, JOBS, default=None)
    verbose: int = parameter(COUNT, default=0)


def split_seed(random_state: Any) -> int:
    """A seed for who is held out, without moving a generator that was given."""
    return int(random_state) if is_number(random_state, whole=True) else 0


def check_parameters(estimator: DataclassInstance) -> None:
    """Refuse a parameter that is not as declared, by name, value and what is allowed."""
    for each in sorted(fields(estimator), key=lambda each: each.name):
        check_value(each.name, getattr(estimator, each.name), *each.metadata["allowed"])


def desired_label(wanted: Label | None, actions: ActionSpace | None, classes: np.ndarray) -> Label:
    """The class that people want, as given or by the action space; nothing else can tell."""
    labels = classes.tolist()
    if wanted is None and actions is not None:
        wanted = actions.desired
    if wanted is None:
        raise InvalidSpec(
            "Which class people want cannot be known: give desired=, or an action space that "
            f"names it; the classes are {listing(labels)}."
        )
    if wanted not in labels:
        raise InvalidSpec(
            f"desired is {wanted!r}, which is not a class of the target; its classes are "
            f"{listing(labels)}."
        )
    label: Label = classes[labels.index(wanted)]
    return label


def number_of_people(value: float, n_people: int) -> int:
    """A number of people, given as such or as a share of all."""
    if is_number(value, whole=True):
        return int(value)
    return max(1, int(np.ceil(value * n_people)))


def number_drawn(max_samples: float | None, n_people: int) -> int:
    """Size of a bootstrap sample, by scikit-learn's rules."""
    if max_samples is None:
        return n_people
    if is_number(max_samples, whole=True):
        if max_samples > n_people:
            raise InvalidSpec(
                f"max_samples must be at most {n_people}, the people with a weight, got "
                f"{max_samples!r}."
            )
        return int(max_samples)
    return max(round(n_people * max_samples), 1)


def features_per_split(value: MaxFeatures, n_axes: int) -> int | None:
    """How many features to look at per split, by scikit-learn's rules."""
    if value is None:
        return None
    if isinstance(value, str):
        return max(1, int({"sqrt": np.sqrt, "log2": np.log2}[value](n_axes)))
    if is_number(value, whole=True):
        return min(int(value), n_axes)
    return max(1, int(value * n_axes))


def monotonic_directions(
    wanted: Monotonic, encoder: Encoder, axes: Sequence[Axis]
) -> tuple[int, ...]:
    """Direction of each axis from ``monotonic``; empty if nothing is constrained."""
    if wanted is None or len(wanted) == 0:
        return ()
    names = encoder.feature_names
    if isinstance(wanted, dict):
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise InvalidSpec(
                f"monotonic names {listing(unknown)}; the columns are {listing(names)}."
            )
        by_name = wanted
    else:
        given = np.asarray(wanted).tolist()
        if not isinstance(given, list) or len(given) != len(names):
            raise InvalidSpec(
                f"monotonic must have one entry for each of the {len(names)} features or be "
                f"a dict by their names, got {wanted!r}."
            )
        by_name = dict(zip(names, given, strict=True))
    for name, value in by_name.items():
        if value not in (-1, 0, 1):
            raise InvalidSpec(
                f"monotonic must be -1, 0 or 1 for each feature, got {value!r} for {name!r}."
            )
    asked = {name for name, value in by_name.items() if value != 0}
    for axis in encoder.axes:
        of_axis = asked.intersection(axis.feature.table_columns)
        if of_axis and axis.is_categorical:
            raise InvalidSpec(
                f"monotonic must be 0 for {listing(sorted(of_axis))}: categories have no order."
            )
    directions = tuple(int(by_name.get(axis.feature.name, 0)) for axis in axes)
    return directions if any(directions) else ()

"""Parameters of estimators: each is declared once, with its default and what it may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, TypeVar, dataclass_transform

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.renamed import names_parameters
from ract._utils.typing import Label
from ract._utils.validation import is_number
from ract.data.actions import ActionSpace
from ract.data.costs import Cost
from ract.data.encoder import Axis, Encoder
from ract.data.grid import MOST_CELLS

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Allowed:
    """What a parameter may be.

    Parameters
    ----------
    text : str
        As it stands in an error, after "must be".
    holds : callable
        Whether a value is so.
    """

    text: str
    holds: Callable[[Any], bool]


def whole(least: int, most: int | None = None) -> Allowed:
    """A whole number, from a least one on or in a range."""
    text = f"of {least} or more" if most is None else f"from {least} to {most}"
    return Allowed(
        f"a whole number {text}",
        lambda value: (
            is_number(value, whole=True) and value >= least and (most is None or value <= most)
        ),
    )


def at_least(least: float, *, infinite: bool = False) -> Allowed:
    """A number, finite unless said otherwise."""
    return Allowed(
        f"a number of {least:g} or more",
        lambda value: (
            is_number(value) and bool(value >= least and (infinite or np.isfinite(value)))
        ),
    )


def between(low: float, high: float, what: str, *, ends: str = "[]") -> Allowed:
    """A number in an interval; ends as in mathematics, such as "(]"."""

    def holds(value: Any) -> bool:
        if not is_number(value):
            return False
        above = value > low if ends[0] == "(" else value >= low
        below = value < high if ends[1] == ")" else value <= high
        return bool(above and below)

    return Allowed(what, holds)


def one_of(*values: bool | str) -> Allowed:
    """One of two or more values."""
    shown = [repr(value) for value in values]
    text = " or ".join(shown) if len(shown) == 2 else f"one of {', '.join(shown)}"
    return Allowed(text, lambda value: any(type(value) is type(v) and value == v for v in values))


def instance(kind: type | tuple[type, ...], text: str) -> Allowed:
    """An object of a type."""
    return Allowed(text, lambda value: isinstance(value, kind))


# What parameters of several estimators may be.
Monotonic = str | Mapping[str, int] | Sequence[int] | np.ndarray | None
ClassWeight = Mapping[Label, float] | Literal["balanced"] | None
MaxFeatures = Literal["sqrt", "log2"] | int | float | None
RandomState = int | np.random.RandomState | None

NONE = Allowed("None", lambda value: value is None)
ANYTHING = Allowed("anything", lambda _: True)
SHARE = between(0, 1, "a share between 0 and 1")
POSITIVE_SHARE = between(0, 1, "a share above 0 and up to 1", ends="(]")
INNER_SHARE = between(0, 1, "a share between 0 and 1", ends="()")
ABOVE_0 = between(0, np.inf, "a number above 0", ends="()")
PROBABILITY = between(0, 1, "a probability between 0 and 1", ends="()")
FRACTION = Allowed(
    "a share between 0 and 1",
    lambda value: isinstance(value, (float, np.floating)) and bool(0 < value <= 1),
)
YES_OR_NO = instance((bool, np.bool_), "True or False")

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
    budget: float | None = parameter(NONE, at_least(0, infinite=True), default=None)
    recourse_weight: float = parameter(at_least(0), default=0.1)
    lasting: float | None = parameter(NONE, PROBABILITY, default=None)
    max_bins: int = parameter(whole(2, MOST_CELLS), default=256)
    class_weight: ClassWeight = parameter(ANYTHING, default=None)  # as scikit-learn reads it
    monotonic: Monotonic = parameter(CONSTRAINTS, default=None)
    threshold: float | None = parameter(NONE, INNER_SHARE, default=None)
    approval_rate: float | None = parameter(NONE, INNER_SHARE, default=None)
    max_bad_rate: float | None = parameter(NONE, INNER_SHARE, default=None)
    random_state: RandomState = parameter(ANYTHING, default=None)  # as scikit-learn reads it


@with_parameters
class ThreadParameters:
    """What estimators have that use threads."""

    n_jobs: int | None = parameter(ANYTHING, default=None)
    verbose: int = parameter(whole(0), default=0)


def split_seed(random_state: Any) -> int:
    """A seed for who is held out, without moving a generator that was given."""
    return int(random_state) if is_number(random_state, whole=True) else 0


def check_parameters(estimator: DataclassInstance) -> None:
    """Refuse a parameter that is not as declared, by name, value and what is allowed."""
    for each in sorted(fields(estimator), key=lambda each: each.name):
        value, allowed = getattr(estimator, each.name), each.metadata["allowed"]
        if not any(kind.holds(value) for kind in allowed):
            texts = [kind.text for kind in allowed if kind is not NONE]
            texts += ["None"] if NONE in allowed else []
            raise InvalidSpec(f"{each.name} must be {', or '.join(texts)}, got {value!r}.")


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
        of_axis = asked.intersection(axis.feature.columns or (axis.feature.name,))
        if of_axis and axis.is_categorical:
            raise InvalidSpec(
                f"monotonic must be 0 for {listing(sorted(of_axis))}: categories have no order."
            )
    directions = tuple(int(by_name.get(axis.feature.name, 0)) for axis in axes)
    return directions if any(directions) else ()

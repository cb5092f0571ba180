"""Parameters of estimators: one table per estimator says what each may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from ract._utils.errors import InvalidSpec, listing
from ract._utils.typing import Label
from ract._utils.validation import is_number
from ract.data.actions import ActionSpace
from ract.data.costs import Cost
from ract.data.encoder import Axis, Encoder
from ract.data.grid import MOST_CELLS


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
FRACTION = Allowed(
    "a share between 0 and 1",
    lambda value: isinstance(value, (float, np.floating)) and bool(0 < value <= 1),
)
YES_OR_NO = instance((bool, np.bool_), "True or False")

Table = Mapping[str, Sequence[Allowed]]

# What all estimators have.
COMMON: Table = {
    "actions": (NONE, instance(ActionSpace, "an ActionSpace")),
    "desired": (ANYTHING,),
    "cost": (instance(str, "the name of a cost"), instance(Cost, "an object with a fit method")),
    "budget": (NONE, at_least(0, infinite=True)),
    "recourse_weight": (at_least(0),),
    "lasting": (NONE, between(0, 1, "a probability between 0 and 1", ends="()")),
    "max_bins": (whole(2, MOST_CELLS),),
    "class_weight": (ANYTHING,),  # as scikit-learn reads it
    "monotonic": (ANYTHING,),  # read by monotonic_directions, which knows the columns
    "random_state": (ANYTHING,),  # as scikit-learn reads it
    "threshold": (NONE, INNER_SHARE),
    "approval_rate": (NONE, INNER_SHARE),
    "max_bad_rate": (NONE, INNER_SHARE),
}
# Of those that use threads.
THREADS: Table = {"n_jobs": (NONE, ANYTHING), "verbose": (whole(0),)}
MAX_FEATURES = (NONE, one_of("sqrt", "log2"), whole(1), FRACTION)


def split_seed(random_state: Any) -> int:
    """A seed for who is held out, without moving a generator that was given."""
    return int(random_state) if is_number(random_state, whole=True) else 0


class HasParameters(Protocol):
    """An estimator of scikit-learn."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name."""


def check_parameters(estimator: HasParameters, table: Table) -> None:
    """Refuse a parameter that is not as its table says, by name, value and what is allowed."""
    for name, value in estimator.get_params(deep=False).items():
        allowed = table[name]
        if not any(kind.holds(value) for kind in allowed):
            texts = [kind.text for kind in allowed if kind is not NONE]
            texts += ["None"] if NONE in allowed else []
            raise InvalidSpec(f"{name} must be {', or '.join(texts)}, got {value!r}.")


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

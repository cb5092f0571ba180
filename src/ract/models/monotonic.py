"""Monotone constraints from what people may do: doing more of it never harms.

A feature that people may only raise should never harm by rising, and one that they may only lower
never by falling. Such constraints cost accuracy where the data speak against them, so that some are
left out: those that cost least are kept, as long as all that are kept together cost at most a
stated AUC on people who are held out inside the training data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ract.data.encoder import Encoder

# What all constraints that are kept may cost together.
MAX_AUC_LOSS = 0.005
CHOICES = ("auto", "all", "none")

Directions = Mapping[str, int]


def directions_of_actions(encoder: Encoder) -> dict[str, int]:
    """1 for features that may only be raised, -1 for those that may only be lowered.

    Examples
    --------
    >>> from ract.models.examples import loans_tree
    >>> directions_of_actions(loans_tree()[0].encoder_)["Debt"]
    -1
    """
    signs = {"increase": 1, "decrease": -1}
    return {
        axis.feature.name: signs[axis.feature.change]
        for axis in encoder.axes
        if axis.feature.change in signs and not axis.is_categorical
    }


def cheap_directions(
    wanted: Directions, auc_of: Callable[[Directions], float], max_loss: float = MAX_AUC_LOSS
) -> dict[str, int]:
    """The constraints that together cost at most an AUC.

    Parameters
    ----------
    wanted : mapping
        Features and their directions.
    auc_of : callable
        AUC on held-out people of a model with some of them.
    max_loss : float

    Examples
    --------
    >>> price = {"a": 0.001, "b": 0.02, "c": 0.003}
    >>> cheap_directions(dict.fromkeys(price, 1), lambda some: 0.8 - sum(price[k] for k in some))
    {'a': 1, 'c': 1}
    """
    if not wanted:
        return {}
    least = auc_of({}) - max_loss
    if auc_of(wanted) >= least:
        return dict(wanted)
    alone = {name: auc_of({name: sign}) for name, sign in wanted.items()}
    kept: dict[str, int] = {}
    for name in sorted(wanted, key=lambda one: -alone[one]):
        if alone[name] >= least and auc_of({**kept, name: wanted[name]}) >= least:
            kept[name] = wanted[name]
    return kept


def is_choice(monotonic: Any) -> bool:
    """Whether constraints are stated in a word rather than by feature."""
    return isinstance(monotonic, str)

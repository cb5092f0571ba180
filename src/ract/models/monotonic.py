"""Monotone constraints from what people may do: doing more of it never harms.

A feature that people may only raise should never harm by rising, and one that they may only lower
never by falling. Such constraints cost accuracy where the data speak against them, so that some are
left out: those that cost least are kept, as long as all that are kept together cost at most a
stated AUC on people who are held out inside the training data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from ract.data.encoder import Encoder
from ract.models.parameters import split_seed
from ract.trees.training import TrainingSet

if TYPE_CHECKING:
    from ract.models.base import RecourseClassifierMixin

# What all constraints that are kept may cost together.
MAX_AUC_LOSS = 0.005
# Share of the people on whom it is measured what they cost.
HELD_OUT = 1 / 3

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
    order = [name for name in sorted(wanted, key=lambda n: -alone[n]) if alone[name] >= least]

    def together(n: int) -> dict[str, int]:
        return {name: wanted[name] for name in order[:n]}

    # Of those that are cheap alone, the cheapest ones; how many is bisected.
    enough, too_many = min(len(order), 1), len(order) + 1
    while too_many - enough > 1:
        n = (enough + too_many) // 2
        enough, too_many = (n, too_many) if auc_of(together(n)) >= least else (enough, n)
    return together(enough)


def auc_apart(
    estimator: RecourseClassifierMixin, training: TrainingSet
) -> Callable[[Directions], float]:
    """From constraints to the AUC of a plain model with them, on a third of the people."""
    people, weights = training.people, training.weights.people
    everyone, seed = np.arange(len(people.desired)), split_seed(estimator.random_state)
    parts = train_test_split(
        everyone, test_size=HELD_OUT, stratify=people.desired, random_state=seed
    )
    inside, outside = map(np.sort, parts)
    part, held_out = training.take(inside), people.take(outside)
    plain = {"recourse_weight": 0.0, **estimator.quick_parameters}

    def auc_of(directions: Directions) -> float:
        learner = clone(estimator).set_params(monotonic=dict(directions), **plain)
        scores = learner.scores_in_cells(part, held_out)
        return float(roc_auc_score(held_out.desired, scores, sample_weight=weights[outside]))

    return auc_of

"""The judge of outcomes that a model file has kept, on request: its forests and its scores.

Nobody's row is kept, so that a judge from a file cannot leave out the halves that hold a person: it
is for people who are not in its table.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.io import values
from ract.io.checked import Arrays, checked_encoder, checked_ensemble
from ract.io.contents import Core
from ract.models.judge import FEWEST, OutcomeJudge
from ract.trees.ensemble import TreeEnsemble
from ract.trees.fingerprint import Parts, encoder_parts, ensemble_parts, json_value
from ract.trees.readers.model import FittedTrees

_JUDGE: dict[str, values.Check] = {
    "encoder": values.record,
    "ensemble": values.record,
    "n_splits": values.whole,
    **dict.fromkeys(("shift", "scale", "confidence", "accepted"), values.finite_float),
}


def judge_parts(judge: OutcomeJudge, model: FittedTrees) -> Parts:
    """A fitted judge as plain data, and what share of its people the model accepts."""
    if judge.classifier is not None:
        raise InvalidSpec(
            f"A judge of {type(judge.classifier).__name__} cannot be stored; one of ract's own "
            "forests can (classifier=None)."
        )
    if judge.desired_ != model.desired_:
        raise InvalidSpec(
            f"The judge was fitted for the class {judge.desired_!r}, the model for "
            f"{model.desired_!r}."
        )
    forests = judge.judges_
    ensemble = ensemble_parts(replace(TreeEnsemble.joined(forests, 1), combine="mean", cutoff=0.5))
    meta = {
        "encoder": encoder_parts(judge.encoder_),
        "ensemble": ensemble.meta,
        "n_splits": len(forests) // 2,
        "confidence": json_value(judge.confidence, "confidence"),
        "shift": judge.curve_[0],
        "scale": judge.curve_[1],
        "accepted": judge.share_accepted(model),
    }
    arrays = {f"ensemble.{name}": array for name, array in ensemble.arrays.items()}
    order = np.argsort(judge.scores_, kind="stable")
    return Parts(meta, arrays | {"scores": judge.scores_[order], "spreads": judge.spreads_[order]})


def checked_judge(meta: object, arrays: Arrays, core: Core) -> OutcomeJudge:
    """The judge of a file, for the model of the same file."""
    given = values.read_fields(meta, _JUDGE)
    encoder = checked_encoder(given["encoder"])
    if encoder.feature_names != core.encoder.feature_names:
        raise InvalidFile("its judge has other columns than its model")
    trees = {name.removeprefix("ensemble."): array for name, array in arrays.items()}
    ensemble = checked_ensemble(given["ensemble"], trees, encoder)
    n_halves = 2 * given["n_splits"]
    if ensemble.combine != "mean" or n_halves < 4 or ensemble.n_trees % n_halves:
        raise InvalidFile("the trees of its judge are not those of halves")
    scores, spreads = (_shares(arrays, name) for name in ("scores", "spreads"))
    if len(scores) != len(spreads):
        raise InvalidFile("the scores and spreads of its judge differ in length")
    scale, confidence, accepted = given["scale"], given["confidence"], given["accepted"]
    if scale < 0 or not 0 < confidence < 1 or not 0 <= accepted <= 1:
        raise InvalidFile("the numbers of its judge are invalid")
    judge = OutcomeJudge(
        encoder.space, desired=core.desired, n_splits=given["n_splits"], confidence=confidence
    )
    judge.classes_, judge.desired_ = core.classes, core.desired
    judge.encoder_, judge.people_, judge.accepted_ = encoder, None, accepted
    judge.judges_ = [
        replace(ensemble.take_trees(trees_of_half), against=None)
        for trees_of_half in np.split(np.arange(ensemble.n_trees), n_halves)
    ]
    judge.curve_, judge.scores_ = (given["shift"], scale), scores
    judge.spreads_ = spreads
    judge._rows, judge._in_half = np.zeros(1, np.uint64), np.zeros((1, n_halves), np.bool_)
    return judge


def _shares(arrays: Arrays, name: str) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype != np.float64 or array.ndim != 1 or len(array) < FEWEST:
        raise InvalidFile(f"the {name} of its judge are missing or have the wrong shape")
    if not ((array >= 0) & (array <= 1)).all():
        raise InvalidFile(f"the {name} of its judge are no shares")
    return array

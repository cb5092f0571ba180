"""The judge of outcomes that a model file has kept, on request: its forests and its scores.

Nobody's row is kept, so that a judge from a file cannot leave out the halves that hold a person: it
is for people who are not in its table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ract._utils.errors import InvalidFile, InvalidSpec
from ract.io.checked import Arrays, checked_encoder, checked_ensemble
from ract.io.values import entry, number
from ract.models.judge import FEWEST, OutcomeJudge
from ract.trees.ensemble import TreeEnsemble
from ract.trees.serialize import Parts, encoder_parts, ensemble_parts, plain


def judge_parts(judge: OutcomeJudge, model: Any) -> Parts:
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
        "confidence": plain(judge.confidence, "confidence"),
        "shift": judge.curve_[0],
        "scale": judge.curve_[1],
        "accepted": judge.share_accepted(model),
    }
    arrays = {f"ensemble.{name}": array for name, array in ensemble.arrays.items()}
    order = np.argsort(judge.scores_, kind="stable")
    return Parts(meta, arrays | {"scores": judge.scores_[order], "spreads": judge.spreads_[order]})


def checked_judge(meta: Any, arrays: Arrays, core: dict[str, Any]) -> OutcomeJudge:
    """The judge of a file, for the model of the same file."""
    encoder = checked_encoder(entry(meta, "encoder", dict))
    if encoder.feature_names != core["encoder_"].feature_names:
        raise InvalidFile("its judge has other columns than its model")
    own = {name.removeprefix("ensemble."): array for name, array in arrays.items()}
    ensemble = checked_ensemble(entry(meta, "ensemble", dict), own, encoder)
    n_splits = entry(meta, "n_splits", int)
    if ensemble.combine != "mean" or n_splits < 2 or ensemble.n_trees % (2 * n_splits):
        raise InvalidFile("the trees of its judge are not those of halves")
    scores, spreads = (_shares(arrays, name) for name in ("scores", "spreads"))
    if len(scores) != len(spreads):
        raise InvalidFile("the scores and spreads of its judge differ in length")
    shift, scale, confidence, accepted = (
        float(number(meta, name)) for name in ("shift", "scale", "confidence", "accepted")
    )
    if scale < 0 or not 0 < confidence < 1 or not 0 <= accepted <= 1:
        raise InvalidFile("the numbers of its judge are invalid")
    judge = OutcomeJudge(
        encoder.space, desired=core["desired_"], n_splits=n_splits, confidence=confidence
    )
    judge.classes_, judge.desired_ = core["classes_"], core["desired_"]
    judge.encoder_, judge.people_, judge.accepted_ = encoder, None, accepted
    judge.judges_ = _halves(ensemble, 2 * n_splits)
    judge.curve_, judge.scores_ = (shift, scale), scores
    judge.spreads_ = spreads
    judge._rows, judge._in_half = np.zeros(1, np.uint64), np.zeros((1, 2 * n_splits), np.bool_)
    return judge


def _shares(arrays: Arrays, name: str) -> np.ndarray:
    array = arrays.get(name)
    if array is None or array.dtype != np.float64 or array.ndim != 1 or len(array) < FEWEST:
        raise InvalidFile(f"the {name} of its judge are missing or have the wrong shape")
    if not ((array >= 0) & (array <= 1)).all():
        raise InvalidFile(f"the {name} of its judge are no shares")
    return array


def _halves(ensemble: TreeEnsemble, n_halves: int) -> list[TreeEnsemble]:
    """Equally many trees each, one after the other."""
    first = np.append(ensemble.root, len(ensemble.feature)).astype(np.int64)
    size = ensemble.n_trees // n_halves
    halves = []
    for k in range(n_halves):
        roots = ensemble.root[k * size : (k + 1) * size]
        nodes = slice(first[k * size], first[(k + 1) * size])
        parts: dict[str, Any] = {
            name: getattr(ensemble, name)[nodes]
            for name in ("feature", "threshold", "label", "value", "missing_left")
            if getattr(ensemble, name) is not None
        }
        for name in ("left", "right"):
            child = getattr(ensemble, name)[nodes]
            parts[name] = np.where(child < 0, child, child - roots[0]).astype(np.int32)
        halves.append(replace(ensemble, **parts, root=roots - roots[0], against=None))
    return halves

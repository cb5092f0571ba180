"""Forged certificates: every entry of a record changed in turn, and forgeries that fit together.

A forger knows how records are made: bounds follow from the counts they wrote, the confidence of
groups from their number, and the digest from the whole.
"""

from __future__ import annotations

import contextlib
import copy
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.statistics import clopper_pearson_upper
from ract.evaluation.certificates import Verification
from ract.evaluation.certificates.record import record_digest

# What no verified certificate may leave unchecked.
NEVER_OPEN = frozenset(
    {"model", "data", "budget", "confidence", "max_changes", "everyone", "groups"}
)
STRANGE = [None, True, False, -1, 0, 1, 7, 10**30, 0.5, 0.05, 1e308, "", "x", [], {}, [{}],
           "x\nThe certificate agrees with its counts."]  # fmt: skip
STATUSES = ("accepted", "served", "without", "unknown")


@dataclass(frozen=True)
class Forgery:
    """A changed record, how it was made, and the entries that are no longer true."""

    record: dict[str, Any]
    name: str
    entries: frozenset[str]

    def is_wrongly_verified(self, found: Verification) -> bool:
        """Whether a check takes it, and not because it left the changed entries open."""
        listed = self.entries <= found.unchecked.keys()
        return bool(found) and (not listed or bool(found.unchecked.keys() & NEVER_OPEN))


def forgeries(record: dict[str, Any], n: int, seed: int = 0) -> Iterator[Forgery]:
    """Forgeries of an honest record: all entries in turn, then ones that fit together."""
    rng = np.random.default_rng(seed)
    single = list(_single_changes(record))
    chosen = rng.permutation(len(single))[: n // 2]
    yield from (single[k] for k in sorted(chosen))
    makers = [
        _people_moved,
        _groups_renamed,
        _groups_dropped,
        _groups_joined,
        _question_changed,
        _overlap_changed,
        _other_fingerprint,
        _as_earlier,
        _entry_dropped_or_added,
        _pair_changed,
    ]
    made = 0
    while made < n - len(chosen):
        forged = copy.deepcopy(record)
        name, entries = makers[made % len(makers)](forged, rng)
        changed = {one for one in {*forged, *record} if _text(forged, one) != _text(record, one)}
        if not changed:
            continue
        forged["digest"] = record_digest(forged)
        made += 1
        yield Forgery(forged, name, frozenset(entries & changed))


def _text(record: dict[str, Any], name: str) -> str:
    """An entry as JSON, which tells True from 1 and a missing entry from an empty one."""
    return json.dumps(record[name], sort_keys=True) if name in record else ""


def _single_changes(record: dict[str, Any]) -> Iterator[Forgery]:
    """Each value replaced, with the digest as it was and with a new one."""
    for place in _places(record):
        for value in [*STRANGE, *_near(_value(record, place))]:
            if _same(_value(record, place), value):
                continue
            for new_digest in (False, True):
                forged = copy.deepcopy(record)
                _value(forged, place[:-1])[place[-1]] = copy.deepcopy(value)
                if new_digest:
                    forged["digest"] = record_digest(forged)
                name = f"{'.'.join(map(str, place))} = {value!r}, digest new: {new_digest}"
                yield Forgery(forged, name, frozenset({str(place[0])}))


def _places(record: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Where the values of a record are."""
    places: list[tuple[Any, ...]] = [(name,) for name in record if name != "digest"]
    places += [("everyone", name) for name in record["everyone"]]
    return places + [("groups", k, at) for k, one in enumerate(record["groups"]) for at in one]


def _pair_changed(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    """Two values replaced; bounds follow from the counts where they still can."""
    places = [p for p in _places(record) if not isinstance(_value(record, p), (list, dict))]
    chosen = [places[k] for k in rng.choice(len(places), 2, replace=False)]
    for place in chosen:
        values = _near(_value(record, place)) or STRANGE
        _value(record, place[:-1])[place[-1]] = values[int(rng.integers(len(values)))]
    with contextlib.suppress(TypeError, ValueError, InvalidSpec):
        _rework(record)
    return f"{chosen} changed", {str(place[0]) for place in chosen}


def _near(value: Any) -> list[Any]:
    """Values that are as likely as the true one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(value - 1, 0), 2 * value]
    if isinstance(value, float):
        return [value * 0.999, value / 2, (1 + value) / 2, value - 1e-10, value * (1 + 1e-11)]
    if isinstance(value, str):
        return [value[:-1] + ("0" if value[-1:] != "0" else "1")]
    return [value[:-1], value[::-1]] if isinstance(value, list) else []


def _people_moved(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    """People of a group and of everyone counted under another status."""
    k = int(rng.integers(len(record["groups"])))
    group = record["groups"][k]
    old = rng.choice([status for status in STATUSES if group[status]])
    new = rng.choice([status for status in STATUSES if status != old])
    n = int(rng.integers(1, group[old] + 1))
    for count in (record["everyone"], group):
        count[old] -= n
        count[new] += n
    _rework(record)
    return f"{n} of group {k} from {old} to {new}", {"everyone", "groups"}


def _groups_renamed(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    labels = [group["group"] for group in record["groups"]]
    names = [labels[::-1], [f"{label} " for label in labels], [str(label) for label in labels],
             list("abcdefgh")[: len(labels)]]  # fmt: skip
    chosen = names[int(rng.integers(len(names)))]
    for group, name in zip(record["groups"], chosen, strict=True):
        group["group"] = name
    return f"groups named {chosen}", {"groups"}


def _groups_dropped(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    keep = int(rng.integers(len(record["groups"])))
    record["groups"] = record["groups"][:keep]
    _rework(record)
    return f"{keep} groups kept", {"groups"}


def _groups_joined(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    """Two groups as one, under the name of either."""
    first, second, *rest = record["groups"]
    for name in ("people", *STATUSES):
        first[name] += second[name]
    if rng.integers(2):
        first["group"] = second["group"]
    record["groups"] = [first, *rest]
    _rework(record)
    return "two groups joined", {"groups"}


def _question_changed(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    """Another budget, confidence or number of changes, with bounds that fit."""
    name = str(rng.choice(["budget", "confidence", "max_changes"]))
    if name == "budget":
        record[name] = [None, *(record[name] * rng.uniform(0.5, 2, 3)).tolist()][rng.integers(4)]
    elif name == "confidence":
        record[name] = float(rng.uniform(0.5, 0.99))
    else:
        record[name] = int(rng.integers(1, 40))
    _rework(record)
    return f"{name} = {record[name]}", {name}


def _overlap_changed(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    record["overlap"] = [None, 0, int(rng.integers(1, 1000))][rng.integers(3)]
    return f"overlap = {record['overlap']}", {"overlap"}


def _other_fingerprint(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    name = str(rng.choice(["model", "cost", "data", "witnesses"]))
    kinds = {
        "model": ["model-2-", "model-1-"], "cost": ["cost-1-", "cost-own-"],
        "data": ["data-1-", "people-1-", "parts-1-"], "witnesses": [""],
    }  # fmt: skip
    record[name] = str(rng.choice(kinds[name])) + rng.bytes(32).hex()
    return f"{name} = {record[name]}", {name}


def _as_earlier(record: dict[str, Any], rng: np.random.Generator) -> tuple[str, set[str]]:
    """A record as ract 0.2 wrote them, with a search that had no time, and people moved."""
    name, entries = _people_moved(record, rng)
    record["format"] = "ract certificate 1"
    limits = {"max_changes": record.pop("max_changes"), "time_limit": 0.0}
    record["search"] = {
        "method": "exact",
        **limits,
        **({"max_nodes": 0} if rng.integers(2) else {}),
    }
    record["none_sample"] = record["seed"] = 0
    return f"earlier format, {name}", entries


def _entry_dropped_or_added(
    record: dict[str, Any], rng: np.random.Generator
) -> tuple[str, set[str]]:
    if rng.integers(2):
        name = str(rng.choice([name for name in record if name != "digest"]))
        del record[name]
        return f"without {name}", {name}
    name = str(rng.choice(["search", "seed", "none_sample", "note"]))
    record[name] = {"time_limit": 0.0} if name == "search" else 1
    return f"with {name}", {name}


def _rework(record: dict[str, Any]) -> None:
    """Confidences and bounds that follow from the counts."""
    each = 1 - (1 - record["confidence"]) / max(len(record["groups"]), 1)
    levels = [record["confidence"], *[each] * len(record["groups"])]
    for count, level in zip([record["everyone"], *record["groups"]], levels, strict=True):
        count["confidence"] = level
        failures = count["without"] + count["unknown"]
        count["risk_bound"] = clopper_pearson_upper(failures, count["people"], level)


def _value(record: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        record = record[step]
    return record


def _same(one: Any, other: Any) -> bool:
    """Whether JSON cannot tell two values apart."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    numbers = isinstance(one, (int, float)) and isinstance(other, (int, float))
    return math.isclose(one, other, rel_tol=1e-15) if numbers else bool(one == other)

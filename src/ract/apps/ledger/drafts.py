"""From plans to the promises that a ledger keeps of them, as plain data."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from ract._utils.errors import InvalidData, InvalidSpec
from ract._utils.typing import TableLike
from ract.apps.ledger.chain import stamp
from ract.apps.ledger.entries import Plain, check_keys, day_before, plain_value
from ract.apps.ledger.promise import MONTH
from ract.apps.ledger.proving import Regions
from ract.data.frames import read_table
from ract.recourse.result import Recourse
from ract.recourse.when import months_needed
from ract.trees.fingerprint import model_fingerprint


def drafts(
    recourse: Recourse,
    people: Sequence[Hashable] | None,
    until: datetime,
    now: datetime,
    pinned: Collection[str] = (),
) -> list[dict[str, Any]]:
    """The details of a promise to everyone who has a plan; see ``Ledger.offer``.

    Whoever cannot be promised anything until the end of today, because what moves by itself leaves
    what is proved before, gets none; nor does anyone whose plan takes longer than the promise lasts
    (``Feature.pace``).
    """
    keys = [str(key) for key in (recourse.labels if people is None else people)]
    if len(keys) != len(recourse):
        raise InvalidSpec(f"{len(keys)} keys were given for {len(recourse)} people.")
    if len(set(keys)) < len(keys):
        raise InvalidData("Two people have the same key; each needs one of their own.")
    check_keys(keys, "A person's key")
    regions, model = Regions(recourse, pinned), _fingerprint(recourse)
    before, after = _rows(recourse.people), _rows(recourse.counterfactuals)
    months = (until - now) / MONTH
    takes = months_needed(
        recourse.encoder.axes, recourse.before, recourse.after, math.floor(months)
    )
    found = []
    for i in np.flatnonzero(recourse.found).tolist():
        region, proved = regions.of(i, months)
        zone = until.tzinfo
        end = until if proved >= months or zone is None else day_before(now + proved * MONTH, zone)
        if end <= now or takes[i] > (end - now) / MONTH:
            continue
        plan = recourse[i]
        found.append(
            {
                "person": keys[i],
                "desired": plain_value(recourse.desired),
                "expires": stamp(end),
                "zone": str(end.tzinfo),
                "plan": plan.describe(),
                "region": region.to_dict(),
                "strength": plain_value(float(recourse.strength[i])),
                "lasting": plan.lasting,
                "before": before[i],
                "after": after[i],
                "model": model,
            }
        )
    return found


def _rows(table: TableLike) -> list[dict[str, Plain]]:
    """The rows of a table as mappings."""
    read = read_table(table)
    cells = {name: read.cells(name) for name in read.names}
    return [
        {name: plain_value(values[i]) for name, values in cells.items()} for i in range(read.n_rows)
    ]


def _fingerprint(recourse: Recourse) -> str:
    models = [one.model for one in recourse.question.each if one.decides]
    if not all(hasattr(model, "ensemble_") for model in models):
        raise InvalidSpec(
            "Promises can be made only by models that can be stored: import this model with "
            "ract.import_model first."
        )
    return " ".join(model_fingerprint(model) for model in models)

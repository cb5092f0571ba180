"""What an audit needs to know of people, counted by parts that add up.

A table in memory is the case of one part. What is not a count is the first people without
recourse, who are explained once everyone was counted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract.data.costs import within
from ract.data.frames import take_rows
from ract.data.groups import Metrics, add_by_key, tallied
from ract.data.sketch import Points
from ract.evaluation.metrics.letters import plans_of_letters
from ract.evaluation.metrics.report import columns_of
from ract.models.judge import OutcomeJudge
from ract.recourse.find import find_recourse
from ract.recourse.reachable import recourse_status
from ract.recourse.result import Recourse

MOST_EXPLAINED = 200
MOST_COSTS = 16_384  # that are distinguished; beyond, neighbours count as equal
# What is the sum of two parts.
_SUMS = ("n_people", "n_without", "n_supplied", "metrics", "n_planned", "changed", "effort")


@dataclass(frozen=True)
class Counts:
    """Counts of people for whom plans were searched; those of two parts add up.

    Parameters
    ----------
    n_people, n_without, n_supplied : int
        How many there are, have no plan within the budget, and have one that only supplies values.
    metrics : Metrics
    costs : Points
        Of plans at any cost, 0 of those who are accepted; who has none is not among them.
    n_planned : int
        Plans that letters carry.
    changed, effort : float (features,)
        How many of these change each feature, and the effort of that, summed.
    verdicts, promised : dict or None
        By group, as ``Judged.tallied``, and refused people by what lasts.
    without : frame or array
        The first people without a plan within the budget.
    model : dict
        The model in words, by name.
    features : tuple of str
    """

    n_people: int
    n_without: int
    n_supplied: int
    metrics: Metrics
    costs: Points
    n_planned: int
    changed: np.ndarray
    effort: np.ndarray
    verdicts: dict[Any, pd.Series] | None
    promised: dict[Any, pd.Series] | None
    without: Any
    model: dict[str, str]
    features: tuple[str, ...]

    @classmethod
    def of(
        cls,
        model: Classifier,
        people: TableLike,
        y: ColumnLike | None,
        budget: float,
        *,
        groups: str | ColumnLike | None = None,
        judge: OutcomeJudge | None = None,
        accepted: float = np.nan,
        plausibility: bool = True,
        plans: Recourse | None = None,
        **how: Any,
    ) -> Counts:
        """Search plans of a part of the people and count them.

        Parameters
        ----------
        model, people, y, budget, groups, judge
            As in ``ract.audit``.
        accepted : float
            Share of everybody whom the model accepts, for the judge.
        plausibility : bool
            Whether to measure it, which learns from these people.
        plans : Recourse, optional
            Those of letters, if they were found already.
        **how
            Options of ``ract.find_recourse``.
        """
        found = find_recourse(model, people, budget=np.inf, explain=False, strict=True, **how)
        affordable = within(found.cost, budget)
        if plans is None:
            plans = plans_of_letters(model, people, budget=budget, strict=True, **how)
        supplied, planned = found.only_supplied, plans.found & ~plans.only_supplied
        costs = found.cost[np.isfinite(found.cost) & ~supplied]
        costly = np.flatnonzero(~affordable)
        verdicts = None
        if judge is not None:
            # Plans that were found without a budget, judged within one.
            judged = replace(found, question=replace(found.question, budget=budget))
            verdicts = judge.judged(judged, accepted=accepted).tallied(groups)
        columns = columns_of(found, y, budget, plausibility=plausibility)
        return cls(
            n_people=len(found),
            n_without=len(costly),
            n_supplied=int((supplied & affordable).sum()),
            metrics=Metrics.of(columns, people, groups),
            costs=Points.of(costs, None).thinned(MOST_COSTS),
            n_planned=int(planned.sum()),
            changed=plans.changed[planned].sum(axis=0).astype(float),
            effort=np.where(plans.changed[planned], plans.effort[planned], 0.0).sum(axis=0),
            verdicts=verdicts,
            promised=_promised(model, people, found, groups, {**how, "budget": budget}),
            without=take_rows(people, costly[:MOST_EXPLAINED]) if len(costly) else None,
            model=_in_words(found),
            features=tuple(axis.feature.name for axis in found.encoder.axes),
        )

    def __add__(self, other: Counts) -> Counts:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMS}
        for name in ("verdicts", "promised"):
            pair = getattr(self, name), getattr(other, name)
            sums[name] = None if pair[0] is None or pair[1] is None else add_by_key(*pair)
        parts = [part for part in (self.without, other.without) if part is not None]
        without = pd.concat(parts)[:MOST_EXPLAINED] if len(parts) > 1 else [*parts, None][0]
        costs = self.costs.joined(other.costs, MOST_COSTS)
        return replace(self, **sums, costs=costs, without=without)

    def cost_table(self) -> pd.DataFrame:
        """How many people have each cost, infinite if they have no plan."""
        costs, people = self.costs.values, self.costs.counts.astype(np.int64)
        n_never = self.n_people - int(people.sum())
        table = pd.DataFrame({"cost": np.append(costs, np.inf), "people": [*people, n_never]})
        return table[table["people"] > 0].reset_index(drop=True)

    def changes(self) -> pd.DataFrame:
        """Which features people are asked to change by the plans of letters."""
        table = pd.DataFrame({"feature": self.features, "share": self.changed, "of": self.effort})
        table = table[table["share"] > 0].sort_values("share", ascending=False, ignore_index=True)
        effort = table.pop("of") / table["share"]
        return table.assign(share=table["share"] / max(self.n_planned, 1), effort=effort)


def _promised(
    model: Classifier,
    X: TableLike,
    recourse: Recourse,
    groups: str | ColumnLike | None,
    options: dict[str, Any],
) -> dict[Label, pd.Series] | None:
    """Who of the refused has a plan that lasts as promised, by group."""
    curve = getattr(model, "lasting_", None)
    if curve is None or curve.lasting is None:
        return None
    strength = curve.strength_for(curve.lasting)
    if strength is None:
        return None
    status = recourse_status(model, X, **options, strength=strength)
    supplied, refused = recourse.only_supplied, ~recourse.accepted
    found = (status == "found") & ~supplied
    weaker = recourse.found & within(recourse.cost, options["budget"]) & ~found & ~supplied
    unknown = ~weaker & ((status == "unknown") | (recourse.status == "unknown"))
    kinds = {"refused": refused, "promised": found, "weaker": weaker, "unknown": unknown}
    kinds["only supplied"] = supplied & ~unknown
    return tallied({name: is_so & refused for name, is_so in kinds.items()}, X, groups)


def _in_words(recourse: Recourse) -> dict[str, str]:
    """What a model is, in words."""
    model, ensemble = recourse.question.model, recourse.question.ensemble
    space = recourse.encoder.space
    words = {
        "Kind": getattr(model, "source", "") or type(model).__name__,
        "Trees": f"{ensemble.n_trees:,} with {len(ensemble.leaves):,} leaves",
        "Desired class": str(recourse.desired),
        "May change": ", ".join(f.name for f in space if f.actionable) or "nothing",
        "Fixed": ", ".join(f.name for f in space if not f.actionable) or "nothing",
    }
    if ensemble.combine == "votes" and ensemble.n_trees > 1:
        words["Votes needed"] = f"{ensemble.cutoff:g} of {ensemble.n_trees}"
    weight = getattr(model, "recourse_weight_", getattr(model, "recourse_weight", None))
    if weight is not None:
        words["Weight of recourse"] = f"{weight:.3g}" if isinstance(weight, float) else str(weight)
    return words

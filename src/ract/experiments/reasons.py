"""Why a number of ours lies outside the noise, where it is known."""

from __future__ import annotations

from dataclasses import dataclass

from ract.experiments.compare import Difference
from ract.experiments.settings import METHODS, DataSetting, Experiment


@dataclass(frozen=True)
class Reason:
    """A reason and the numbers it explains; empty means any."""

    text: str
    experiments: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    methods: tuple[str, ...] = METHODS
    measures: tuple[str, ...] = ()

    def explains(self, experiment: Experiment, data: DataSetting, one: Difference) -> bool:
        """Whether this is the reason for a number."""
        return (
            experiment.name in (self.experiments or (experiment.name,))
            and data.name in (self.data or (data.name,))
            and one.setting["Method"] in self.methods
            and one.measure in (self.measures or (one.measure,))
        )


REASONS = (
    Reason(
        "The recorded solver stopped at its 60 s without the optimum: leaf search, which proves "
        "nothing, finds cheaper actions for the same people (see *Exact extraction* below).",
        experiments=("exact",),
        data=("fico",),
        measures=("Validity", "Budget-Validity", "Valid-Cost", "Recourse"),
    ),
    Reason(
        "Chance of the isolation forests: with the authors' own one, which their seed gives for "
        "the first fold, the score is theirs to the last digit; other seeds move it by about 0.003 "
        "in a fold, and in all settings of the fold alike.",
        experiments=("forests", "trees", "complexity", "budget-forests", "budget-trees"),
        measures=("Plausibility",),
    ),
)


def reason_for(experiment: Experiment, data: DataSetting, one: Difference) -> str:
    """The reason for a number outside the noise, or that none was found."""
    for reason in REASONS:
        if reason.explains(experiment, data, one):
            return reason.text
    return "not found"

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


REASONS: tuple[Reason, ...] = ()


def reason_for(experiment: Experiment, data: DataSetting, one: Difference) -> str:
    """The reason for a number outside the noise, or that none was found."""
    for reason in REASONS:
        if reason.explains(experiment, data, one):
            return reason.text
    return "not found"

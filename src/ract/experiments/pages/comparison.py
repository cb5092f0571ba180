"""The page that lays our results beside the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ract.experiments.pages.markdown import Notes, page, table
from ract.experiments.paper.compare import (
    FEWEST_FOLDS,
    Difference,
    Order,
    differences,
    importances,
    orders,
    selected,
    share_within,
)
from ract.experiments.paper.reasons import reason_for
from ract.experiments.paper.recorded import Recorded
from ract.experiments.paper.settings import (
    DATA,
    EXPERIMENTS,
    METHOD_NAMES,
    METHODS,
    DataSetting,
    Experiment,
)
from ract.experiments.store import Store

NOT_FEATURES = ("Fold", "Method", "Alpha", "Budget")
MISSING = (
    "The recorded results were not at hand, so nothing is compared here. Name their folder with "
    "`--recorded` or by the environment variable `RACT_RECORDED`."
)


@dataclass(frozen=True)
class Compared:
    """An experiment on a data set, ours and recorded."""

    experiment: Experiment
    data: DataSetting
    ours: pd.DataFrame
    recorded: pd.DataFrame

    @property
    def enough(self) -> bool:
        """Whether enough folds were run to judge by: a few say little of ten, which differ."""
        return self.ours["Fold"].nunique() >= FEWEST_FOLDS

    def all(self) -> list[Difference]:
        """Every number of the experiment."""
        return list(differences(self.experiment, self.ours, self.recorded))

    def selected(self) -> list[Difference]:
        """Those of the baselines, and of RACT as selected."""
        ours = selected(self.experiment, self.data, self.ours)
        return list(differences(self.experiment, ours, self.recorded))

    def orders(self) -> list[Order]:
        """The order of the methods."""
        return list(orders(self.experiment, self.data, self.ours, self.recorded))


def compared(store: Store, recorded: Recorded) -> Iterator[Compared]:
    """Everything that both sides have."""
    for experiment in EXPERIMENTS.values():
        for data in DATA.values():
            ours, theirs = store.read(experiment.name, data.name), recorded.read(experiment, data)
            if ours is not None and theirs is not None:
                yield Compared(experiment, data, ours, theirs)


def comparison_page(store: Store, recorded: Recorded | None) -> str:
    """What agrees, what does not and why, and every number of the paper's comparison."""
    if recorded is None:
        return page("## Beside the recorded results", MISSING)
    pairs = list(compared(store, recorded))
    if not pairs:
        return page("## Beside the recorded results", "There are no results to compare yet.")
    judged = [pair for pair in pairs if pair.enough]
    return page(
        "## Beside the recorded results",
        "A number is a mean over folds. It is *within the noise of both* when the 95% Welch "
        "interval of ours minus recorded holds zero; one in twenty lies outside by chance alone. "
        f"Experiments with fewer than {FEWEST_FOLDS} folds of ours are not judged. Forests are "
        "random, and their authors' seeds are not known; trees are not, and were judged on the "
        "authors' own hold-outs, so that their numbers can be equal to the last digit.",
        _summary(pairs),
        "### Order of the methods",
        _orders(judged),
        "### Numbers outside the noise",
        _outside(judged),
        "### Feature importance",
        _importance(store, recorded),
        "### Every number of the paper's comparison",
        *(part for pair in judged for part in _in_full(pair)),
    )


def _summary(pairs: list[Compared]) -> str:
    rows = []
    for experiment in EXPERIMENTS.values():
        mine = [pair for pair in pairs if pair.experiment == experiment]
        if mine:
            chosen, everything = _numbers(mine)
            folds = ", ".join(
                f"{pair.data.title} {pair.ours['Fold'].nunique()}/{pair.recorded['Fold'].nunique()}"
                for pair in mine
            )
            rows.append([experiment.title, folds, *_counted(chosen, everything)])
    rows.append(["**all**", "", *_counted(*_numbers(pairs))])
    header = ["experiment", "folds, ours/recorded", "selected settings within", "all within",
              "all equal in every fold"]  # fmt: skip
    return table(header, rows)


def _numbers(pairs: list[Compared]) -> tuple[list[Difference], list[Difference]]:
    """The numbers of selected settings and of all settings, where there are enough folds."""
    judged = [pair for pair in pairs if pair.enough]
    chosen = [one for pair in judged for one in pair.selected()]
    return chosen, [one for pair in judged for one in pair.all()]


def _counted(chosen: list[Difference], everything: list[Difference]) -> list[str]:
    """How many of the selected and of all numbers lie within the noise, and how many are equal."""
    if not everything:
        return ["too few folds"] * 3
    within = [
        f"{sum(one.within for one in found)} of {len(found)} ({share_within(found):.0%})"
        for found in (chosen, everything)
    ]
    return [*within, f"{sum(one.equal for one in everything)} of {len(everything)}"]


def _orders(pairs: list[Compared]) -> str:
    found = [(pair, order) for pair in pairs for order in pair.orders()]
    against = [(pair, order) for pair, order in found if not order.agrees]
    clear = sum(order.clear for _, order in found)
    text = (
        f"Of {len(found)} pairs of methods (accuracy, recourse, validity within the budget, cost) "
        f"the recorded folds put {clear} in a clear order; ours agrees with "
        f"{clear - len(against)} of those."
    )
    notes = Notes()
    rows = [
        [pair.experiment.title, pair.data.title, order.measure,
         " / ".join(METHOD_NAMES[method] for method in order.methods),
         f"{order.ours:+.3f}", f"{order.recorded:+.3f}",
         notes.number(reason_for(pair.experiment, pair.data, order.methods[1], order.measure))]
        for pair, order in against
    ]  # fmt: skip
    header = ["experiment", "data", "measure", "methods", "second better by: ours", "recorded",
              "reason"]  # fmt: skip
    return page(text, table(header, rows) if rows else "", notes.text())


def _outside(pairs: list[Compared]) -> str:
    notes = Notes()
    rows = [
        [pair.experiment.title, pair.data.title, _setting(one), one.measure, f"{one.ours:.3f}",
         f"{one.recorded:.3f}",
         notes.number(
             reason_for(pair.experiment, pair.data, str(one.setting["Method"]), one.measure)
         )]
        for pair in pairs
        for one in pair.selected()
        if not one.within
    ]  # fmt: skip
    header = ["experiment", "data", "setting", "measure", "ours", "recorded", "reason"]
    return page(table(header, rows), notes.text()) if rows else "None."


def _importance(store: Store, recorded: Recorded) -> str:
    rows = []
    for data in DATA.values():
        ours, theirs = store.read("importance", data.name), recorded.importance(data)
        if ours is not None and theirs is not None:
            features = [str(column) for column in theirs if column not in NOT_FEATURES]
            if not set(features) <= set(ours):
                continue
            for method in METHODS:
                mine = importances(data, ours, method)[features].to_numpy()
                other = importances(data, theirs, method)[features].to_numpy()
                rows.append(
                    [data.title, METHOD_NAMES[method], f"{np.abs(mine - other).max():.4f}",
                     f"{other.max():.3f}", f"{np.corrcoef(mine, other)[0, 1]:.4f}"]
                )  # fmt: skip
    header = ["data", "method", "largest difference of a feature", "largest share", "correlation"]
    return table(header, rows) if rows else "Not run."


def _in_full(pair: Compared) -> Iterator[str]:
    rows = [
        [_setting(one), one.measure, f"{one.ours:.3f} ± {one.ours_sd:.3f}",
         f"{one.recorded:.3f} ± {one.recorded_sd:.3f}", f"{one.difference:+.3f}",
         f"{one.low:+.3f} to {one.high:+.3f}", "yes" if one.within else "**no**"]
        for one in pair.selected()
    ]  # fmt: skip
    yield f"**{pair.experiment.title}, {pair.data.title}**"
    yield table(
        ["setting", "measure", "ours", "recorded", "difference", "interval", "within"], rows
    )


def _setting(one: Difference) -> str:
    names = {"Alpha": "λ", "Delta": "δ", "Budget": "ε", "N_ESTIMATORS": "T"}
    method = METHOD_NAMES[str(one.setting["Method"])]
    shown = [
        f"{names[key]}={one.setting[key]:g}"
        for key in names
        if key in one.setting and not (key in ("Alpha", "Delta") and method != "RACT")
    ]
    return f"{method} ({', '.join(shown)})"

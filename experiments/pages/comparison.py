"""The page that lays our results beside the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from experiments.data import DataSetting
from experiments.pages.markdown import Notes, page, spread, table
from experiments.paper.compare import (
    FEWEST_FOLDS,
    Difference,
    Order,
    differences,
    importances,
    orders,
    selected,
)
from experiments.paper.deviations import explanation_of
from experiments.paper.recorded import Recorded, side_by_side
from experiments.paper.settings import EXPERIMENTS, METHOD_NAMES, METHODS, Experiment
from experiments.store import Store

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
        """Whether enough folds were run to compare: a few say little of ten, which differ."""
        return self.ours["Fold"].nunique() >= FEWEST_FOLDS

    @cached_property
    def all(self) -> list[Difference]:
        """Every number of the experiment."""
        return list(differences(self.experiment, self.ours, self.recorded))

    @cached_property
    def selected(self) -> list[Difference]:
        """Those of the baselines, and of RACT as selected."""
        ours = selected(self.experiment, self.data, self.ours)
        return list(differences(self.experiment, ours, self.recorded))

    def orders(self) -> Iterator[Order]:
        """The order of the methods."""
        return orders(self.experiment, self.data, self.ours, self.recorded)

    def explanation(self, method: object, measure: str) -> str:
        """Why a number of a method differs."""
        return explanation_of(self.experiment, self.data, str(method), measure)


def compared(store: Store, recorded: Recorded) -> Iterator[Compared]:
    """Everything that both sides have."""
    for name, experiment in EXPERIMENTS.items():
        for data, ours, theirs in side_by_side(name, store, recorded):
            if theirs is not None:
                yield Compared(experiment, data, ours, theirs)


def comparison_page(store: Store, recorded: Recorded | None) -> str:
    """What agrees, what does not and why, and every number of the paper's comparison."""
    if recorded is None:
        return page("## Beside the recorded results", MISSING)
    pairs = list(compared(store, recorded))
    if not pairs:
        return page("## Beside the recorded results", "There are no results to compare yet.")
    enough = [pair for pair in pairs if pair.enough]
    return page(
        "## Beside the recorded results",
        "A number is a mean over folds. It is *within the noise of both* when the 95% Welch "
        "interval of ours minus recorded contains zero; by chance alone, one in twenty does not. "
        f"Experiments with fewer than {FEWEST_FOLDS} folds of ours are not judged. Forests are "
        "random, and the authors' seeds are not known. Trees are not random and were judged on the "
        "authors' own hold-outs, so their numbers can be equal to the last digit.",
        _summary(pairs),
        "### Order of the methods",
        _orders(enough),
        "### Numbers outside the noise",
        _outside(enough),
        "### Feature importance",
        _importance(store, recorded),
        "### Every number of the paper's comparison",
        *(part for pair in enough for part in _in_full(pair)),
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
    enough = [pair for pair in pairs if pair.enough]
    chosen = [one for pair in enough for one in pair.selected]
    return chosen, [one for pair in enough for one in pair.all]


def _counted(chosen: list[Difference], everything: list[Difference]) -> list[str]:
    """How many of the selected and of all numbers lie within the noise, and how many are equal."""
    if not everything:
        return ["too few folds"] * 3
    counts = [(sum(one.within for one in found), len(found)) for found in (chosen, everything)]
    within = [f"{count} of {total} ({count / total:.0%})" for count, total in counts]
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
         notes.number(pair.explanation(order.methods[1], order.measure))]
        for pair, order in against
    ]  # fmt: skip
    header = ["experiment", "data", "measure", "methods", "second better by: ours", "recorded",
              "reason"]  # fmt: skip
    return page(text, table(header, rows) if rows else "", notes.text())


def _outside(pairs: list[Compared]) -> str:
    notes = Notes()
    rows = [
        [pair.experiment.title, pair.data.title, _setting(one), one.measure,
         f"{one.ours.mean():.3f}", f"{one.recorded.mean():.3f}",
         notes.number(pair.explanation(one.setting["Method"], one.measure))]
        for pair in pairs
        for one in pair.selected
        if not one.within
    ]  # fmt: skip
    header = ["experiment", "data", "setting", "measure", "ours", "recorded", "reason"]
    return page(table(header, rows), notes.text()) if rows else "None."


def _importance(store: Store, recorded: Recorded) -> str:
    rows = []
    for data, ours, theirs in side_by_side("importance", store, recorded):
        if theirs is None or not set(theirs) <= set(ours):
            continue
        mine, other = importances(data, ours), importances(data, theirs)
        for method in METHODS:
            a, b = mine.loc[other.index, method].to_numpy(), other[method].to_numpy()
            rows.append(
                [data.title, METHOD_NAMES[method], f"{np.abs(a - b).max():.4f}",
                 f"{b.max():.3f}", f"{np.corrcoef(a, b)[0, 1]:.4f}"]
            )  # fmt: skip
    header = ["data", "method", "largest difference of a feature", "largest share", "correlation"]
    return table(header, rows) if rows else "Not run."


def _in_full(pair: Compared) -> Iterator[str]:
    rows = [
        [_setting(one), one.measure, spread(one.ours), spread(one.recorded),
         f"{one.ours.mean() - one.recorded.mean():+.3f}",
         "{:+.3f} to {:+.3f}".format(*one.interval), "yes" if one.within else "**no**"]
        for one in pair.selected
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

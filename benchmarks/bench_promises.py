"""What becomes of promises when the model is trained again, on FICO (RACT_DATA_HOME) or another.

    python benchmarks/bench_promises.py [fico] [--folds 5] [--people 300]
        [--figure docs/figures/promises-fico.svg]

The training people of a fold are halved. A forest of half A (the default settings) refuses some
of one half of the test people; up to ``--people`` of them are promised their cheapest plan, or
their plan at ``lasting=0.9``. The same learner is then trained on half B: on its people alone, and
by ``refit``. A promise is kept if everyone who does what the plan asks is accepted, proved. The AUC
is measured on the other half of the test people, whom no model has seen and nobody was promised
anything. Sums and means over the folds:

    promised   people with a plan within the budget, of those asked
    cost       mean cost of what is promised
    kept       promises that the model of half B keeps
    refused    plans that it refuses as they stand (those not kept and not refused lose someone who
               does more than the plan asks, or could not be proved)
    AUC        of the model of half B
    weight     mean weight of a promised row in the end (a person's row weighs 1)
    s          CPU seconds of training and checking
"""

from __future__ import annotations

import argparse
from datetime import timedelta
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from experiments.benchmark.run import BUDGET, Fold
from experiments.data import DATA
from experiments.pages.figures import pyplot
from ract import RecourseForestClassifier, find_recourse
from ract.apps.ledger import Ledger, check, proving, refit
from ract.evaluation.plots.style import DESIRED, LINE, QUIET, UNDESIRED

OFFERS = {"cheapest plan": {}, "lasting=0.9": {"lasting": 0.9}}
ALONE, PROMISED = "people alone", "with promises"
EXPIRES, SECONDS = timedelta(days=365), 2.0
# How far features that a plan leaves alone may move is not looked for: a candidate is judged by
# what plans ask for, and it would take most of the time.
proving.WIDEN_NODES = 1


def rows(fold: Fold, n_people: int):
    """A row for each offer and way of training."""
    data = fold.data
    labels = data.target.to_numpy()
    first, second = fold.halves
    people, judged = np.array_split(np.random.default_rng(fold.number).permutation(fold.test), 2)

    def learner(**given):
        return RecourseForestClassifier(
            data.actions, desired=data.desired, random_state=fold.number, **given
        )

    def auc(model):
        wanted = list(model.classes_).index(data.desired)
        score = model.predict_proba(data.frame.iloc[judged])[:, wanted]
        return roc_auc_score(labels[judged] == data.desired, score)

    old = learner(lasting=0.9).fit(data.frame.iloc[first], labels[first])
    asked = data.frame.iloc[people]
    asked = asked[old.predict(asked) != data.desired].head(n_people)
    table, target = data.frame.iloc[second], labels[second]
    for offer, options in OFFERS.items():
        plans = find_recourse(
            old, asked, budget=BUDGET, at_least=True, explain=False, time_limit=SECONDS, **options
        )
        with Ledger("sqlite://") as ledger:
            promises = ledger.offer(plans, expires=EXPIRES)
        head = {
            "fold": fold.number, "offer": offer, "asked": len(asked), "promised": len(promises),
            "cost": plans.cost[plans.found].mean(),
        }  # fmt: skip
        begun = process_time()
        alone = learner().fit(table, target)
        found = check(promises, alone)
        yield head | _measured(ALONE, found, auc(alone), np.nan, begun)
        begun = process_time()
        again = refit(learner(), table, target, promises, held_out=0)
        weight = again.weights.mean()
        yield head | _measured(PROMISED, again.check, auc(again.model), weight, begun)


def _measured(trained, found, auc, weight, begun):
    return {
        "trained": trained, "kept": int(found.kept.sum()),
        "refused": int((~found.table["accepted"].astype(bool)).sum()), "AUC": auc,
        "weight": weight, "s": process_time() - begun,
    }  # fmt: skip


def summary(found: pd.DataFrame) -> pd.DataFrame:
    """Sums of people and means of the rest, by offer and way of training."""
    how = dict.fromkeys(("asked", "promised", "kept", "refused"), "sum")
    how |= dict.fromkeys(("cost", "AUC", "weight", "s"), "mean")
    table = found.groupby(["offer", "trained"], sort=False).agg(how)
    table.insert(4, "broken", 1 - table["kept"] / table["promised"])
    return table


def draw(table: pd.DataFrame, title: str, path: Path) -> None:
    """Promises by what becomes of them, and the AUC, for each offer and way of training."""
    plt = pyplot()
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 2.6), width_ratios=[3, 1.4])
    names = [f"{offer}\n{trained}" for offer, trained in table.index]
    places = -np.arange(len(table)) - np.arange(len(table)) // 2 * 0.4
    promised = table["promised"].to_numpy()
    kept, refused = (table[name].to_numpy() / promised for name in ("kept", "refused"))
    begin = np.zeros(len(table))
    for share, colour, label in (
        (kept, DESIRED, "kept"),
        (1 - kept - refused, QUIET, "not kept for everyone who does more"),
        (refused, UNDESIRED, "plan refused"),
    ):
        left.barh(places, share, left=begin, color=colour, label=label, height=0.75)
        begin = begin + share
    for place, share in zip(places, kept, strict=True):
        left.text(0.02, place, f"{share:.0%} kept", va="center", color="white", weight="bold")
    left.set(yticks=places, yticklabels=names, xlim=(0, 1), xlabel="share of promises")
    left.xaxis.set_major_formatter("{x:.0%}")
    left.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, frameon=False, fontsize=7)
    right.plot(table["AUC"], places, "o", color=LINE)
    for place, auc in zip(places, table["AUC"], strict=True):
        right.annotate(f"{auc:.4f}", (auc, place), (0, 5), textcoords="offset points", ha="center")
    middle = table["AUC"].mean()
    right.set(yticks=[], xlim=(middle - 0.02, middle + 0.02), ylim=left.get_ylim(), xlabel="AUC")
    right.set_title("on people of neither half", fontsize=8)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{title}: promises of a forest of half A before forests of half B", fontsize=9)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default="fico", choices=list(DATA))
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--people", type=int, default=300)
    parser.add_argument("--figure", type=Path)
    given = parser.parse_args()
    found = []
    for number in range(1, given.folds + 1):  # the table and the picture are there after each
        found += rows(Fold.of(given.data, number), given.people)
        table = summary(pd.DataFrame(found))
        print(f"{DATA[given.data].title}, {number} of {given.folds} folds")
        print(f"{table.round(4).to_string()}\n", flush=True)
        if given.figure is not None:
            draw(table, DATA[given.data].title, given.figure)


if __name__ == "__main__":
    main()

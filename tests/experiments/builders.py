"""Builders that tests of the experiments share."""

import dataclasses

import numpy as np
import pandas as pd

from experiments.benchmark.models import MODELS
from experiments.data import DATA
from experiments.paper import reproduce as repro
from experiments.paper.grow import Grower, Growth
from experiments.paper.hold_outs import HoldOuts
from experiments.paper.settings import EXPERIMENTS
from ract import ActionSpace, Feature
from ract.data.costs import PercentileCost
from ract.data.datasets import Dataset
from tests.builders import random_people


def made_up(n_people=150, seed=0):
    """People with numbers, a fixed one, a one-hot group, and a label that depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, n_people),
            "debts": rng.integers(0, 12, n_people),
            "saved": rng.integers(0, 30, n_people),
            "job:a": rng.integers(0, 2, n_people),
        }
    )
    frame["job:b"] = 1 - frame["job:a"]
    score = frame["saved"] - 2 * frame["debts"] + 0.2 * frame["age"] + rng.normal(0, 6, n_people)
    target = pd.Series(np.where(score > score.median(), "yes", "no"), name="paid")
    features = [
        Feature("age", "integer", "increase", 0, 200),
        Feature("debts", "integer", "any", -100, 100),
        Feature("saved", "integer", "fixed", -100, 100),
        Feature("job", columns=("job:a", "job:b")),
    ]
    return Dataset(
        "made up", frame, target, "yes", ActionSpace(features, "yes", limits=None), "Made up."
    )


def with_few_trees(*names):
    """Models of the benchmark, by name, with ten trees each."""
    return [
        dataclasses.replace(model, options={**model.options, "n_estimators": 10})
        for model in (MODELS[name] for name in names)
    ]


def fold_of(population, experiment, data, number):
    if experiment.model == "tree":
        return HoldOuts(population, experiment, data).fold(number)
    return population.fold(experiment.n_folds, number)


def run_small(out, names=("forests",), data=("compas",), **options):
    """Run experiments on data sets, both by name, without a progress bar."""
    chosen = [EXPERIMENTS[name] for name in names], [DATA[name] for name in data]
    return repro.reproduce(*chosen, out, progress=False, **options)


def grown_forest(population, weight=0.1, n_trees=7, seed=0, estimate="kernel"):
    """A forest grown by the authors' rules, and the cost."""
    columns = list(population.matrix.T)
    cost = PercentileCost(estimate).fit(columns, np.ones(len(columns)))
    grower = Grower(population.matrix, population.desired, population.separate, cost)
    return grower.forests([Growth(weight, 0.3, 6)], n_trees, seed)[0][0], cost


def ordinal_people(rng):
    while True:
        people = random_people(rng)
        if all(table is None for table in people.can_enter):
            return people

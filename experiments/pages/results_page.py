"""Pages of results: the paper's experiments beside the recorded ones, and the benchmark."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pandas as pd

from experiments.benchmark import rabit
from experiments.data import DATA
from experiments.pages.benchmark_page import benchmark_page, draw_benchmark
from experiments.pages.comparison import comparison_page
from experiments.pages.dials_page import dials_page, draw_dials
from experiments.pages.figures import draw_figures
from experiments.pages.markdown import page, table
from experiments.pages.rabit_page import draw_rabit, rabit_page
from experiments.pages.robust_page import robust_page
from experiments.pages.split import write_split
from experiments.pages.tables import exact_or_not, model_or_search, paper_tables
from experiments.paper.recorded import Recorded
from experiments.paper.settings import EXPERIMENTS
from experiments.store import Store

INTRODUCTION = """\
# Results

Conclusions are drawn from the benchmark. The paper's experiments are repeated by its
authors' rules and compared with the results that they recorded. These pages are generated from
stored results by `python -m experiments.reproduce --report`, after `python -m
experiments.reproduce` and `python -m experiments.benchmark`.
"""

FACTS = """\
## Where ours differs from the paper

- *Causal trees are not reproduced to the last digit*: the trees are the same, but the causal
  effects are not. The authors' effects come from an old version of lingam, also among one-hot
  columns; ours are least-squares coefficients among numeric columns.
- *Training time*: the paper finds no significant difference between RACT and Vanilla; here RACT's
  forests take 1.7 to 2.1 times as long as Vanilla's (selected weights, seconds of one core).
- *Exact extraction*: ours takes the first 50 refused people of a fold and 100 trees, as the
  authors' files do, where the paper speaks of 50 random people.
- *Cost*: percentiles come from a Gaussian kernel estimate of the distribution function, as in the
  authors' code, where the paper speaks of the distribution of the training people.

## What was found on the way

Where the paper and its files disagree:

- Bail's forest row in the paper's cost and time tables is the one with λ = 0.04, not the 0.1 that
  its table of parameters names.
- Trees were judged on 30 random hold-outs, not in 10 folds.
- In the exact extraction *Recourse* divides by the whole fold although only 50 people were solved
  for, and a time-out counts as "no action".
- *Plausibility* is a mean over all refused people. It includes those without an action, as they
  are.
- What the paper calls validity (causal and exact extraction) is the share of refused people with
  an action within the budget, the files' `Budget-Validity`.

The authors' code and the paper also disagree in the points below. There the reproduction follows
the code; our own learners do not. The code is the first that they published (`kelicht/ract`, commit
`1581e8a`). It can be checked that these are their rules: trees are not random, and the authors'
hold-outs and isolation forests follow from their seed (and from how many nodes their trees had). On
these, what they recorded for every tree without causal effects is reproduced to the last digit (34
of 3240 means, of plausibility, differ by at most 2e-6). With causal effects the trees are the same
(every accuracy is equal), but the actions are not. Of the six numbers recorded about actions in
each hold-out, without plausibility, 49% are equal to six digits in FICO, 70% in COMPAS, 81% in
Credit and 85% in Bail. Of the plausibilities 23% are equal in Credit and at most 1% elsewhere.
*Effects* below says why.

- *Reach.* A person from outside a node attains the two sides of its split only if they can cross
  it, even the side on which they are. So splits on fixed features exclude people from outside, and
  the code underestimates how many people have recourse. The authors corrected this in commit
  `e42d254`, which also added the exact extraction; its forests are the only ones that the
  corrected code grew. In Bail 0.72 of the people then have an action within the budget, as
  recorded; by the first rule 0.61 would (mean of three runs).
- *Relabelling* starts from the labels that the tree was grown with, prices a flip by all undesired
  people of a leaf rather than by their majority, and counts gains beyond what is needed.
- *One-hot columns* are features of their own while growing, and groups while searching.
- *Thresholds* are the midpoints of each tree's own bootstrap sample, without the last one.
- *Labels of a root.* The code compares single rows where sums are meant. This matters only for a
  tree without any split.
- *Votes.* Forests accept an even vote; the program of the exact extraction requires more than
  half.
- *Search* looks at the first 1000 desired leaves of a forest, and pushes every change further by a
  margin.
- *Cost.* Percentiles are those of a Gaussian kernel estimate, added up on 100 points between the
  0.1% and the 99.9% quantile and linear between them, where the paper speaks of the distribution
  of the training people; our own learners use the share of people at or below a value.
- *Effects* come from a version of the lingam library before 1.8, whose coefficients are those of
  an adaptive lasso on unscaled columns. With that rule the two baselines of the first hold-out of
  FICO and of Bail are reproduced to six digits, plausibility included. Ours are least-squares
  coefficients of the edges that a Bayesian criterion selects. The authors also estimate effects
  among one-hot columns. These columns determine each other, so such effects are not identified;
  ours are among numeric columns. In COMPAS neither version of the library gives the recorded
  numbers.
"""


def results_page(store: Store, recorded: Recorded | None, target: Path) -> None:
    """Write the pages, the short one to a path, and their figures into a folder beside it."""
    folder = target.parent / "figures"
    made = store.folder / "figures"
    theirs = _recorded_by_rabit(recorded)
    own = draw_benchmark(store, made) | draw_dials(store, made) | draw_rabit(store, made, theirs)
    drawn = [*draw_figures(store, recorded, made), *own.values()]
    folder.mkdir(parents=True, exist_ok=True)
    for file in drawn:
        shutil.copyfile(file, folder / file.name)
    links = {file.stem: os.path.relpath(folder / file.name, target.parent) for file in drawn}
    pictures = {name: links.pop(file.stem) for name, file in own.items()}
    figures = [f"![{stem}]({link})" for stem, link in links.items()]
    text = page(
        INTRODUCTION,
        benchmark_page(store, pictures),
        dials_page(store, pictures),
        robust_page(store.folder),
        rabit_page(store, pictures, theirs),
        "## The paper's experiments",
        _what_was_run(store),
        FACTS,
        comparison_page(store, recorded),
        "## The paper's tables",
        paper_tables(store, recorded),
        "## Model or search",
        "The paper's search looks at some leaves one at a time. Exact search says how much "
        "recourse there is. The difference is due to the search, not to the model.",
        model_or_search(store),
        "## Exact extraction",
        "The first 50 refused people of each fold, T = 100, depth 8. An optimum cannot cost more "
        "than what leaf search finds for the same people.",
        exact_or_not(store, recorded),
        "## The paper's figures" if figures else "",
        "Black diamonds are the recorded means." if figures and recorded else "",
        *figures,
    )
    write_split(text, target)


def _recorded_by_rabit(recorded: Recorded | None) -> pd.DataFrame | None:
    """Those of RABIT's authors, from a folder among the recorded results, if it is there."""
    folder = None if recorded is None else recorded.folder / "rabit"
    return rabit.recorded(folder) if folder is not None and folder.is_dir() else None


def _what_was_run(store: Store) -> str:
    rows = []
    for name, experiment in EXPERIMENTS.items():
        cells = []
        for data in DATA:
            results = store.read(name, data)
            done = 0 if results is None else results["Fold"].nunique()
            cells.append(f"{done} of {experiment.n_folds}")
        rows.append([f"`{name}`", experiment.title, *cells])
    header = ["experiment", "", *(data.title for data in DATA.values())]
    return page("Folds that were run:", table(header, rows))

"""Do plans hold when many people follow them? The loans model (its truth) and FICO (a judge).

Forests with the defaults, strongest plans within a budget of .3; the model is trained again on
other people, of whom a share has followed the plans. The numbers of ``docs/book.md``.

    python benchmarks/bench_adoption.py loans fico --output results/adoption/rows.csv
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from bench_book import BUDGET, fico, loans

from ract import RecourseForestClassifier
from ract.evaluation import simulate_adoption


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", default=["loans", "fico"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--output", type=Path, help="where to keep the trials")
    given, kept = parser.parse_args(), []
    for name in given.tables:
        for strength in ("most", 0):
            for places in (False, True):
                parts = []
                for seed in range(given.seeds):
                    table = {"loans": loans, "fico": fico}[name](seed)
                    actions, train, target, new, outcome, judge = table
                    model = RecourseForestClassifier(actions, budget=BUDGET, random_state=seed)
                    model.fit(train, target)
                    accepted = float(np.mean(model.predict(new) == model.desired_))
                    curve = simulate_adoption(
                        model, new, outcome, slots=accepted if places else None, judge=judge,
                        strength=strength, n_draws=3,
                    )  # fmt: skip
                    parts.append(curve.to_frame())
                    about = {"table": name, "strength": strength, "places": places, "seed": seed}
                    kept.append(curve.trials.assign(**about))
                mean = pd.concat(parts).groupby("share").mean()
                print(f"{name}, strength {strength}, places {'as today' if places else 'free'}")
                print(mean[["holds", "approval rate", "bad rate", "cut"]].round(3).to_string())
    if given.output:
        given.output.parent.mkdir(parents=True, exist_ok=True)
        pd.concat(kept).to_csv(given.output, index=False, float_format="%.5g")


if __name__ == "__main__":
    main()

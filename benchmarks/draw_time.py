"""What plans cost that take some months, and what training for a time brings, on the loans data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt

from ract import ActionSpace, RecourseForestClassifier, load_loans
from ract.recourse import time_frontier

FIGURE = Path(__file__).parents[1] / "docs" / "figures" / "time-loans.svg"
LAST = 24


def draw() -> None:
    """Draw the frontiers of the four people with most points on the page about time."""
    loans, new = load_loans(2000), load_loans(300, random_state=1)
    aging = [replace(f, drift=1, per="year") if f.name == "Age" else f for f in loans.actions]
    model = RecourseForestClassifier(
        ActionSpace(aging, loans.desired, limits=None),
        n_estimators=30,
        recourse_weight=0.2,
        random_state=0,
    ).fit(loans.frame, loans.target)
    refused = new.frame[model.predict(new.frame) == "refused"].head(30)
    table = time_frontier(model, refused, by=LAST)
    chosen = table["person"].value_counts().index[:4]
    plt.rcParams["svg.hashsalt"] = "time"
    figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
    for person in chosen:
        points = table[table["person"] == person]
        months = [*points["month"], LAST]
        costs = [*points["cost"], points["cost"].iloc[-1]]
        (line,) = ax.step(months, costs, where="post", lw=1.5, label=f"applicant {person}")
        ax.plot(points["month"], points["cost"], "o", color=line.get_color(), ms=5)
    ax.set(xlabel="month by which the plan is done", ylabel="cost of the cheapest plan")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=8)
    figure.savefig(FIGURE, metadata={"Date": None})


def compare() -> None:
    """Print the accuracy of two forests, and who has recourse within some months."""
    loans, new = load_loans(2000), load_loans(1000, random_state=1)
    for name, actions in (("any time", loans.actions), ("6 months", loans.actions.within(6))):
        model = RecourseForestClassifier(
            actions, n_estimators=50, budget=0.3, recourse_weight=0.2, random_state=0
        ).fit(loans.frame, loans.target)
        shares = [model.recourse(new.frame, by=t, explain=False).within_budget.mean()
                  for t in (6, 12)]  # fmt: skip
        accuracy = model.score(new.frame, new.target)
        print(f"trained for {name}: accuracy {accuracy:.3f}, within 6 and 12 months {shares}")


if __name__ == "__main__":
    compare()
    draw()

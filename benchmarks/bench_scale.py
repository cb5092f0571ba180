"""What engines cost beside one process, and what training on stored people takes.

    bench_scale.py engines [people]     CPU of Dask beside the local run; 1 and 2 workers; 200,000
                                        people take 12 minutes of CPU
    bench_scale.py make PATH [people]   a table of 30 columns in parts, for the next
    bench_scale.py stored PATH [trees]  seconds and peak memory of a fit on Parquet, target "y"
    bench_scale.py training [people]    people divided among workers or not; 1 and 2 workers

CPU time is that of all processes, so that a busy machine matters less; wall time says what the
machine gave. Compiling is done before anything is measured.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from threading import Event, Thread

import numpy as np

from ract import RecourseForestClassifier
from ract.data.datasets import load_loans


def cpu() -> float:
    """Seconds of this process and of all that it has started, running or ended."""
    import psutil

    here = psutil.Process()
    seconds = 0.0
    for process in (here, *here.children(recursive=True)):
        try:
            seconds += sum(process.cpu_times()[:4])  # user, system, and both of ended children
        except psutil.Error:
            continue
    return seconds


def engines(n_people: int) -> None:
    """Plans by one process and by Dask; what starting workers takes is counted, and told."""
    import dask.dataframe as dd

    from ract.apps.distributed import Job
    from ract.apps.distributed import dask as scale

    loans, people = load_loans(5000), load_loans(n_people, random_state=1).frame
    model = RecourseForestClassifier(loans.actions, random_state=0).fit(loans.frame, loans.target)
    job = Job.of(model)
    job(people.head(500))
    half = n_people // 2
    own, local, walls, runs = [], 0.0, {}, {}

    def alone(some) -> float:
        begun = cpu()
        own.extend(job(some)["cost"])
        return cpu() - begun

    # Half before and half after, since what a second of CPU does depends on the machine's load.
    local += alone(people[:half])
    for n_workers, some in ((1, people), (2, people), (1, people[:half])):
        n_parts = max(4, len(some) // 5000)
        begun, wall = cpu(), time.perf_counter()
        with scale.local_client(n_workers):
            starting, started = cpu() - begun, time.perf_counter()
            found = scale.recourse(model, dd.from_pandas(some, npartitions=n_parts)).compute()
            seconds, used = time.perf_counter() - started, cpu() - begun
        walls[n_workers, len(some)] = seconds
        runs[n_workers, len(some)] = used, starting, seconds, started - wall, n_parts, found["cost"]
    local += alone(people[half:])
    print(f"one process, {n_people:,} people: {local:.1f} s of CPU; "
          f"{1e3 * local / n_people:.2f} ms a person")  # fmt: skip
    for (n_workers, n), (used, starting, seconds, start_wall, n_parts, costs) in runs.items():
        assert costs.tolist() == own[: len(costs)]
        over = used / (local * n / n_people) - 1
        print(f"Dask, {n_workers} worker(s), {n:,} people in {n_parts} parts: {used:.1f} s "
              f"of CPU in all processes ({over:+.1%}), {starting:.1f} s of it for starting; "
              f"{seconds:.1f} s, and {start_wall:.1f} s for starting")  # fmt: skip
    one, two, less = (walls[key] for key in ((1, n_people), (2, n_people), (1, half)))
    print(f"two workers beside one: {one / two:.2f} times as fast (strong); twice the people with "
          f"twice the workers: {two / less:.2f} times as long (weak)")  # fmt: skip


def make(path: str, n_people: int) -> None:
    """Twenty columns of real numbers, ten of whole ones and a target, a million rows to a file."""
    import pandas as pd

    folder = Path(path)
    folder.mkdir(parents=True)
    for k, first in enumerate(range(0, n_people, 1_000_000)):
        n, rng = min(n_people - first, 1_000_000), np.random.default_rng(k)
        real = rng.normal(size=(n, 20))
        whole = rng.integers(0, 100, size=(n, 10))
        table = {f"r{i}": real[:, i] for i in range(20)} | {f"w{i}": whole[:, i] for i in range(10)}
        score = real[:, :5].sum(axis=1) + (whole[:, :3].sum(axis=1) - 150) / 30
        table["y"] = (score + rng.normal(size=n) * 2 > 1).astype(int)
        pd.DataFrame(table).to_parquet(folder / f"{k:03}.parquet", row_group_size=131_072)


class Watched(Thread):
    """The peak of what this process holds, with and without pages of mapped files."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peaks, self.ended = {"RssAnon": 0, "RssFile": 0, "VmRSS": 0}, Event()

    def run(self) -> None:
        while not self.ended.wait(0.05):
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in self.peaks:
                    self.peaks[name] = max(self.peaks[name], 1024 * int(value.split()[0]))


def stored(path: str, n_trees: int) -> None:
    forest = RecourseForestClassifier(n_estimators=n_trees, random_state=0, n_jobs=1)
    begun, wall, watched = cpu(), time.perf_counter(), Watched()
    watched.start()
    forest.fit(path, "y")
    watched.ended.set()
    gigabytes = {name: f"{peak / 1e9:.2f} GB" for name, peak in watched.peaks.items()}
    print(f"{forest._n_people:,} people, {n_trees} trees with {len(forest.ensemble_.leaves):,} "
          f"leaves: {cpu() - begun:.0f} s of CPU, {time.perf_counter() - wall:.0f} s; peaks: "
          f"{gigabytes['RssAnon']} of its own, {gigabytes['RssFile']} of mapped files, "
          f"{gigabytes['VmRSS']} together")  # fmt: skip


def training(n_people: int) -> None:
    """Trees divided, and people divided: quality of the model, and speed with 1 and 2 workers."""
    import dask
    import dask.dataframe as dd
    from sklearn.metrics import roc_auc_score

    from ract.apps.distributed import dask as scale

    tables = [load_loans(n_people, random_state=k) for k in (0, 1)]
    new = load_loans(1000, random_state=2)
    frames = [dd.from_pandas(t.frame.assign(y=np.asarray(t.target)), npartitions=8) for t in tables]

    def forest(n_trees=40, **given):
        return RecourseForestClassifier(
            tables[0].actions, n_estimators=n_trees, random_state=0, **given
        )

    with dask.config.set(scheduler="synchronous"):
        for n_parts in (1, 4, 10):
            rows = "all" if n_parts == 1 else "divided"
            one, other = (
                scale.fit(forest(), frame, "y", rows=rows, n_parts=n_parts) for frame in frames
            )
            score = one.predict_proba(new.frame)[:, list(one.classes_).index("approved")]
            auc = roc_auc_score(np.asarray(new.target) == "approved", score)
            line = f"people in {n_parts} part(s): AUC {auc:.4f}"
            for strength in (None, 0.8):
                plans = one.recourse(new.frame, strength=strength, explain=False)
                kept = other.predict(plans.counterfactuals[plans.found]) == "approved"
                line += (f"; strength {strength or 'needed'}: {plans.within_budget.mean():.3f} "
                         f"served, {kept.mean():.3f} of {plans.found.sum()} plans accepted by a "
                         "model of other people")  # fmt: skip
            print(line, flush=True)
    for n_workers in (1, 2):
        with scale.local_client(n_workers):
            scale.fit(forest(2), frames[0], "y")
            before, wall = cpu(), time.perf_counter()
            scale.fit(forest(), frames[0], "y")
            print(f"{n_workers} worker(s), 40 trees: {time.perf_counter() - wall:.1f} s, "
                  f"{cpu() - before:.1f} s of CPU", flush=True)  # fmt: skip


def main() -> None:
    what, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("engines", [])
    if what == "make":
        make(rest[0], int(float(rest[1])) if len(rest) > 1 else 10_000_000)
    elif what == "stored":
        stored(rest[0], int(rest[1]) if len(rest) > 1 else 2)
    else:
        run, default = {"engines": (engines, 200_000), "training": (training, 4000)}[what]
        run(int(float(rest[0])) if rest else default)


if __name__ == "__main__":
    main()

"""What engines cost beside one process, and what training on stored people takes.

    bench_scale.py engines [people]     CPU of Dask beside the local run; 1 and 2 workers
    bench_scale.py stored PATH [trees]  seconds and peak memory of a fit on Parquet, target "y"
    bench_scale.py training [people]    people divided among workers or not; 1 and 2 workers

CPU time is that of all processes, so that a busy machine matters less; wall time says what the
machine gave. Compiling is done before anything is measured.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from ract import RecourseForestClassifier
from ract.datasets import load_loans


def cpu() -> float:
    """Seconds of this process and of all that it has started and waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def of_workers(client) -> float:
    """Seconds of CPU that the workers have used."""
    return sum(client.run(cpu).values())


def started(n_workers):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=None, memory_limit=0
    )
    return cluster, Client(cluster)


def engines(n_people: int) -> None:
    import dask.dataframe as dd

    from ract.scale import Job
    from ract.scale import dask as scale

    loans, people = load_loans(5000), load_loans(n_people, random_state=1).frame
    model = RecourseForestClassifier(loans.actions, random_state=0).fit(loans.frame, loans.target)
    job = Job.of(model)
    job(people.head(500))
    begun, wall = cpu(), time.perf_counter()
    own = job(people)
    local, local_wall = cpu() - begun, time.perf_counter() - wall
    print(f"one process: {local:.1f} s of CPU, {local_wall:.1f} s; "
          f"{1e3 * local / n_people:.2f} ms of CPU a person")  # fmt: skip
    parts = dd.from_pandas(people, npartitions=max(4, n_people // 5000))
    begun = cpu()
    scale.recourse(model, parts).compute(scheduler="synchronous")
    print(f"Dask in the same process: {cpu() - begun:.1f} s of CPU "
          f"({(cpu() - begun) / local - 1:+.1%})", flush=True)  # fmt: skip
    for n_workers in (1, 2):
        cluster, client = started(n_workers)
        warm = scale.recourse(model, dd.from_pandas(people.head(200), npartitions=n_workers * 2))
        warm.compute()
        before, mine, wall = of_workers(client), cpu(), time.perf_counter()
        found = scale.recourse(model, parts).compute()
        seconds = time.perf_counter() - wall
        used, driver = of_workers(client) - before, cpu() - mine
        assert found["cost"].tolist() == own["cost"].tolist()
        print(f"Dask, {n_workers} worker(s): {used:.1f} s of CPU in workers, {driver:.1f} s in the "
              f"driver ({(used + driver) / local - 1:+.0%}); {seconds:.1f} s")  # fmt: skip
        client.close()
        cluster.close()


def stored(path: str, n_trees: int) -> None:
    forest = RecourseForestClassifier(n_estimators=n_trees, random_state=0, n_jobs=1)
    begun, wall = cpu(), time.perf_counter()
    forest.fit(path, "y")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{forest._n_people:,} people, {n_trees} trees with {len(forest.ensemble_.leaves):,} "
          f"leaves: {cpu() - begun:.0f} s of CPU, {time.perf_counter() - wall:.0f} s, "
          f"peak {peak:.2f} GB")  # fmt: skip


def training(n_people: int) -> None:
    """Trees divided, and people divided: quality of the model, and speed with 1 and 2 workers."""
    import dask
    import dask.dataframe as dd
    from sklearn.metrics import roc_auc_score

    from ract.scale import dask as scale

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
        cluster, client = started(n_workers)
        scale.fit(forest(2), frames[0], "y")
        before, wall = of_workers(client), time.perf_counter()
        scale.fit(forest(), frames[0], "y")
        print(f"{n_workers} worker(s), 40 trees: {time.perf_counter() - wall:.1f} s, "
              f"{of_workers(client) - before:.1f} s of CPU in workers", flush=True)  # fmt: skip
        client.close()
        cluster.close()


def main() -> None:
    what, rest = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("engines", [])
    if what == "stored":
        stored(rest[0], int(rest[1]) if len(rest) > 1 else 2)
    else:
        run = {"engines": engines, "training": training}[what]
        run(int(float(rest[0])) if rest else 20_000)


if __name__ == "__main__":
    main()

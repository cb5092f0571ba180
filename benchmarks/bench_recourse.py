"""Recourse for the same scikit-learn forest beside treecf and DiCE, in one run.

    pip install treecf dice-ml
    python benchmarks/bench_recourse.py [--people 20] [--trees 100] [--seconds 10]
    python benchmarks/bench_recourse.py --many 100000
    python benchmarks/bench_recourse.py --one
    python benchmarks/bench_recourse.py --effects [--people 100]
    python benchmarks/bench_recourse.py --letters [--people 60]
    python benchmarks/bench_recourse.py --fits

A forest of 100 trees of depth 8 on FICO, the same people, rules (directions, bounds, whole numbers)
and no budget. Prints, per method, the mean and worst time (ours: the mean
of one call for all, reading the model included), the share of people who get an answer, the share
served (their answer keeps every rule and the forest accepts it), the mean cost by our measure (the
largest percentile shift) among the people whom every method answers, and how many answers break a
rule or are refused. Libraries that are missing are left out.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from threading import Event, Thread

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold

from experiments.spaces.tables import TABLES
from ract import ActionSpace, RecourseBoostingClassifier, RecourseForestClassifier, find_recourse
from ract.data import datasets
from ract.data.costs import make_cost
from ract.data.effects import CausalEffects
from ract.data.encoder import Encoder


def setting(n_trees, n_people):
    """Forest, training table and target, refused people, action space with filled bounds."""
    data = datasets.fetch_fico()
    y = (data.target.to_numpy() == data.desired).astype(int)
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    known, new = data.frame.iloc[train], data.frame.iloc[test]
    forest = RandomForestClassifier(n_trees, max_depth=8, random_state=0).fit(known, y[train])
    refused = new[forest.predict(new) == 0].head(n_people)
    return forest, known, y[train], refused, Encoder(known, data.actions).space


def ours(forest, known, y, people, space, seconds):
    find_recourse(forest, people.head(1), actions=space, desired=1, reference=known)
    start = time.perf_counter()
    recourse = find_recourse(
        forest, people, actions=space, desired=1, reference=known, budget=np.inf,
        time_limit=seconds, explain=False, n_jobs=1,
    )  # fmt: skip
    each = (time.perf_counter() - start) / len(people)
    for i in range(len(people)):
        yield each, recourse.after[i] if recourse.found[i] else None


def quick(forest, known, y, people, space, seconds):
    yield from ours(forest, known, y, people, space, 0.25)


def treecf(backend):
    def run(forest, known, y, people, space, seconds):
        import treecf

        policy = {f.name: "integer" for f in space if f.kind != "continuous"}
        target = treecf.Target.raw(op=">=", value=0.5 + 1e-9)
        for row in people.to_numpy(float):
            rules = []
            for f, own in zip(space, row, strict=True):
                ends = (own, own) if f.change == "fixed" else allowed(f, own)
                rules.append(treecf.Range(f.name, *map(float, ends)))
            explainer = treecf.Explainer(
                forest, known.to_numpy(float), constraints=rules, value_policy=policy
            )
            start = time.perf_counter()
            answer = explainer.explain(row, target, backend=backend, time_budget_s=seconds, seed=0)
            after = getattr(answer, "x_cf", None)
            yield time.perf_counter() - start, None if after is None else np.asarray(after)

    return run


def dice(method):
    def run(forest, known, y, people, space, seconds):
        import dice_ml

        frame = known.astype(float).assign(target=y)
        data = dice_ml.Data(
            dataframe=frame, continuous_features=list(known.columns), outcome_name="target"
        )
        explainer = dice_ml.Dice(
            data, dice_ml.Model(model=forest, backend="sklearn"), method=method
        )
        free = [f.name for f in space if f.actionable]
        for i in range(len(people)):
            person = people.iloc[[i]].astype(float)
            ranges = {
                f.name: allowed(f, float(person[f.name].iloc[0])) for f in space if f.actionable
            }
            start = time.perf_counter()
            try:
                found = explainer.generate_counterfactuals(
                    person, total_CFs=1, desired_class=1, features_to_vary=free,
                    permitted_range=ranges, verbose=False,
                ).cf_examples_list[0].final_cfs_df  # fmt: skip
            except Exception:  # it raises when it finds nothing
                found = None
            after = None
            if found is not None and len(found):
                after = found[list(known.columns)].to_numpy(float)[0]
            yield time.perf_counter() - start, after

    return run


def allowed(feature, own):
    low = own if feature.change == "increase" else min(feature.lower, own)
    high = own if feature.change == "decrease" else max(feature.upper, own)
    return [low, high]


def violations(forest, people, space, after):
    """Which answers break a rule or are refused by the forest."""
    wrong = np.zeros(len(after), bool)
    for i, (own, values) in enumerate(zip(people.to_numpy(float), after, strict=True)):
        if values is None:
            continue
        bad = forest.predict(pd.DataFrame([values], columns=people.columns))[0] != 1
        for f, v, x in zip(space, values, own, strict=True):
            low, high = (x, x) if f.change == "fixed" else allowed(f, x)
            whole = f.kind == "continuous" or v == np.floor(v)
            bad = bad or not (low <= v <= high and whole)
        wrong[i] = bad
    return wrong


def many(n_people):
    """A large frame at once: time, and memory above what the frame and the model take."""
    import psutil

    loans, frame = datasets.load_loans(2000), datasets.load_loans(n_people, random_state=1).frame
    model = RecourseForestClassifier(loans.actions, n_estimators=50, random_state=0)
    model.fit(loans.frame, loans.target).recourse(frame.head(500), n_jobs=2)
    before, peak, done = psutil.Process().memory_info().rss, [0], Event()

    def look():
        while not done.wait(0.2):
            peak[0] = max(peak[0], psutil.Process().memory_info().rss)

    thread = Thread(target=look)
    thread.start()
    start = time.perf_counter()
    recourse = model.recourse(frame, n_jobs=2)
    seconds = time.perf_counter() - start
    done.set()
    thread.join()
    same = recourse.labels.equals(frame.index)
    print(
        f"{n_people} people in {seconds:.0f} s, {(peak[0] - before) / 1e6:.0f} MB above the start, "
        f"in order: {same}; {recourse}"
    )


def own_forest(n_people, **settings):
    """Our forest on FICO, the people it learned from, and refused people it has not seen."""
    data = datasets.fetch_fico()
    y = data.target.to_numpy()
    train, test = next(StratifiedKFold(10).split(data.frame, y))
    known, new = data.frame.iloc[train], data.frame.iloc[test]
    model = RecourseForestClassifier(data.actions, random_state=0, **settings).fit(known, y[train])
    return model, known, new[model.predict(new) != data.desired].head(n_people)


def effects(n_people):
    """CPU time of plans with effects, estimated (uncertain by 0.3) and taken as certain."""
    model, known, people = own_forest(n_people)
    found = CausalEffects.estimate(known)
    for uncertainty in (0.0, 0.3):
        given = replace(found, uncertainty=uncertainty)
        asked = {"effects": given, "reference": known, "n_jobs": 1}
        model.recourse(people.head(2), **asked)
        start = time.process_time()
        recourse = model.recourse(people, **asked)
        each = (time.process_time() - start) / len(people)
        unknown = np.mean([plan.status == "unknown" for plan in recourse])
        print(
            f"uncertainty {uncertainty}: {len(people)} people, {1e3 * each:.0f} ms of CPU each "
            f"(target 100), {unknown:.1%} unknown (target 5%); {recourse}"
        )


def one(n_people=60):
    """CPU time of one person at a time, and of all at once, on a forest with leaves of 20."""
    model, _, people = own_forest(n_people, min_samples_leaf=20, recourse_weight=0.3)
    model.recourse(people.head(2))
    each = []
    for i in range(len(people)):
        start = time.process_time()
        model.recourse(people.iloc[[i]], n_jobs=1)
        each.append(1e3 * (time.process_time() - start))
    start = time.process_time()
    model.recourse(people, n_jobs=1)
    together = 1e3 * (time.process_time() - start) / len(people)
    print(
        f"{len(people)} people, one at a time: mean {np.mean(each):.1f} ms of CPU, median "
        f"{np.median(each):.1f} (target: at most 8); all at once {together:.1f} each"
    )


def letters(n_people):
    """CPU time of the plans that letters carry, of models fitted with limits on three tables.

    The median over parts of five people asked for together, the mean of all of them at once, and
    the median of people asked about alone.
    """
    for name in ("fico", "loans", "credit_data"):
        data = TABLES[name].dataset()
        space = ActionSpace(data.actions.features, data.desired, limits="size", steps="round")
        space, y = space.complete(data.frame), data.target.to_numpy()
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        train, test = next(folds.split(data.frame, y))
        for kind in (RecourseBoostingClassifier, RecourseForestClassifier):
            model = kind(space, desired=data.desired, random_state=0, approval_rate=0.7)
            model.fit(data.frame.iloc[train], y[train])
            new = data.frame.iloc[test]
            people = new[model.predict(new) != data.desired].head(n_people)

            def spent(rows, model=model, people=people):
                start = time.process_time()
                model.recourse(people.iloc[rows], n_jobs=1)
                return 1e3 * (time.process_time() - start) / len(rows)

            everyone, alone = np.arange(len(people)), min(20, len(people))
            spent(everyone[:3])
            parts = [spent(rows) for rows in np.array_split(everyone, len(people) // 5)]
            print(
                f"{name:12} {kind.__name__:27} {len(people)} people, ms of CPU each: "
                f"{np.median(parts):.1f} in parts of five (median), {spent(everyone):.1f} at once, "
                f"{np.median([spent([i]) for i in range(alone)]):.1f} alone (target 5)",
                flush=True,
            )


def fits():
    """CPU time of fits with limits beside plain ones: interleaved, one thread, the least of four.

    On two fifths of each table. Plain models have no weight on recourse, no limits and no
    constraints; all approve the same share of people.
    """
    for name, rate in (("fico", 0.454), ("loans", 0.65), ("credit", 0.887), ("credit_data", 0.74)):
        data = TABLES[name].dataset()
        features, desired = data.actions.features, data.desired
        rows = np.random.default_rng(0).permutation(len(data.frame))[: 2 * len(data.frame) // 5]
        X, y = data.frame.iloc[rows], data.target.to_numpy()[rows]
        kinds = {"booster": RecourseBoostingClassifier, "forest": RecourseForestClassifier}
        weights = {"plain": {"recourse_weight": 0.0}, "limited": {}}
        least = {(kind, how): np.inf for kind in kinds for how in weights}
        for _ in range(4):
            for kind, how in least:
                space = ActionSpace(features, desired, None if how == "plain" else "size")
                given = {"approval_rate": rate, "random_state": 0, **weights[how]}
                start = time.process_time()
                kinds[kind](space, **given).fit(X, y)
                least[kind, how] = min(least[kind, how], time.process_time() - start)
        for kind in kinds:
            ratio = least[kind, "limited"] / least["forest", "plain"]
            own = least[kind, "limited"] / least[kind, "plain"]
            seconds = least[kind, "limited"]
            print(
                f"{name:12} {len(rows):6} people, {kind:8} with limits: {seconds:.2f} s of CPU, "
                f"{ratio:.1f} of a plain forest (target 6), {own:.1f} of a plain {kind}",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--many", type=int, help="only: so many people of the loans data at once")
    parser.add_argument("--one", action="store_true", help="only: one person at a time")
    parser.add_argument("--effects", action="store_true", help="only: plans with causal effects")
    parser.add_argument("--letters", action="store_true", help="only: plans as letters carry them")
    parser.add_argument("--fits", action="store_true", help="only: time of fits with limits")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    if options.many:
        many(options.many)
        return
    if options.one:
        one()
        return
    if options.effects:
        effects(options.people)
        return
    warnings.simplefilter("ignore")
    if options.fits:
        fits()
        return
    if options.letters:
        letters(options.people)
        return
    forest, known, y, people, space = setting(options.trees, options.people)
    cost = make_cost("percentile").fit(list(known.to_numpy(float).T), np.ones(known.shape[1]))
    methods = {
        "ract": ours, "ract, 1/4 s": quick, "treecf exact": treecf("exact"),
        "treecf genetic": treecf("genetic"), "DiCE random": dice("random"),
        "DiCE genetic": dice("genetic"),
    }  # fmt: skip
    results = {}
    for name, run in methods.items():
        try:
            pairs = list(run(forest, known, y, people, space, options.seconds))
        except ImportError as missing:
            print(f"{name}: left out ({missing})")
            continue
        results[name] = ([t for t, _ in pairs], [after for _, after in pairs])
    served = [np.array([a is not None for a in after]) for _, after in results.values()]
    by_all = np.logical_and.reduce(served)
    print(f"{len(people)} people; {by_all.sum()} answered by every method")
    print("method             mean s   worst s  answered   served   mean cost   broken rules")
    own = people.to_numpy(float)
    for (name, (times, after)), some in zip(results.items(), served, strict=True):
        costs = [cost.between(own[i], after[i])[0] for i in np.flatnonzero(by_all)]
        mean = np.mean(costs) if costs else np.nan
        wrong = violations(forest, people, space, after)
        print(
            f"{name:15} {np.mean(times):9.3f} {max(times):9.2f} {some.mean():9.0%} "
            f"{(some & ~wrong).mean():8.0%} {mean:11.3f} {wrong.sum():10}"
        )


if __name__ == "__main__":
    main()

"""CPU time of notices for 1000 people, on a forest of the FICO data with default settings.

    python benchmarks/bench_notices.py

Prints the CPU seconds of plans, of reasons and of pages apart. Kernels are compiled before.
"""

from __future__ import annotations

import time
from collections import Counter

from ract import RecourseForestClassifier
from ract.data.datasets import fetch_fico
from ract.notices import Notices, NoticeSettings
from ract.recourse import few_changes

N_PEOPLE = 1000
TIME_LIMIT = 0.03  # as ract notice has it


def main() -> None:
    fico = fetch_fico()
    people = fico.frame.sample(N_PEOPLE, random_state=0)
    train = fico.frame.drop(people.index)
    model = RecourseForestClassifier(fico.actions, random_state=0)
    model.fit(train, fico.target[train.index])
    options = {
        "n_alternatives": 2, "ranges": True, "at_least": True, "time_limit": TIME_LIMIT,
        "n_jobs": 1,
    }  # fmt: skip
    for X, is_counted in ((people.head(20), False), (people, True)):
        start = time.process_time()
        found = few_changes(model.recourse, X, **options)
        planned = time.process_time()
        refused = (~found.accepted).nonzero()[0]
        why = model.reasons(X.iloc[refused], reference=train, time_limit=TIME_LIMIT, n_jobs=1)
        explained = time.process_time()
        notices = Notices(model, NoticeSettings.suggest(model))
        for k, i in enumerate(refused.tolist()):
            notices.render(found[i], why[k])
        end = time.process_time()
        if is_counted:
            print(
                f"{len(X)} people, {len(refused)} notices: {dict(Counter(found.status.tolist()))}"
            )
            print(f"plans {planned - start:.1f} s, reasons {explained - planned:.1f} s, "
                  f"pages {end - explained:.1f} s, in all {end - start:.1f} s of CPU")  # fmt: skip


if __name__ == "__main__":
    main()

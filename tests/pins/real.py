"""Models of the four real tables, and what refused people can do: numbers only."""

from __future__ import annotations

from pathlib import Path

from tests.pins.loans import as_text, refused
from tests.pins.names import QUIET, REAL_MODELS, REAL_TABLES, model_fingerprint

N_TRAINED = 1500  # people to train on
N_ASKED = 25  # refused people who are asked after them


def real_pin(name: str, data_home: Path) -> str:
    """Models of a real table, and the status and the cost of people; never their values."""
    data = REAL_TABLES[name](data_home=data_home)
    rows, target = data.frame, data.target
    record = {}
    for kind, (learner, parameters) in REAL_MODELS.items():
        model = learner(data.actions, random_state=0, **parameters)
        model.fit(rows[:N_TRAINED], target[:N_TRAINED])
        asked = refused(model, rows[N_TRAINED:], N_ASKED)
        found = model.recourse(asked, explain=False, **QUIET)
        record[kind] = {
            "fingerprint": model_fingerprint(model), "accepted": int(
                (model.predict(rows) == data.desired).sum()),
            "status": found.status, "cost": found.cost, "changes": found.n_changes,
        }  # fmt: skip
    return as_text(record)

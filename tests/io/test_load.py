"""Reading model files: nothing comes in but what was written."""

import json
import subprocess
import sys
from copy import deepcopy

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)

from ract import (
    RecourseTreeClassifier,
    import_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.io.load import from_bytes
from ract.io.save import model_bytes
from ract.models.imported import ImportedClassifier
from tests.io.files import LOANS, NEW, NUMBERS, forest, free, nested_keys, repacked, set_meta


def test_an_imported_model_needs_no_library(tmp_path):
    library = pytest.importorskip("xgboost")
    target = (LOANS.target == "approved").astype(int)
    model = library.XGBClassifier(n_estimators=5).fit(NUMBERS, target)
    save_model(import_model(model, NUMBERS, free(NUMBERS)), tmp_path / "model.ract")
    NUMBERS.head(20).to_csv(tmp_path / "people.csv", index=False)
    code = (
        "import sys; sys.modules['xgboost'] = None; import pandas as pd, ract; "
        "load_model = ract.load_model;"
        f"m = load_model({str(tmp_path / 'model.ract')!r});"
        f"people = pd.read_csv({str(tmp_path / 'people.csv')!r});"
        "m.predict_proba(people); print(m.predict(people).tolist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == model.predict(NUMBERS.head(20)).tolist()


def test_a_file_of_the_next_version_may_know_more(good):
    held = from_bytes(repacked(good, set_meta("parameters", "new_parameter", 3)))
    assert not hasattr(held.model, "new_parameter")


# Fuzzing.
def mutated_bytes(data, rng):
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data)))
        what = rng.integers(5)
        if what == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif what == 1:
            data[at] = int(rng.integers(256))
        elif what == 2:
            del data[at : at + int(rng.integers(1, 200))]
        elif what == 3:
            data[at:at] = rng.bytes(int(rng.integers(1, 200)))
        else:
            other = int(rng.integers(len(data)))
            data[at : at + 50] = data[other : other + 50]
        if not data:
            break
    return bytes(data)


STRANGE = [
    None, True, -1, 0, 1, 2**31, 2**63, 10**400, 1e308, -0.0, "", "x", "continuous", "fixed", "inf",
    2**53 + 1, " " * 1600 + "x", "[" * 5000, nested_keys(12), [[]] * 1000, [[[[[[]]]]]] * 200,
    [], [1], [[]], {}, {"float": "nan"}, {"float": "inf"}, {"pairs": [[1, 2]]}, {"cost": "x"},
]  # fmt: skip


def places(meta, path=()):
    """Every place in JSON values."""
    children = meta.items() if isinstance(meta, dict) else enumerate(meta)
    for key, value in children:
        yield meta, key
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))


def mutated_content(rng):
    def change(meta, arrays):
        for _ in range(rng.integers(1, 3)):
            if rng.random() < 0.6:
                every = list(places(meta))
                holder, key = every[int(rng.integers(len(every)))]
                if isinstance(holder, dict) and rng.random() < 0.2:
                    del holder[key]
                else:
                    holder[key] = deepcopy(STRANGE[int(rng.integers(len(STRANGE)))])
                continue
            name = sorted(arrays)[int(rng.integers(len(arrays)))]
            array = arrays[name]
            what = rng.integers(4)
            if what == 0:
                arrays[name] = array[: int(rng.integers(len(array) + 1))]
            elif what == 1:
                arrays[name] = np.concatenate([array, array[:2]])
            else:
                at = int(rng.integers(array.size))
                values = (
                    [-1, 0, 1, 2, 127, 255] if array.dtype == np.uint8 else [-(2**31), 2**31 - 1]
                )
                values += [np.nan, np.inf, 1e308] if array.dtype == np.float64 else [0, 1, 5]
                value = values[int(rng.integers(len(values)))]
                with np.errstate(all="ignore"):
                    array.reshape(-1)[at] = np.array(value).astype(array.dtype)

    return change


def use(model):
    """Ask a model that was let in; it may refuse these people, in its own words."""
    people = NEW.frame.head(5)
    if isinstance(model, ImportedClassifier):
        people = people[list(NUMBERS.columns)]
    method = "exact" if model.cost_.norm == "max" else "leaves"
    try:
        model.predict_proba(people)
        model.recourse(people, time_limit=0.2, method=method, explain=method == "exact")
    except (InvalidSpec, InvalidData):
        return
    except ValueError as error:  # scikit-learn's own, on other columns
        if "feature names" not in str(error) and "features" not in str(error):
            raise


def of_all_kinds():
    """A file of each kind of model, between them with every kind of cost and link."""
    forest_ = forest(n_estimators=3, max_depth=3).fit(LOANS.frame, LOANS.target)
    tree = RecourseTreeClassifier(
        LOANS.actions, max_depth=3, cost="range", min_recourse=0.7, confidence=0.9, random_state=0
    ).fit(LOANS.frame, LOANS.target)
    target = LOANS.target == "approved"
    boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(NUMBERS, target)
    shares = RandomForestClassifier(3, max_depth=3, random_state=0).fit(NUMBERS, target)
    return [
        model_bytes(forest_, summary={"people": 600}),
        model_bytes(tree, certificates=[{"bound": 0.1}]),
        model_bytes(import_model(boosted, NUMBERS, free(NUMBERS), budget=0.3)),
        model_bytes(import_model(shares, NUMBERS, free(NUMBERS), cost="l1")),
    ]


def fuzz(n, seed):
    """How many of some mutated files were let in."""
    rng = np.random.default_rng(seed)
    files = of_all_kinds()
    let_in = 0
    for k in range(n):
        good = files[k // 2 % len(files)]
        data = mutated_bytes(good, rng) if k % 2 else repacked(good, mutated_content(rng))
        try:
            held = from_bytes(data)
        except InvalidFile:
            continue
        let_in += 1
        use(held.model)
    return let_in


# A file may come to declare nothing of what people may change, which asks for a warning.
harmless = pytest.mark.filterwarnings(
    "ignore:The model did not confirm", "ignore:What people may change", "ignore::RuntimeWarning"
)


@harmless
def test_mutated_files_never_do_harm():
    assert 0 < fuzz(150, seed=0) < 75


@pytest.mark.slow
@harmless
def test_ten_thousand_mutated_files_never_do_harm():
    assert 0 < fuzz(10_000, seed=1) < 5000

"""Model files: what comes back is what was saved, and nothing else comes in."""

import io
import json
import os
import subprocess
import sys
import tracemalloc
import zipfile
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ract import (
    ActionSpace,
    Feature,
    RecourseForestClassifier,
    RecourseTreeClassifier,
    find_recourse,
    import_model,
    load_model,
    save_model,
)
from ract._utils.errors import InvalidData, InvalidFile, InvalidSpec
from ract.data.costs import PercentileCost, ScaledCost
from ract.data.datasets import load_loans
from ract.io import read_model_file
from ract.io.archive import pack
from ract.io.arrays import from_npy, to_npy
from ract.io.load import from_bytes
from ract.io.save import model_bytes
from ract.io.strict_json import parse_json
from ract.models.imported import ImportedClassifier
from ract.trees import model_fingerprint

LOANS = load_loans(600)
NEW = load_loans(200, random_state=1)
NUMBERS = LOANS.frame[["Age", "Income", "Debt", "Savings", "LoanAmount"]]


def free(people):
    """An action space in which everything may change."""
    return ActionSpace(map(Feature, people.columns), limits=None)


def again(model, tmp_path):
    path = tmp_path / "model.ract"
    save_model(model, path)
    return load_model(path)


def same(one, other, people):
    assert np.array_equal(one.predict(people), other.predict(people))
    assert one.predict(people).dtype == other.predict(people).dtype
    assert np.array_equal(one.predict_proba(people), other.predict_proba(people))
    first, second = (model.recourse(people.head(25)) for model in (one, other))
    pd.testing.assert_frame_equal(first.to_frame(), second.to_frame())
    assert model_fingerprint(one) == model_fingerprint(other)


def forest(**given):
    settings = {"n_estimators": 10, "max_depth": 5, "random_state": 0} | given
    return RecourseForestClassifier(LOANS.actions, **settings)


@pytest.mark.parametrize(
    "model",
    [
        forest(),
        forest(cost="range", budget=0.5),
        forest(cost=PercentileCost("kernel"), min_recourse=0.7,
               random_state=np.random.RandomState(0)),
        forest(cost=ScaledCost("std"), budget=float("inf"), class_weight={"approved": 2.0}),
        forest(min_leaf_share=0.4, recourse_weight=0.3),
        forest(oob_score=True, monotonic={"Income": 1}, n_estimators=30),
        RecourseTreeClassifier(LOANS.actions, max_depth=4),
        RecourseTreeClassifier(LOANS.actions, max_depth=4, min_recourse=0.8, confidence=0.9,
                               random_state=0),
    ],
)  # fmt: skip
def test_trained_models_come_back_bit_for_bit(model, tmp_path):
    model = clone(model).fit(LOANS.frame, LOANS.target)
    loaded = again(model, tmp_path)
    assert type(loaded) is type(model)
    same(model, loaded, NEW.frame)
    for name in ("guarantee_", "recourse_risk_", "oob_score_", "oob_recourse_ratio_", "desired_"):
        assert getattr(model, name, None) == getattr(loaded, name, None)
    loaded_params, given = loaded.get_params(), model.get_params()
    for name in given.keys() - {"random_state"}:
        assert loaded_params[name] == given[name], name
    assert loaded.recourse_risk(NEW.frame) == model.recourse_risk(NEW.frame)


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (("no", "yes"), None),
        (("no", "yes"), object),
        ((0, 1), None),
        ((0, 1), np.uint8),
        ((False, True), None),
        ((1.0, 2.0), None),
        ((3, -3), np.float32),
    ],
)
def test_classes_keep_their_type(labels, kind, tmp_path):
    target = np.where(LOANS.target == "approved", labels[1], labels[0])
    target = target if kind is None else target.astype(kind)
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2, desired=labels[1])
    model.fit(LOANS.frame, target)
    loaded = again(model, tmp_path)
    assert loaded.classes_.dtype == model.classes_.dtype
    assert type(loaded.desired_) is type(model.desired_)
    same(model, loaded, NEW.frame)


def test_arrays_and_awkward_columns(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3)).round(1)
    model = RecourseForestClassifier(desired=True, n_estimators=5, random_state=0)
    model.fit(X, X[:, 0] > 0)
    loaded = again(model, tmp_path)
    assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert not hasattr(loaded, "feature_names_in_")
    frame = pd.DataFrame({"größe": X[:, 0], 'a=b, "c"\n': X[:, 1] > 0, "x": [1, 2, 3] * 100})
    space = free(frame)
    model = RecourseTreeClassifier(space, desired=True, max_depth=3).fit(frame, X[:, 2] > 0)
    same(model, again(model, tmp_path), frame)


def pipeline():
    chosen = ["Education", "Purpose"]
    numbers = [name for name in LOANS.frame if name not in chosen]
    prepare = ColumnTransformer(
        [("words", OneHotEncoder(), chosen), ("numbers", StandardScaler(), numbers)]
    )
    return make_pipeline(prepare, GradientBoostingClassifier(n_estimators=20, random_state=0))


def lightgbm():
    library = pytest.importorskip("lightgbm")
    return library.LGBMClassifier(n_estimators=20, verbose=-1, random_state=0)


def xgboost():
    library = pytest.importorskip("xgboost")
    return library.XGBClassifier(n_estimators=20, random_state=0)


@pytest.mark.parametrize(
    ("make", "columns"),
    [
        (lambda: DecisionTreeClassifier(max_depth=4, random_state=0), NUMBERS.columns),
        (lambda: RandomForestClassifier(20, max_depth=6, random_state=0), NUMBERS.columns),
        (lambda: HistGradientBoostingClassifier(max_iter=20, random_state=0), NUMBERS.columns),
        (pipeline, LOANS.frame.columns),
        (lightgbm, NUMBERS.columns),
        (xgboost, NUMBERS.columns),
    ],
)
def test_imported_models_come_back_bit_for_bit(make, columns, tmp_path):
    people, target = LOANS.frame[list(columns)], (LOANS.target == "approved").astype(int)
    model = make().fit(people, target)
    imported = import_model(
        model, people, free(people), budget=0.3, cost=PercentileCost(exact=True)
    )
    loaded = again(imported, tmp_path)
    new = NEW.frame[list(columns)]
    same(imported, loaded, new)
    assert np.array_equal(loaded.predict(new), model.predict(new))
    own = model.predict_proba(new)[:, 1]
    single = own.dtype == np.float32
    assert np.allclose(loaded.predict_proba(new)[:, 1], own, rtol=1e-6 if single else 0, atol=0)
    straight = find_recourse(
        model, new.head(25), actions=free(people), reference=people, budget=0.3
    )
    assert np.array_equal(straight.cost, loaded.recourse(new.head(25)).cost)
    assert loaded.score(new, model.predict(new)) == 1
    assert imported.source.split(".")[0] in ("sklearn", "lightgbm", "xgboost")


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


def test_what_stands_beside_the_model(tmp_path):
    model = forest().fit(LOANS.frame, LOANS.target)
    path = tmp_path / "model.ract"
    records = [{"claim": "at most 5% without recourse", "bound": 0.05}]
    save_model(model, path, summary={"people": 600}, certificates=records)
    held = read_model_file(path)
    assert held.kind == "forest" and held.summary == {"people": 600}
    assert list(held.certificates) == records
    assert held.fingerprint == model_fingerprint(model)
    with pytest.raises(InvalidSpec, match="summary must be a dict of JSON values"):
        save_model(model, path, summary={"rate": float("nan")})


def test_a_whole_number_as_budget_keeps_the_fingerprint(tmp_path):
    model = forest(budget=1).fit(LOANS.frame, LOANS.target)
    assert model_fingerprint(again(model, tmp_path)) == model_fingerprint(model)


def test_equal_models_give_equal_files():
    files = [model_bytes(forest().fit(LOANS.frame, LOANS.target)) for _ in range(2)]
    assert files[0] == files[1]


class OwnCost(ScaledCost):
    pass


def test_what_cannot_be_stored_is_refused(tmp_path):
    model = forest(cost=OwnCost("range")).fit(LOANS.frame, LOANS.target)
    with pytest.raises(InvalidSpec, match="The cost is a OwnCost of your own"):
        save_model(model, tmp_path / "model.ract")
    plain = DecisionTreeClassifier(max_depth=2).fit(NUMBERS, LOANS.target)
    with pytest.raises(InvalidSpec, match="import_model"):
        save_model(plain, tmp_path / "model.ract")
    with pytest.raises(InvalidSpec, match="one of ract's own"):
        import_model(forest().fit(LOANS.frame, LOANS.target), LOANS.frame)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "model.ract"
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target)
    save_model(model, path)
    before = path.read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        save_model(model.set_params(budget=0.9), path)
    assert path.read_bytes() == before and len(list(tmp_path.iterdir())) == 1


# Damaged and foreign files.


@pytest.fixture(scope="module")
def good():
    model = forest(n_estimators=3, max_depth=3).fit(LOANS.frame, LOANS.target)
    return model_bytes(model, summary={"people": 600})


def members_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def repacked(data, change):
    """A file whose checksums are right and whose content was changed."""
    members = members_of(data)
    head = json.loads(members.pop("manifest.json"))
    meta = json.loads(members["model.json"])
    arrays = {n: from_npy(held, n) for n, held in members.items() if n.endswith(".npy")}
    change(meta, arrays)
    members = {"model.json": json.dumps(meta).encode()}
    members |= {name: to_npy(array) for name, array in arrays.items()}
    return pack(members, {key: head[key] for key in ("ract", "kind", "fingerprint")})


def test_files_that_are_none(tmp_path, good):
    for content, message in [
        (b"", "empty"),
        (b"Income,Age\n1,2\n", "not a model file"),
        (good[:-10], "not a model file, or it is damaged"),
        (good[: len(good) // 2], "damaged"),
    ]:
        path = tmp_path / "model.ract"
        path.write_bytes(content)
        with pytest.raises(InvalidFile, match=message) as caught:
            load_model(path)
        assert str(path) in str(caught.value) and "\n" not in str(caught.value)
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "nothing.ract")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("word/document.xml", "<x/>")
    with pytest.raises(InvalidFile, match="a zip file but not a model file"):
        load_model(tmp_path / "other.zip")


def test_a_newer_format_is_named(good):
    members = members_of(good)
    manifest = json.loads(members.pop("manifest.json")) | {"version": 3, "ract": "9.0"}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in {"manifest.json": json.dumps(manifest), **members}.items():
            archive.writestr(name, content)
    with pytest.raises(InvalidFile, match="written by ract 9.0.*upgrade"):
        from_bytes(out.getvalue())


def test_a_bomb_is_not_unpacked():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * 200_000_000)
    with pytest.raises(InvalidFile, match="claims to unpack"):
        from_bytes(out.getvalue())


@pytest.mark.parametrize(
    "text",
    [
        b"[" + b"[]," * 3_000_000 + b"1]",
        b'{"a":[' + b"[[[[[[[[]]]]]]]]," * 400_000 + b"1]}",
        b'{"a":[' + b'{"":{"":{}}},' * 600_000 + b"1]}",
        b"[" * 8_000_000,
        b'{"a":' * 1_500_000,
        b'{"a":"' + b'\\"' * 4_000_000,
        b'"' * 8_000_000,
    ],
    ids=["long", "lists", "objects", "open", "open objects", "escapes", "quotes"],
)
def test_json_is_not_parsed_before_its_length_and_depth_are_known(good, text):
    """A file of 58 kB took 1.8 GB before it was refused."""
    members = members_of(good)
    head = json.loads(members.pop("manifest.json"))
    members["model.json"] = text
    data = pack(members, {key: head[key] for key in ("ract", "kind", "fingerprint")})
    del text, members
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match=r"larger than in any|allowed|is not JSON"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 1e8
    finally:
        tracemalloc.stop()


def test_a_member_is_not_unpacked_beyond_the_length_that_it_claims(good):
    """Lengths in a zip file are claims: 60 MB behind a claim of 300 bytes were unpacked."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * 60_000_000)
        archive.infolist()[0].file_size = 300
    data = out.getvalue()
    tracemalloc.start()
    try:
        with pytest.raises(InvalidFile, match="damaged"):
            from_bytes(data)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_brackets_inside_texts_are_no_nesting():
    deep = {"a\\": "[" * 100, 'b"\\"': ["{" * 100, '\\"[['] * 20, "c": "\\"}
    assert parse_json(json.dumps(deep).encode()) == deep
    for n, fits in ((32, True), (33, False)):
        text = b"[" * n + b"]" * n
        if fits:
            parse_json(text)
            continue
        with pytest.raises(ValueError, match="is nested too deep; 32 levels are allowed"):
            parse_json(text)
    for text in (b"", b"{", b"NaN", b"[1e5, -Infinity]", b"9" * 5000, b"\xff", b'"\\'):
        with pytest.raises(ValueError, match="is not JSON"):
            parse_json(text)


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    model = RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target)
    deep = 1
    for _ in range(40):
        deep = [deep]
    for summary in ({"a": deep}, {"a": "x" * 9_000_000}, {"a": [[]] * 300_000}):
        with pytest.raises(InvalidSpec, match="cannot be stored: its JSON"):
            save_model(model, tmp_path / "model.ract", summary=summary)
    assert not list(tmp_path.iterdir())


def test_a_pickle_inside_is_not_run(good):
    class Evil:
        def __reduce__(self):
            return (os.abort, ())

    out = io.BytesIO()
    np.save(out, np.array([Evil()], dtype=object), allow_pickle=True)
    members = members_of(good)
    head = json.loads(members.pop("manifest.json"))
    members["ensemble.value.npy"] = out.getvalue()
    with pytest.raises(InvalidFile, match="not an array of plain numbers"):
        from_bytes(pack(members, {key: head[key] for key in ("ract", "kind", "fingerprint")}))


def set_array(name, at, value):
    def change(meta, arrays):
        arrays[f"{name}.npy"][at] = value

    return change


def nested_keys(depth):
    """A table whose key is a table, and so on."""
    value = 1
    for _ in range(depth):
        value = {"pairs": [[value, 1]]}
    return value


def set_meta(*path):
    *path, key, value = path

    def change(meta, arrays):
        for step in path:
            meta = meta[step]
        meta[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (set_array("ensemble.left", 0, 0), "leads back"),
        (set_array("ensemble.left", 0, 2), "no parent or more than one"),
        (set_array("ensemble.right", 0, 2**31 - 1), "out of its tree"),
        (set_array("ensemble.feature", 0, 999), "column that there is not"),
        (set_array("ensemble.feature", 0, -2), "."),
        (set_array("ensemble.root", 1, 1), "."),
        (set_array("ensemble.root", 0, 1), "one after the other"),
        (set_array("ensemble.threshold", 0, np.nan), "not finite"),
        (set_array("ensemble.value", 0, np.inf), "not finite"),
        (set_array("ensemble.label", 0, 2), "label"),
        (set_array("cost.ends", 1, 10**9), "."),
        (set_array("cost.knots", 0, 1e300), "goes down"),
        (set_meta("model", "ensemble", "cutoff", 4), "votes of 3 trees"),
        (set_meta("model", "ensemble", "cutoff", 0), "votes of 3 trees"),
        (set_meta("model", "ensemble", "cutoff", True), "cutoff"),
        (set_meta("model", "ensemble", "combine", "sum"), "neither vote nor have a mean"),
        (set_meta("model", "classes", ["approved"]), "two different"),
        (set_meta("model", "classes", ["approved", ["refused"]]), "classes"),
        (set_meta("model", "desired", "perhaps"), "not among its classes"),
        (set_meta("class_type", "|V8"), "type"),
        (set_meta("class_type", "<i8"), "type"),
        (set_meta("model", "budget", -1), "budget"),
        (set_meta("model", "budget", 10**400), "too large"),
        (set_meta("model", "encoder", "columns", ["a"]), "does not cover"),
        (set_meta("model", "encoder", "space", "features", 0, "kind", None), "blanks"),
        (set_meta("model", "encoder", "space", "features", 0, "lower", 1e9), "above upper bound"),
        (set_meta("model", "cost", "norm", "l2"), "norm"),
        (set_meta("parameters", "class_weight", nested_keys(300)), "nested too deep"),
        (set_meta("certificates", [1]), "certificate"),
        (set_meta("fitted", []), "fitted"),
    ],
)
def test_right_checksums_do_not_excuse_wrong_content(good, change, complaint):
    with pytest.raises(InvalidFile, match=complaint):
        from_bytes(repacked(good, change))


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
        model_bytes(import_model(shares, NUMBERS, free(NUMBERS), cost="mahalanobis")),
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

"""The paper's data and Adult: contents, action spaces, files, and downloads over loopback."""

from __future__ import annotations

import hashlib
import re
import socket
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pandas as pd
import pytest

from ract._utils.errors import InvalidData
from ract.data import datasets
from ract.data.encoder import Encoder

FETCHERS = {
    "fico": datasets.fetch_fico,
    "compas": datasets.fetch_compas,
    "credit": datasets.fetch_credit,
    "bail": datasets.fetch_bail,
    "adult": datasets.fetch_adult,
}
FILES = {
    "fico": "fico.csv",
    "compas": "compas.csv",
    "credit": "credit_processed.csv",
    "bail": "bail.csv",
    "adult": "rabit/adult.csv",
}
SHAPES = {
    "fico": (9871, 23),
    "compas": (6167, 14),
    "credit": (30000, 16),
    "bail": (8923, 16),
    "adult": (48842, 9),
}
REPEATED_ROWS = {"fico": 1, "compas": 2423, "credit": 1233, "bail": 4406, "adult": 22775}
UNDESIRED = {
    "fico": "bad",
    "compas": "reoffends",
    "credit": "defaults",
    "bail": "reoffends",
    "adult": "<=50K",
}


@pytest.fixture(scope="module")
def data_folder(data_home):
    """A folder with all files, or skip: nothing is ever downloaded from afar."""
    absent = [file for file in FILES.values() if not (data_home / file).exists()]
    if absent:
        pytest.skip(f"{data_home} lacks {', '.join(absent)}")
    return data_home


@pytest.fixture(scope="module", params=list(FETCHERS))
def data(request, data_folder):
    return FETCHERS[request.param](data_home=data_folder)


# --- the real files ---------------------------------------------------------------------------


def test_features_keep_the_order_of_the_file(data, data_folder):
    header = (data_folder / FILES[data.name]).read_text().splitlines()[0].split(",")
    assert list(data.frame.columns) == [name for name in header if name != data.target.name]
    assert data.frame.shape == SHAPES[data.name]


def test_class_0_is_the_desired_label(data, data_folder):
    raw = pd.read_csv(data_folder / FILES[data.name])[data.target.name]
    classes = (">50K", "<=50K") if data.name == "adult" else (0, 1)
    assert list(data.target == data.desired) == list(raw == classes[0])
    assert list(data.target == UNDESIRED[data.name]) == list(raw == classes[1])
    assert data.actions.desired == data.desired


def test_action_space_is_the_papers_feature_table(data, data_folder):
    if data.name == "adult":
        pytest.skip("Adult is not a data set of the paper")
    paper = data_folder.parent / "paper" / "ract-icml2024.tex"
    if not paper.exists():
        pytest.skip("the paper's source, which holds the feature tables, is not beside the data")
    expected = feature_table(paper.read_text(), data.name)
    pd.testing.assert_frame_equal(data.actions.describe(), expected, check_dtype=False)


def feature_table(tex, name):
    """The rows between midrule and bottomrule of the table whose caption names the data set."""
    title = {"fico": "FICO", "compas": "COMPAS", "credit": "Credit", "bail": "Bail"}[name]
    start = tex.index(f"Details of each feature of the {title} dataset")
    body = tex[tex.index(r"\midrule", start) : tex.index(r"\bottomrule", start)]
    rows = []
    for line in body.splitlines()[1:]:
        cells = [c.strip().replace(r"\_", "_") for c in line.replace(r"\\", "").split("&")]
        if len(cells) == 6:
            rows.append([*cells[:2], float(cells[2]), float(cells[3]), *cells[4:]])
    columns = ["feature", "type", "min", "max", "immutable", "constraint"]
    return pd.DataFrame(rows, columns=columns)


def test_declared_groups_hold_one_1_per_person(data):
    groups = {f.name: f.columns for f in data.actions if f.columns}
    assert set(groups) == ({"race", "c_charge_degree"} if data.name == "compas" else set())
    for columns in groups.values():
        assert (data.frame[list(columns)].sum(axis=1) == 1).all()


def test_credit_age_columns_overlap(data_folder):
    """Why they are not declared as a group."""
    credit = datasets.fetch_credit(data_home=data_folder)
    columns = ["Age_lt_25", "Age_in_25_to_40", "Age_in_40_to_59", "Age_geq_60"]
    per_person = credit.frame[columns].sum(axis=1)
    assert per_person.value_counts().to_dict() == {1: 29_130, 2: 870}
    assert not any(credit.actions[name].actionable for name in columns)


def test_the_encoder_takes_the_data_with_its_own_action_space(data):
    encoder = Encoder(data.frame, data.actions)
    assert encoder.feature_names == tuple(data.frame.columns)
    if data.name != "adult":  # text becomes columns of its own
        assert encoder.column_names == tuple(data.frame.columns)


def test_adult_has_the_feature_rules_of_rabit(data_folder):
    actions = datasets.fetch_adult(data_home=data_folder).actions
    fixed = {feature.name for feature in actions if feature.change == "fixed"}
    assert fixed == {"marital-status", "race", "gender", "native-country"}
    assert {feature.name for feature in actions if feature.is_categorical} == fixed
    assert {f.name for f in actions if f.change == "increase"} == {"age"}


def test_dropping_repeats_keeps_the_first_of_equal_rows(data, data_folder):
    """A repeat equals an earlier row in all features and the target."""
    distinct = FETCHERS[data.name](data_home=data_folder, drop_duplicates=True)
    assert len(data.frame) - len(distinct.frame) == REPEATED_ROWS[data.name]
    rows = [tuple(r) for r in pd.concat([data.frame, data.target], axis=1).to_numpy()]
    kept = [tuple(r) for r in pd.concat([distinct.frame, distinct.target], axis=1).to_numpy()]
    assert kept == list(dict.fromkeys(rows))
    assert distinct.frame.index.equals(pd.RangeIndex(len(kept)))
    assert distinct.target.index.equals(distinct.frame.index)
    assert distinct.actions == data.actions


def test_folder_from_the_environment(data_folder, monkeypatch):
    monkeypatch.setenv("RACT_DATA_HOME", str(data_folder))
    assert datasets.fetch_bail().frame.shape == SHAPES["bail"]


def test_a_truncated_file_is_refused_and_kept(data_folder, tmp_path):
    whole = (data_folder / "bail.csv").read_bytes()
    (tmp_path / "bail.csv").write_bytes(whole[:-100])
    with pytest.raises(InvalidData) as caught:
        datasets.fetch_bail(data_home=tmp_path)
    message = str(caught.value)
    for part in (
        str(tmp_path / "bail.csv"),
        hashlib.sha256(whole).hexdigest(),
        hashlib.sha256(whole[:-100]).hexdigest(),
    ):
        assert part in message
    assert (tmp_path / "bail.csv").read_bytes() == whole[:-100]


# --- downloads, from a small stand-in served on loopback --------------------------------------

CONTENT = b"RiskPerformance,ExternalRiskEstimate,NumInqLast6M\n1,55,0\n0,80,2\n0,80,2\n"


@pytest.fixture
def stand_in(monkeypatch):
    """FICO replaced by three rows; no proxy between us and loopback, no folder by default."""
    source = replace(
        datasets._SOURCES["fico"],
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        fixed=("ExternalRiskEstimate",),
    )
    monkeypatch.setitem(datasets._SOURCES, "fico", source)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("RACT_DATA_HOME", raising=False)
    return source


def move(monkeypatch, name, url):
    """Let a data set be downloaded from another address."""
    source = replace(datasets._SOURCES[name], url=url)
    monkeypatch.setitem(datasets._SOURCES, name, source)


@contextmanager
def serving(monkeypatch, *, status=200, body=CONTENT, announced=None):
    """A server on loopback that gives every request one answer; yields the paths asked for."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(announced or len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        for name, path in (("fico", "files/fico.csv"), ("adult", "tables/adult.csv")):
            move(monkeypatch, name, f"http://127.0.0.1:{server.server_port}/{path}")
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()


def test_a_download_is_kept_and_not_repeated(stand_in, tmp_path, monkeypatch):
    folder = tmp_path / "new" / "folder"
    with serving(monkeypatch) as asked:
        first = datasets.fetch_fico(data_home=folder)
        second = datasets.fetch_fico(data_home=str(folder), drop_duplicates=True)
    assert asked == ["/files/fico.csv"]
    assert [path.name for path in folder.iterdir()] == ["fico.csv"]
    assert list(first.target) == ["bad", "good", "good"]
    assert list(second.target) == ["bad", "good"]
    assert first.actions["ExternalRiskEstimate"].change == "fixed"
    assert first.actions["NumInqLast6M"].upper == 2


def test_adult_is_downloaded_into_a_folder_of_its_own(stand_in, tmp_path, monkeypatch):
    """Another repository has other files of the same names; its labels are text."""
    body = b"age,race,income\n25,Black,<=50K\n38,White,>50K\n"
    sha256 = hashlib.sha256(body).hexdigest()
    source = replace(datasets._SOURCES["adult"], sha256=sha256, fixed=("race",))
    monkeypatch.setitem(datasets._SOURCES, "adult", source)
    with serving(monkeypatch, body=body) as asked:
        data = datasets.fetch_adult(data_home=tmp_path)
    assert asked == ["/tables/adult.csv"]
    assert (tmp_path / "rabit" / "adult.csv").read_bytes() == body
    assert list(data.target) == ["<=50K", ">50K"]
    assert data.actions["age"].change == "increase"


def test_without_a_folder_the_users_cache_is_used(stand_in, tmp_path, monkeypatch):
    import pooch

    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / name)
    with serving(monkeypatch):
        datasets.fetch_fico()
    assert (tmp_path / "ract" / "fico.csv").read_bytes() == CONTENT


def test_a_download_with_another_hash_is_not_kept(stand_in, tmp_path, monkeypatch):
    with serving(monkeypatch, body=CONTENT + b"1,1,1\n"), pytest.raises(InvalidData) as caught:
        datasets.fetch_fico(data_home=tmp_path)
    message = str(caught.value)
    assert "/files/fico.csv" in message
    assert stand_in.sha256 in message
    assert hashlib.sha256(CONTENT + b"1,1,1\n").hexdigest() in message
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_download_is_not_kept(stand_in, tmp_path, monkeypatch):
    with (
        serving(monkeypatch, body=CONTENT[:20], announced=len(CONTENT)),
        pytest.raises(datasets.DataUnavailable),
    ):
        datasets.fetch_fico(data_home=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_remote_file_says_what_to_do(stand_in, tmp_path, monkeypatch):
    with (
        serving(monkeypatch, status=404, body=b"no"),
        pytest.raises(datasets.DataUnavailable, match="status 404") as caught,
    ):
        datasets.fetch_fico(data_home=tmp_path)
    assert_says_what_to_do(str(caught.value), tmp_path)
    assert caught.value.__suppress_context__  # the reader is spared the chain of library errors
    assert caught.value.__context__.response.raw.closed  # no connection is left open


def test_no_connection_says_what_to_do(stand_in, tmp_path, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]  # bound but not listening: connections are refused
        move(monkeypatch, "fico", f"http://127.0.0.1:{port}/files/fico.csv")
        with pytest.raises(OSError, match="ConnectionError") as caught:
            datasets.fetch_fico(data_home=tmp_path)
    assert_says_what_to_do(str(caught.value), tmp_path)


def assert_says_what_to_do(message, folder):
    for part in (datasets._SOURCES["fico"].url, str(folder), "data_home", "RACT_DATA_HOME"):
        assert part in message
    assert len(re.findall(r"\.(?:\s|$)", message)) == 1  # one sentence


@pytest.mark.parametrize("source", datasets._SOURCES.values(), ids=datasets._SOURCES)
def test_downloads_are_pinned_to_one_commit_of_the_authors_repository(source):
    repository = source.folder or "ract"
    pattern = rf"https://raw\.githubusercontent\.com/kelicht/{repository}/[0-9a-f]{{40}}/\S*datasets/\w+.csv"
    assert re.fullmatch(pattern, source.url)

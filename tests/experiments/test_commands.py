"""The commands that run the experiments."""

import pytest
from typer.testing import CliRunner

from experiments.benchmark.__main__ import app as benchmark
from experiments.paper import reproduce as repro
from experiments.reproduce import app as reproduce
from ract.data.datasets import DataUnavailable

runner = CliRunner()


def test_commands_run_and_say_what_they_wrote(tmp_path, small):
    pytest.importorskip("matplotlib")
    out = str(tmp_path / "out")
    result = runner.invoke(reproduce, ["forests", "--data", "compas,bail", "--n-folds", "1",
                                 "--output", out])  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "comparison.md" in result.output
    assert (tmp_path / "out" / "forests" / "bail.csv").exists()
    one = ["--data", "compas", "--model", "ract", "--n-folds", "1", "--output", out]
    result = runner.invoke(benchmark, one)
    assert result.exit_code == 0, result.output
    assert "lasting, calibrated" in (tmp_path / "out" / "benchmark.md").read_text()


@pytest.mark.parametrize(
    ("command", "arguments", "message"),
    [
        (reproduce, ["forrests"], "Unknown experiment 'forrests'; known are 'forests', 'trees'"),
        (reproduce, ["--data", "adult"], "Unknown data set 'adult'; known are 'fico', 'compas'"),
        (reproduce, ["--n-folds", "0"], "folds must be 1 or more, got 0"),
        (benchmark, ["--model", "catboost"], "Unknown model 'catboost'; known are 'ract'"),
        (reproduce, ["--recorded", "nowhere"], "no folder of recorded results at nowhere"),
    ],
)
def test_wrong_input_is_one_sentence_and_nothing_is_written(command, arguments, message, tmp_path):
    out = tmp_path / "out"
    result = runner.invoke(command, [*arguments, "--output", str(out)])
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert not out.exists()


def test_missing_data_is_reported(tmp_path, small, monkeypatch):
    def unavailable(data, **_):
        raise DataUnavailable("Could not download fico.csv; set RACT_DATA_HOME.")

    monkeypatch.setattr(repro, "load", unavailable)
    out = tmp_path / "out"
    result = runner.invoke(reproduce, ["forests", "--data", "fico", "--output", str(out)])
    assert result.exit_code == 2 and "RACT_DATA_HOME" in result.output
    assert not out.exists()

"""Tables made to break a reader: a sentence with the file's line, in time linear in their size."""

import time

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from ract import ActionSpace, RecourseTreeClassifier, save_model
from ract._utils.errors import InvalidData
from ract.apps.cli import app
from ract.data.csv import TableFormat
from ract.data.csv.files import read_whole
from ract.data.csv.read import refuse_formatted_numbers
from ract.data.datasets import load_loans
from tests.apps.cli.builders import failing, fit, written

LOANS = load_loans(200)
DATA = LOANS.frame.assign(Decision=LOANS.target)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "model.ract"
    save_model(
        RecourseTreeClassifier(LOANS.actions, max_depth=2).fit(LOANS.frame, LOANS.target), path
    )
    return path


def test_numbers_are_read_to_the_last_digit_and_without_a_warning(tmp_path):
    """An option of pandas that older versions need is deprecated in newer ones."""
    bits = np.random.default_rng(0).integers(0, 2**63, 20_000, dtype=np.int64)
    numbers = bits.view(np.float64)
    numbers = np.append(numbers[np.isfinite(numbers)], [5e-324, 1.7976931348623157e308, 0.1 + 0.2])
    path = tmp_path / "numbers.csv"
    path.write_text("\n".join(["a", *map(repr, numbers.tolist())]))
    assert np.array_equal(read_whole(str(path), TableFormat())["a"].to_numpy(), numbers)


def with_cell(column, row, text, frame=DATA):
    frame = frame.astype({column: object})
    frame.loc[row, column] = text
    return frame


@pytest.mark.parametrize("n_digits", [20, 400, 5000])
@pytest.mark.parametrize("column", ["Income", "Age"])
def test_a_number_of_many_digits_is_refused_in_a_sentence(tmp_path, model, column, n_digits):
    whole = DATA.astype({"Income": int})
    path = written(tmp_path, "data.csv", with_cell(column, 3, "9" * n_digits, whole))
    arguments = [fit(path, tmp_path / "model.ract")]
    if column == "Age" or n_digits > 20:
        arguments.append(["predict", model, path, "-o", tmp_path / "out.csv", "--strict"])
    for one in arguments:
        sentence = failing(*one)
        assert f"'{column}'" in sentence and len(sentence) < 400


@pytest.mark.parametrize("spread", [0, 10**6])
def test_whole_numbers_that_floats_cannot_tell_apart_are_refused(tmp_path, spread):
    numbers = [2**53 + 1 + k * spread for k in range(len(DATA))]
    path = written(tmp_path, "data.csv", DATA.assign(Account=numbers))
    sentence = failing(*fit(path, tmp_path / "model.ract"))
    assert "'Account'" in sentence and "2^53" in sentence and "line 2" in sentence
    with pytest.raises(InvalidData, match="2\\^53"):
        ActionSpace.infer(pd.DataFrame({"Account": numbers}), limits=None)


def test_a_column_that_is_left_out_may_hold_any_number(tmp_path):
    path = written(tmp_path, "data.csv", DATA.assign(Account=10**30, Price="1.234,56"))
    arguments = ["init", path, "--target", "Decision", "--drop", "Account", "--drop", "Price"]
    assert CliRunner().invoke(app, [str(one) for one in arguments]).exit_code == 0


def test_a_column_name_without_end_is_refused(tmp_path):
    path = written(tmp_path, "data.csv", "a" * 200_000 + ",Decision\n1,approved\n")
    assert "column name" in failing(*fit(path, tmp_path / "model.ract"))


def test_an_unclosed_quote_in_the_head_is_refused_early(tmp_path):
    path = written(tmp_path, "data.csv", 'a,"b\n' + "1,approved\n" * 1_200_000)
    start = time.process_time()
    assert "quote" in failing(*fit(path, tmp_path / "model.ract"))
    assert time.process_time() - start < 5


def test_a_cell_of_spaces_takes_linear_time():
    column = pd.Series([" " * 20_000 + "x", " " * 20_000 + "1" * 20_000 + "x"])
    start = time.process_time()
    refuse_formatted_numbers(column, "Income")
    assert time.process_time() - start < 1


def test_many_columns_of_the_same_name_take_linear_time(tmp_path):
    path = written(tmp_path, "data.csv", ",".join(["a"] * 100_000) + "\n1\n")
    start = time.process_time()
    assert "more than one column" in failing(*fit(path, tmp_path / "model.ract"))
    assert time.process_time() - start < 5


def test_an_error_about_a_row_names_the_line_of_the_file(tmp_path, model):
    frame = with_cell("Purpose", 3, "Boat", LOANS.frame)
    path = written(tmp_path, "people.csv", frame)
    sentence = failing("predict", model, path, "-o", tmp_path / "out.csv", "--strict")
    assert f"in line 5 of {path}" in sentence and "row 3" not in sentence
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], "", *lines[1:3], "  ", *lines[3:]]))
    assert "line 7 of" in failing("recourse", model, path, "-o", tmp_path / "out.csv", "--strict")
    named = frame.assign(Name="two\nlines")
    path = written(tmp_path, "people.csv", named[["Name", *LOANS.frame.columns]])
    strictly = ("-o", tmp_path / "out.html", "--id", "Name", "--strict")
    assert "line 8 of" in failing("audit", model, path, *strictly)
    assert "line 8 of" in failing("certify", model, path, "--strict")


def test_an_error_about_a_training_row_names_the_line_of_the_file(tmp_path):
    infinite = DATA.assign(Income=DATA["Income"].where(DATA.index != 7, np.inf))
    path = written(tmp_path, "data.csv", infinite)
    assert f"in line 9 of {path}" in failing(*fit(path, tmp_path / "model.ract"))


def test_standard_input_has_rows(model):
    given = with_cell("Purpose", 3, "row 3", LOANS.frame).to_csv(index=False).encode()
    sentence = failing("predict", model, "-", "--strict", given=given)
    assert "holds 'row 3' in row 3 of standard input, counted from 0," in sentence

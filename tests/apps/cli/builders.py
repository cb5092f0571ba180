"""What tests of the command line share: running commands, and the tables that they are given."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from ract.apps.cli import app
from ract.data.datasets import load_loans

LOANS = load_loans(800)  # of ``folder`` and ``plain``
NEW = load_loans(70, random_state=1).frame  # people of ``folder``
NEW_LABELLED = load_loans(300, random_state=1)  # people of ``plain``
SMALL = load_loans(300)  # of ``trees``
N_GERMAN = 240  # of ``bank``


def run(*arguments, code=0, given=None):
    """Run a command that ends with an exit code; ``given`` is its standard input."""
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def failing(*arguments, code=2, given=None):
    """Run a command that fails, and return the one sentence that it says."""
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=given)
    assert result.exit_code == code, (result.exit_code, result.output, result.exception)
    lines = result.stderr.splitlines()
    lines = [line for line in lines if not line.startswith(("Note: ", "ract: compiling"))]
    assert len(lines) == 1 and lines[0].startswith("Error: ") and lines[0].endswith(".")
    assert "Traceback" not in result.output
    return lines[0]


def fit(data, out, *more, target="Decision", desired="approved"):
    """The words of a ``ract fit`` on loans."""
    asked = ["--target", target, "--desired", desired, "--lasting", 0, "-o", out]
    return ["fit", data, *asked, *more]


def written(folder, name, content):
    """The path of a new file that holds a table, bytes or text."""
    path = folder / name
    if isinstance(content, pd.DataFrame):
        content.to_csv(path, index=False)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return path


def german_number(value):
    """A number as German spreadsheets write it."""
    return f"{value:,.2f}".translate(str.maketrans(",.", ".,"))


def german_table():
    """People of a German bank as numbers and plain words."""
    rng, n = np.random.default_rng(0), N_GERMAN
    income, debt = rng.lognormal(10, 0.4, n).round(2), rng.lognormal(8, 1, n).round(2)
    home = rng.integers(0, 3, n)
    frame = pd.DataFrame({
        "Kundennummer": [f"K{k:05}" for k in range(n)], "Einkommen": income, "Schulden": debt,
        "Geburtsdatum": pd.Timestamp("1950-01-13") + pd.to_timedelta(rng.integers(0, 2e4, n), "D"),
        "Telefon": rng.choice(["ja", "nein"], n), "Geschlecht": rng.choice(["m", "w"], n),
        "Land": "DE", "Stadt": rng.choice(["Köln", "Ulm", *(f"Ort {k}" for k in range(90))], n,
                                          p=[0.3, 0.3, *[0.4 / 90] * 90]),
        **{f"wohnen_{name}": (home == k) * 1 for k, name in enumerate(["eigen", "miete", "frei"])},
    })  # fmt: skip
    frame["Bewertung"] = np.where(
        income / (debt + 5000) + rng.normal(0, 0.7, n) > 2.5, "gut", "rot"
    )
    return frame


def as_written(frame):
    """The German table as its bank writes it: amounts and dates as text."""
    money = {name: frame[name].map(german_number) for name in ("Einkommen", "Schulden")}
    dates = {"Geburtsdatum": frame["Geburtsdatum"].dt.strftime("%d.%m.%Y")}
    return frame.assign(**money, **dates)


# How the German table is saved, by the name of its file.
GERMAN_FILES = {
    "cp1252": {"sep": ";", "encoding": "cp1252"},
    "excel": {"sep": "\t", "encoding": "utf-16"},
    "bom": {"sep": ";", "encoding": "utf-8-sig"},
}

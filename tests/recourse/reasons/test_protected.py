"""How often a protected attribute is a principal reason, and that fitting says so."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract.apps.cli import app
from ract.recourse.reasons.protected import protected_reasons


def people(weight, n=400):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"income": rng.normal(size=n), "age": rng.normal(size=n)})
    good = frame["income"] + weight * frame["age"] + rng.normal(0, 0.3, n) > 0
    return frame, np.where(good, "yes", "no")


def fitted(weight):
    frame, target = people(weight)
    space = ActionSpace([Feature("income"), Feature("age", change="fixed")], "yes", limits=None)
    model = RecourseTreeClassifier(space, max_depth=4, recourse_weight=0)
    return model.fit(frame, target), frame


def test_the_share_is_that_of_the_refused():
    model, frame = fitted(1.0)
    share = protected_reasons(model, frame)["age"]
    reasons = model.reasons(frame, reference=frame, responsiveness=False)
    given = [
        "age" in {r.feature for r in one.reasons} for one in reasons if one.status == "refused"
    ]
    assert share == np.mean(given) and share > 0.3


def test_an_attribute_that_no_tree_asks_about_is_none():
    frame, target = people(1.0)
    unused = ActionSpace([Feature("income"), Feature("age", use=False)], "yes", limits=None)
    model = RecourseTreeClassifier(unused, max_depth=2).fit(frame, target)
    assert protected_reasons(model, frame) == {}


def test_fit_warns(tmp_path):
    frame, target = people(1.0)
    frame.assign(good=target).to_csv(tmp_path / "data.csv", index=False)
    start, actions = 'desired = "yes"\n[features.income]\n[features.age]\n', tmp_path / "a.toml"
    for rule, warned in (('change = "fixed"', True), ("use = false", False)):
        actions.write_text(start + rule)
        result = CliRunner().invoke(app, [
            "fit", f"{tmp_path}/data.csv", "--target", "good", "--actions", str(actions),
            "--model", "tree", "--max-depth", "4", "--lasting", "0", "-o", f"{tmp_path}/m.ract",
        ])  # fmt: skip
        assert result.exit_code == 0, result.output
        assert (
            "'age' looks like a protected attribute and is a principal" in result.stderr
        ) == warned

"""What is refused, and what is assumed, when a model is read."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OrdinalEncoder,
    PolynomialFeatures,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

from ract import ActionSpace, Feature, RecourseTreeClassifier
from ract._utils.errors import InvalidData, InvalidSpec
from ract.data.actions import AssumedActions
from ract.models.imported import import_model
from ract.recourse.find import find_recourse
from ract.trees.readers import read_model
from tests.trees.readers.tables import NUMBERS, table

pytestmark = pytest.mark.filterwarnings("ignore::ract.data.actions.AssumedActions")


def test_what_cannot_be_read_is_refused():
    frame, y = table(21)
    numbers = frame[NUMBERS]

    def refuses(model, match, people=numbers, kind=InvalidSpec, **given):
        with pytest.raises(kind, match=match):
            read_model(model, people, **given)

    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    refuses(LogisticRegression().fit(numbers / 1e8, y), "LogisticRegression cannot be read; supp")
    calibrated = CalibratedClassifierCV(tree, cv=2).fit(numbers, y)
    refuses(calibrated, "CalibratedClassifierCV averages 2 models; one is supported: train it with")
    refuses("a model", "str cannot be read; supported are scikit-learn's DecisionTreeClassifier")
    refuses(DecisionTreeClassifier, "type cannot be read|ABCMeta cannot be read")
    three = np.arange(len(y)) % 3
    refuses(RandomForestClassifier(3).fit(numbers, three), r"has 3 class\(es\), 0, 1, 2; two")
    refuses(tree.fit(numbers, np.column_stack([y, y])), "predicts 2 targets at once; one is allow")
    from_tree = GradientBoostingClassifier(n_estimators=2, init=tree)
    refuses(
        from_tree.fit(numbers, y), "starts from DecisionTreeClassifier.*allowed are init='zero'"
    )
    for step, match in (
        (PolynomialFeatures(), "The step PolynomialFeatures.. before the model is not supported"),
        (FunctionTransformer(np.square), "FunctionTransformer.*is not supported; supported are C"),
        (SimpleImputer(missing_values=0), "takes 0 as missing; only NaN and None"),
        (make_pipeline(StandardScaler(), OrdinalEncoder()), "OrdinalEncoder comes after a step"),
    ):
        refuses(make_pipeline(step, tree).fit(numbers, y), match)
    one_hot_bins = KBinsDiscretizer(3, encode="onehot", strategy="uniform")
    refuses(make_pipeline(one_hot_bins, tree).fit(numbers, y), "KBinsDiscretizer.*not supported")
    tree.fit(numbers, y)
    refuses(tree, "desired is 'yes', which is not a class of the model; its", desired="yes")
    for threshold in (0, 1.1, "half", True, float("nan")):
        refuses(tree, "threshold must be a share above 0 and up to 1", threshold=threshold)

    def refuses_table(model, people, match):
        refuses(model, match, people, InvalidData)

    refuses_table(tree, frame, "trained on 5 columns, the table has 7")
    refuses_table(tree, numbers[NUMBERS[::-1]], "in this order; the table has 'member', 'debt'")
    refuses_table(tree, numbers.assign(income="much"), "Column 'income' holds text")
    scaled = make_pipeline(StandardScaler(), tree).fit(numbers, y)
    refuses_table(scaled, numbers.drop(columns="member"), "The table lacks 'member', which the")
    array = numbers.to_numpy()
    refuses_table(scaled.fit(array, y), array[:, 1:], "trained on 5 columns, the table has 4")


def test_models_without_an_action_space_warn_of_what_is_assumed():
    frame, y = table(34)
    tree = DecisionTreeClassifier(max_depth=3).fit(frame[NUMBERS], y)
    space = ActionSpace([Feature("income")], limits=None)
    for ask in (import_model, find_recourse):
        with pytest.warns(
            AssumedActions, match="every other feature may change, 'income', 'share'"
        ):
            ask(tree, frame[NUMBERS])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ask(tree, frame[NUMBERS], actions=space)


def unfitted():
    models = [DecisionTreeClassifier(), RandomForestClassifier(), RecourseTreeClassifier()]
    models += [make_pipeline(StandardScaler(), DecisionTreeClassifier())]
    models += [GridSearchCV(DecisionTreeClassifier(), {"max_depth": [2]})]
    return [*models, HistGradientBoostingClassifier()]


@pytest.mark.parametrize("model", unfitted(), ids=lambda model: type(model).__name__)
def test_a_model_must_be_fitted(model):
    with pytest.raises(NotFittedError):
        read_model(model, np.zeros((3, 2)))


@pytest.mark.parametrize("name", ["lightgbm.LGBMClassifier", "xgboost.XGBClassifier"])
def test_a_boosted_model_must_be_fitted(name):
    library, kind = name.split(".")
    model = getattr(pytest.importorskip(library), kind)()
    with pytest.raises(NotFittedError):
        read_model(model, np.zeros((3, 2)))


def test_other_libraries_are_not_loaded_unless_a_model_is_theirs():
    code = "import sys, ract.trees.readers; print({'lightgbm', 'xgboost'} & set(sys.modules))"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"

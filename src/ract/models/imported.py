"""Models of other libraries that can be saved, used and searched like ract's own."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ract._utils.errors import InvalidSpec
from ract._utils.signature import takes_keywords_of
from ract._utils.typing import Classifier, ColumnLike, Label, TableLike
from ract._utils.validation import AMOUNT, check_value
from ract.data.actions import ActionSpace, budget_for
from ract.data.costs import Cost, FittedCost, fit_cost, refuse_percent
from ract.data.encoder import Encoder
from ract.models.table import as_classes
from ract.recourse.calibration import LastingCurve
from ract.recourse.few_changes import recourse_of
from ract.recourse.find import find_recourse
from ract.recourse.problem import PROBLEM_KEYWORDS
from ract.recourse.reasons import Reasons, find_reasons
from ract.recourse.result import Recourse
from ract.trees.ensemble import TreeEnsemble
from ract.trees.readers import TreeModel, read_model
from ract.trees.readers.agree import check_decisions
from ract.trees.readers.curves import Curve, curve_of, curve_record
from ract.trees.readers.model import OwnModel
from ract.trees.readers.steps import unwrapped


@dataclass(frozen=True)
class ImportedClassifier:
    """A model of another library, in ract's own form.

    Made by ``import_model`` or ``load_model``. Neither the library nor the steps of a pipeline are
    needed after that: thresholds are in the units of the user's table.

    Parameters
    ----------
    encoder_ : Encoder
    ensemble_ : TreeEnsemble
    cost_ : FittedCost
        Effort of an action.
    classes_ : array of two labels
    desired_ : label
    link : callable, optional
        From margins of the second class to its probabilities.
    budget : float
        Largest acceptable cost of an action.
    source : str
        The model from which it was imported, in words.
    lasting_ : LastingCurve, optional
        How likely plans last, by their strength.
    reference_ : float (people, columns), optional
        People at the margin of acceptance, encoded, with whom others are compared; only if the file
        contains them.
    """

    encoder_: Encoder
    ensemble_: TreeEnsemble
    cost_: FittedCost
    classes_: np.ndarray
    desired_: Label
    link: Curve | None = None
    budget: float = math.inf
    source: str = ""
    lasting_: LastingCurve | None = None
    reference_: np.ndarray | None = None

    @property
    def n_features_in_(self) -> int:
        """Number of columns of the user's table."""
        return len(self.encoder_.feature_names)

    def predict(self, X: TableLike) -> np.ndarray:
        """Class of each person, as the model's own library decides."""
        decided = self.ensemble_.decide(self.encoder_.matrix(X, kinds=False))
        return as_classes(decided, self.classes_, self.desired_)

    def predict_proba(self, X: TableLike) -> np.ndarray:
        """Probability of each class (people x 2).

        The probability of the desired class equals the library's own, bit for bit. For XGBoost,
        whose library computes the curve, it is equal up to the last places of single precision.
        """
        desired = np.asarray(self._tree.probability(X), np.float64)
        second = desired if self.classes_[1] == self.desired_ else 1 - desired
        return np.column_stack([1 - second, second])

    def score(self, X: TableLike, y: ColumnLike) -> float:
        """Share of people whose class is predicted."""
        return float(np.mean(self.predict(X) == np.asarray(y)))

    @takes_keywords_of(find_recourse, more=PROBLEM_KEYWORDS)
    def recourse(self, X: TableLike, **options: Any) -> Recourse:
        """What each person can do to get the desired class; options as ``find_recourse``.

        With a curve of ``ract.calibrate`` for a probability, plans last with this probability
        unless ``strength`` or ``lasting`` is given. If the action space limits changes, plans are
        those of letters, as for ract's own models.
        """
        return recourse_of(self, X, options)

    @takes_keywords_of(find_reasons, more=PROBLEM_KEYWORDS)
    def reasons(self, X: TableLike, **options: Any) -> Reasons:
        """Why each refused person was refused; options as ``ract.find_reasons``."""
        return find_reasons(self, X, **options)

    @property
    def _tree(self) -> TreeModel:
        classes, desired = self.classes_, self.desired_
        return TreeModel(
            self.encoder_, self.ensemble_, classes, desired, self.n_features_in_, self.link
        )


def import_model(
    model: Classifier,
    people: TableLike,
    actions: ActionSpace | None = None,
    *,
    desired: Label | None = None,
    threshold: float | None = None,
    cost: str | Cost = "percentile",
    budget: float | None = None,
    lasting: LastingCurve | None = None,
) -> ImportedClassifier:
    """Import a fitted model of scikit-learn, LightGBM, XGBoost or CatBoost, with its pipeline.

    The result makes the same decisions as the model, has ``recourse``, and can be saved to a model
    file.

    Parameters
    ----------
    model, people, actions, desired, threshold
        As in ``ract.trees.read_model``.
    cost : str or Cost
        How effort is measured; learned from the people.
    budget : float, optional
        Largest acceptable cost of an action, inf for none; the default is that of ``fit``.
    lasting : LastingCurve, optional
        From ``ract.calibrate`` with the same learner: how strong plans must be to last.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from ract import ActionSpace, Feature
    >>> people = np.random.default_rng(0).normal(size=(100, 3))
    >>> forest = RandomForestClassifier(n_estimators=5).fit(people, people[:, 0] > 0)
    >>> imported = import_model(forest, people, ActionSpace([Feature("x0")]))
    >>> bool((imported.predict(people) == forest.predict(people)).all())
    True
    """
    tree = read_model(model, people, actions, desired=desired, threshold=threshold)
    if isinstance(tree, OwnModel):
        raise InvalidSpec(f"{type(model).__name__} is one of ract's own; save it as it is.")
    if budget is None:
        budget = budget_for(tree.encoder.space)
    check_value("budget", budget, AMOUNT)
    matrix = tree.encoder.matrix(people)
    check_decisions(model, tree, people, matrix, threshold)
    encoder = tree.encoder
    features = [axis.columns for axis in encoder.axes]
    columns, cells = list(matrix.T), encoder.missing_cells
    fitted = fit_cost(cost, columns, encoder.weights, missing=cells, features=features)
    refuse_percent(fitted, budget)
    kind = type(unwrapped(model)[1])
    return ImportedClassifier(
        encoder,
        tree.ensemble,
        fitted,
        tree.classes,
        tree.desired,
        link=curve_of(curve_record(tree.link)),
        budget=float(budget),
        source=f"{kind.__module__.split('.')[0]}.{kind.__name__}",
        lasting_=lasting,
    )

"""What recourse is asked about: a model, what people may change, at what cost, within what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypedDict

import numpy as np
import pandas as pd

from ract._utils.errors import InvalidData, InvalidSpec, listing
from ract._utils.memo import Memo
from ract._utils.signature import refuse_unknown_keywords
from ract._utils.typing import Classifier, Label, TableLike
from ract.data.actions import ActionSpace
from ract.data.costs import Cost, FittedCost, fit_cost, refuse_percent
from ract.data.encoder import Encoder
from ract.data.frames import Table, drop_columns, read_table
from ract.data.invalid_rows import InvalidRows, set_aside_invalid
from ract.recourse.common.search import check_budget
from ract.recourse.question import Question
from ract.trees.readers import TreeModel, read_model
from ract.trees.readers.agree import Parts, check_decisions, fitted_parts, same_parts
from ract.trees.readers.model import OwnModel
from ract.trees.readers.steps import unwrapped


class KeywordsBesideBudget(TypedDict, total=False):
    """The keywords of a ``RecourseProblem``, for functions that take the budget by position."""

    actions: ActionSpace | None
    desired: Label | None
    threshold: float | None
    cost: str | Cost | None
    reference: TableLike | None


class ProblemKeywords(KeywordsBesideBudget, total=False):
    """The keywords of a ``RecourseProblem``, where a bare model is given instead of one."""

    budget: float | None


PROBLEM_KEYWORDS = tuple(ProblemKeywords.__annotations__)


@dataclass
class _Reading:
    """A model as trees, what it consisted of when it was read, and the cost once it is learned."""

    parts: Parts
    tree: TreeModel
    cost: FittedCost | None = None


@dataclass(frozen=True, eq=False)
class RecourseProblem:
    """A model, what people may change, how effort is measured and how much of it is acceptable.

    All functions about recourse take a problem, or a model with the same keywords.

    Parameters
    ----------
    model : fitted classifier
        One of ract's, or any tree, forest or boosted model of scikit-learn, LightGBM, XGBoost or
        CatBoost, alone or at the end of a pipeline; except for CatBoost, also one of several
        classes, or a regressor. Or a list of models over the same columns: plans are the cheapest
        that all of them accept, with the cost, rules and budget of the first, and the strength of a
        plan is the smallest among the models.
    actions : ActionSpace, optional
        What people may change; by default that of training for ract's own models. If none was ever
        given, every feature may change, and an ``AssumedActions`` warning says so.
    desired : label, optional
        The class that people want; for a model of more than two classes, it must win against every
        other. For a regressor, "at most" if people want a low prediction.
    threshold : float, optional
        Decide by a probability of at least this, not by the model's own rule; for a forest of
        ract's, by at least this share of votes. A regressor needs one: the prediction from which on
        (or up to which) people have what they want. The lowest score of a grade can be a threshold
        too; plans then reach that grade or a better one.
    cost : str or Cost, optional
        How effort is measured: by default that of training, or "percentile".
    budget : float, optional
        Largest cost that a plan may have: by default that of training, or no limit.
    reference : frame or array, optional
        People like those of training, from whom costs (and, for other libraries' models, kinds,
        bounds and categories) are learned; by default the people of the question.

    Examples
    --------
    >>> from ract import find_recourse, has_recourse
    >>> from ract.models.examples import loans_forest
    >>> model, loans = loans_forest()
    >>> problem = RecourseProblem(model, budget=0.1)
    >>> people = loans.frame.head(20)
    >>> int(has_recourse(problem, people).sum()), int(find_recourse(problem, people).found.sum())
    (14, 1)
    """

    model: Any
    actions: ActionSpace | None = None
    desired: Label | None = None
    threshold: float | None = None
    cost: str | Cost | None = None
    budget: float | None = None
    reference: TableLike | None = None

    _reading: ClassVar[_Reading | None] = None

    @classmethod
    def of(cls, model: ModelLike, keywords: Mapping[str, Any], asked_by: str) -> RecourseProblem:
        """Return a given problem unchanged, or build one from a model and keywords.

        Parameters
        ----------
        model : RecourseProblem or fitted classifier
        keywords : mapping
            Of ``RecourseProblem``; none if a problem is given.
        asked_by : str
            The function whose keywords they are, for an error.
        """
        refuse_unknown_keywords(asked_by, keywords, frozenset(PROBLEM_KEYWORDS))
        if not isinstance(model, RecourseProblem):
            if keywords.get("reference") is None or isinstance(model, (list, tuple)):
                return cls(model, **keywords)
            # A problem holds what its key names, so that these ids are nobody else's meanwhile.
            key = (id(model), *((name, id(value)) for name, value in sorted(keywords.items())))
            problem: RecourseProblem = _ASKED_LAST.get(key, lambda: cls(model, **keywords))
            return problem
        if given := [name for name, value in keywords.items() if value is not None]:
            raise InvalidSpec(
                f"{asked_by} was given a RecourseProblem, which says {listing(given)} itself; use "
                "dataclasses.replace to make another problem."
            )
        return model

    @property
    def keywords(self) -> dict[str, Any]:
        """What a call with the bare model would be given."""
        given = {name: getattr(self, name) for name in PROBLEM_KEYWORDS}
        return {name: value for name, value in given.items() if value is not None}

    def encoded(self, X: TableLike) -> Question:
        """Encode people, all of whose rows must be valid, and fit the cost."""
        X = self._used(X)
        return self._several(X, read_table(X))

    def encoded_valid(
        self, X: TableLike, *, strict: bool = False
    ) -> tuple[Question, InvalidRows | None]:
        """Encode people whose rows are valid; return the problem and the invalid rows, if any.

        With ``strict`` the table is refused if a row is invalid.
        """
        X = self._used(X)
        table = read_table(X)  # refuses an empty one
        try:
            return self._several(X, table), None
        except InvalidData:
            if strict:
                raise
            encoder = self._known_encoder()
            people, invalid = set_aside_invalid(X, encoder)
            changed = self.actions is not None or self.cost is not None
            learns = self.reference is None and (encoder is None or changed)
            if not invalid.messages and encoder is not None:
                return self._several(people, None), None  # numbers that were written as text
            if not invalid.messages or (learns and not len(people)):
                raise
        question = self._several(people, None)
        labels = None if isinstance(people, pd.DataFrame) else pd.Index(invalid.valid)
        return replace(question, row_labels=labels), invalid

    def _used(self, X: Any) -> Any:
        """A table without the columns that the first model's action space keeps from it."""
        several = isinstance(self.model, (list, tuple)) and len(self.model) > 0
        declared = getattr(self.model[0] if several else self.model, "actions", None)
        unused: frozenset[str] = getattr(declared, "unused", frozenset())
        return X if X is None else drop_columns(X, unused)

    def _several(self, X: TableLike, table: Table | None) -> Question:
        """One question to a model, or to several over the same columns."""
        if not isinstance(self.model, (list, tuple)):
            return self._one(X, table)
        if not len(self.model):
            raise InvalidSpec("The list of models is empty.")
        first = replace(self, model=self.model[0])._one(X, table)
        also: list[Question] = []
        for k, model in enumerate(self.model[1:], start=2):
            rules = None if hasattr(model, "ensemble_") else first.encoder.space
            # Plans cost what the first model's do: the cost and the budget of others are not asked.
            problem = replace(
                self,
                model=model,
                actions=rules,
                desired=first.tree.desired,
                cost=None,
                budget=np.inf,
            )
            other = problem._one(first.people, None)
            _check_columns(k, other.encoder, first.encoder, bounds=rules is not None)
            also += other.each
        return replace(first, also=(*first.also, *also))

    def _one(self, X: TableLike, table: Table | None) -> Question:
        model, reference, threshold = self.model, self._used(self.reference), self.threshold
        known = X if reference is None else reference
        before = self._reading
        tree = self._read(known)
        budget, matrix = own_budget(model, self.budget), np.empty((0, tree.encoder.n_columns))
        narrow: dict[int, Any] = {}
        if len(X):
            table = read_table(X) if table is None else table
            matrix = tree.encoder.matrix(table)
            _check_order(table.names, tree.encoder.feature_names)
            narrow = tree.encoder.narrow(table)
            # Models of ract are their trees; reference people were compared when these were read.
            is_new = before is None or tree is not before.tree
            if is_new and not isinstance(tree, OwnModel):
                check_decisions(model, tree, X, matrix, threshold)
        if self.cost is None and hasattr(model, "cost_"):
            fitted: FittedCost = model.cost_
        else:
            fitted = self._fitted(tree, matrix)
        refuse_percent(fitted, budget)
        question = Question(model, tree, X, matrix, fitted, budget, reference, threshold)
        also = tuple(replace(question, narrow=narrow).by(trees) for trees in tree.also)
        return replace(question, narrow=narrow, also=also)

    def _read(self, known: TableLike) -> TreeModel:
        """The model as trees, read once while it and its reference people are the same."""
        parts = None
        if self.reference is not None and not hasattr(self.model, "ensemble_"):
            parts = fitted_parts(self.model)
        if parts is None:
            return self._read_anew(known)
        reading = self._reading
        if reading is None or not same_parts(parts, reading.parts):
            reading = _Reading(parts, self._read_anew(known))
            vars(self)["_reading"] = reading
        return reading.tree

    def _read_anew(self, known: TableLike) -> TreeModel:
        read = partial(read_model, self.model, known, self.actions, desired=self.desired)
        return read(threshold=self.threshold, two_classes=False)

    def _fitted(self, tree: TreeModel, matrix: np.ndarray) -> FittedCost:
        """The cost, learned from the reference people or else from those asked about."""
        reading = self._reading
        if reading is None or reading.tree is not tree:
            return self._learned_cost(tree, matrix)
        if reading.cost is None:
            reading.cost = self._learned_cost(tree, matrix)
        return reading.cost

    def _learned_cost(self, tree: TreeModel, matrix: np.ndarray) -> FittedCost:
        reference, encoder = self.reference, tree.encoder
        known = matrix if reference is None else encoder.matrix(self._used(reference))
        return fit_cost(
            "percentile" if self.cost is None else self.cost,
            list(known.T),
            encoder.weights,
            exact=True,
            missing=encoder.missing_cells,
            features=[axis.columns for axis in encoder.axes],
        )

    def _known_encoder(self) -> Encoder | None:
        """The encoder that is known before any of the people were read."""
        model = self.model[0] if isinstance(self.model, (list, tuple)) else self.model
        if self.reference is None:
            return getattr(unwrapped(model)[1], "encoder_", None)
        return replace(self, model=model)._read_anew(self.reference).encoder


# What functions about recourse take: a problem, or the model of one, or several models.
ModelLike: TypeAlias = RecourseProblem | Classifier | Sequence[Classifier]

# Of models that were asked about with the same keywords again, one person at a time.
_ASKED_LAST = Memo(2)


def _check_columns(k: int, other: Encoder, first: Encoder, *, bounds: bool) -> None:
    """Refuse a model over other encoded columns, or whose own steps leave people less room."""
    same = other.column_names == first.column_names
    for mine, theirs in zip(other.axes, first.axes, strict=False):
        same = same and (mine.feature.name, mine.columns) == (theirs.feature.name, theirs.columns)
        same = same and (not bounds or mine.feature.bounds == theirs.feature.bounds)
    if not same:
        raise InvalidSpec(
            f"Model {k} takes other columns, categories or bounds than the first one: "
            f"{listing(other.column_names, 30)} and not {listing(first.column_names, 30)}."
        )


def _check_order(names: Sequence[str], trained: Sequence[str]) -> None:
    """Refuse columns in another order than in training, as the models themselves do."""
    if tuple(names) != tuple(trained):
        raise InvalidData(
            f"The table's columns are in another order than in training: {listing(names, 30)} and "
            f"not {listing(trained, 30)}."
        )


def bare_model(model: ModelLike, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model of a problem, whose keywords are then among the options; others as they are."""
    if not isinstance(model, RecourseProblem):
        return model, options
    return model.model, options | model.keywords


def own_budget(model: object, budget: float | None = None) -> float:
    """The budget that was given, or the model's own, or no limit."""
    if budget is None:
        known = getattr(model, "budget_", getattr(model, "budget", None))
        budget = known if known is not None and hasattr(model, "ensemble_") else np.inf
    return check_budget(budget)

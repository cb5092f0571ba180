"""Fitted models to try things on, each with the people that it was fitted on."""

from __future__ import annotations

from typing import Any

from ract.data.datasets import Dataset, load_loans
from ract.models.forest import RecourseForestClassifier
from ract.models.tree import RecourseTreeClassifier


def loans_tree(
    n_people: int = 500, *, max_depth: int = 4, **parameters: Any
) -> tuple[RecourseTreeClassifier, Dataset]:
    """A tree, fitted on simulated loan applications, and the applications.

    Parameters
    ----------
    n_people, max_depth : int
        How many applications, and the depth of the tree.
    **parameters
        Further ones of ``RecourseTreeClassifier``.

    Examples
    --------
    >>> tree, loans = loans_tree(max_depth=2)
    >>> tree.predict(loans.frame.head(3)).tolist()
    ['approved', 'approved', 'approved']
    """
    loans = load_loans(n_people)
    tree = RecourseTreeClassifier(loans.actions, max_depth=max_depth, **parameters)
    return tree.fit(loans.frame, loans.target), loans


def loans_forest(
    n_people: int = 1000, *, n_estimators: int = 20, random_state: int = 0, **parameters: Any
) -> tuple[RecourseForestClassifier, Dataset]:
    """A small forest, fitted on simulated loan applications, and the applications.

    Parameters
    ----------
    n_people, n_estimators, random_state : int
        How many applications and trees; the seed of the forest.
    **parameters
        Further ones of ``RecourseForestClassifier``.

    Examples
    --------
    >>> forest, loans = loans_forest()
    >>> forest.recourse(loans.frame.head(20))
    Recourse of 20 people: 13 accepted, 4 optimal, 3 none within budget
    """
    loans = load_loans(n_people)
    forest = RecourseForestClassifier(
        loans.actions, n_estimators=n_estimators, random_state=random_state, **parameters
    )
    return forest.fit(loans.frame, loans.target), loans

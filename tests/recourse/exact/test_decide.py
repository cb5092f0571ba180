"""Questions that do not fit into memory end as found or unknown, never as an error or none."""

import subprocess
import sys

import numpy as np
import pytest

from ract._utils.status import Status
from ract.recourse.exact import decide
from ract.recourse.exact.search import ExactSearch
from tests.builders import check_values, random_problem

LARGE_FOREST = """
import resource
import numpy as np
from ract.data.actions import Feature
from ract.data.costs import LinearCost
from ract.data.encoder import Axis
from ract.trees.ensemble import TreeEnsemble
from ract.recourse.common.search import Limits
from ract.recourse.exact.search import ExactSearch

rng, n_trees, depth, n_columns = np.random.default_rng(0), 100, 12, 40
inside, size = 2**depth - 1, 2 ** (depth + 1) - 1
node = np.tile(np.arange(size), n_trees)
root = np.repeat(np.arange(n_trees) * size, size)
split = node < inside
trees = TreeEnsemble(
    np.where(split, rng.integers(0, n_columns, len(node)), -1).astype(np.int32),
    np.where(split, rng.integers(0, 250, len(node)) / 250.0, 0.0),
    np.where(split, root + 2 * node + 1, -1).astype(np.int32),
    np.where(split, root + 2 * node + 2, -1).astype(np.int32),
    rng.integers(0, 2, len(node)).astype(np.uint8), np.zeros(len(node)),
    np.arange(0, len(node), size, dtype=np.int32), "votes", 80,
)
axes = [Axis(Feature(f"x{j}", "continuous", lower=0, upper=1), (j,)) for j in range(n_columns)]
search = ExactSearch(trees, axes, LinearCost("max", np.ones(n_columns)))
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
people = rng.random((2, n_columns))
print(search.attains(people, limits=Limits(max_nodes=5, n_jobs=1)))
print(search.solve(people, max_nodes=5, n_jobs=1).status)
"""


@pytest.mark.parametrize("combine", ["votes", "mean"])
def test_a_question_that_is_too_large_is_unknown_and_smaller_ones_are_asked(combine, monkeypatch):
    seen, reached = set(), set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        encoder, matrix, ensemble, cost = random_problem(rng, combine)
        people = matrix[rng.choice(len(matrix), 4, replace=False)]
        search = ExactSearch(ensemble, encoder.axes, cost)
        best = search.solve(people).cost
        for most in (0, 40, 150, 400):
            with monkeypatch.context() as patch:
                patch.setattr(decide, "MOST_NUMBERS", most)
                found, attained = search.solve(people), search.attains(people)
            check_values(encoder, ensemble, cost, people, found, budget=np.inf, max_changes=None)
            for status, price, optimum in zip(found.status, found.cost, best, strict=True):
                seen.add(Status(status))
                if status == Status.OPTIMAL:
                    assert price == optimum
                elif status == Status.NONE:
                    assert np.isinf(optimum)
                elif status == Status.FOUND:
                    assert price >= optimum
            assert np.isinf(best[attained == Status.NONE]).all()
            assert np.isfinite(best[attained == Status.FOUND]).all()
            reached.update(attained.tolist())
    assert {Status.OPTIMAL, Status.NONE, Status.UNKNOWN} <= seen
    assert reached == {Status.FOUND, Status.NONE, Status.UNKNOWN}


@pytest.mark.slow
def test_a_large_forest_is_searched_in_little_memory():
    """Tables of boxes by boxes took more memory than there was."""
    done = subprocess.run(
        [sys.executable, "-c", LARGE_FOREST], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

"""The solver's search for one person: build, run, check the answer in floating point, repair."""

from __future__ import annotations

from contextlib import suppress
from math import ceil, inf, isinf
from typing import Any

import numpy as np

from ract._utils.status import Status
from ract.recourse.common.limits import LARGEST
from ract.recourse.solver.action import Actions, Point
from ract.recourse.solver.choices import Choice, cell_choices
from ract.recourse.solver.objective import Goal, Marks, cell_goal, distance_goal, value_goal
from ract.recourse.solver.program import Program, cp_sat
from ract.recourse.solver.segments import Segments, free_categories
from ract.recourse.solver.time import OutOfTime, Time

MOST_TIES = 100  # answers that rounding spoils before the search turns to clear ones
SMALLEST_GAIN = 0.01  # by which a round of the search should narrow the gap,
MOST_IDLE = 4  # or else, after so many in turn, it ends
STAIRS = 1 << 8  # into which the gap is cut in each round
ROOM = 1e-9  # for rounding, where a feature's own effort is held against the budget

Stairs = tuple[int, int]  # lowest value of an expression, and height of each stair


class PersonSearch:
    """The search for one person; ``run`` leaves its outcome in the attributes.

    Parameters
    ----------
    actions : Actions
        What the person may do.
    time : Time
        What is left of their time, which building the programs uses too.

    Attributes
    ----------
    status, cost, bound, values, nodes
        As in ``Answers``, of this person.
    """

    def __init__(self, actions: Actions, time: Time) -> None:
        self._actions, self._time = actions, time
        self._setting, self._person, self._budget = actions.setting, actions.person, actions.budget
        self.status, self.cost, self.bound = Status.UNKNOWN, inf, 0.0
        self.values, self.nodes = actions.person, 0

    def run(self, start: np.ndarray) -> None:
        """Search; ``start`` holds values to begin with, or NaN."""
        if self._actions.flaw(self._person) is None:
            self.status, self.cost = Status.OPTIMAL, 0.0
            return
        with suppress(OutOfTime):  # what was found until then counts
            self._search(start)
        if self.status == Status.UNKNOWN and not isinf(self.cost):
            self.status = Status.FOUND

    def _search(self, start: np.ndarray) -> None:
        self._prepare()
        idle = 0
        while idle < MOST_IDLE:
            before = self.cost, self.bound
            finer = self._look(start)
            idle = 0 if self._nearer(*before) else idle + 1
            proved = self.status in (Status.OPTIMAL, Status.NONE)
            if proved or not finer or not self._time.left:
                break
            start = start if isinf(self.cost) else self.values
        unknown = self.status == Status.UNKNOWN and self._time.left > 0
        if unknown and self._spoilt is not None:
            # What there is holds up to rounding only: look for what holds for certain.
            self._repair(self._spoilt, anywhere=True)

    def _nearer(self, cost: float, bound: float) -> bool:
        """Whether cost and bound have come nearer to each other by more than rounding."""
        if isinf(cost):
            return not isinf(self.cost) or self.bound > bound * (1 + SMALLEST_GAIN)
        return self.cost - self.bound < (cost - bound) * (1 - SMALLEST_GAIN)

    def _prepare(self) -> None:
        setting, grid = self._setting, self._setting.grid
        self._spoilt: Point | None = None
        self._segments = {
            a: Segments(grid, a, setting.cost, float(self._person[grid.axes[a].columns[0]]))
            for a in setting.by_value
            if not grid.axes[a].is_categorical
        }
        distance = setting.distance
        n_parts = len(grid.axes) if distance is None else len(distance.rows)
        self._marks: Marks = [[] for _ in range(n_parts)]

    def _look(self, start: np.ndarray) -> bool:
        """Search for what costs no more than the best so far; whether to look more closely."""
        self._choices = self._find_choices(min(self._budget, self.cost))
        placed = self._actions.placed(self._choices, start)
        if placed is not None:
            self._take(placed[1])
        self._trees = self._setting.branches.leaves(self._choices, self._time)
        program, goal = self._program(strict=False)
        stairs = self._limited(program, goal)
        if placed is not None:
            program.hint(*placed[0])
        found, solver = self._run(program, goal, stairs)
        if found is not None:
            self._take(self._actions.slid(self._choices, found))
            if self._actions.flaw(self._actions.decoded(self._choices, found)) is not None:
                self._spoilt = found
                self._repair(found, anywhere=False)
        self._settle(goal)
        if found is None:
            return False
        # Looking again below what was found is finer by itself.
        return self._refine(found, goal.parts(solver)) or stairs is None or stairs[1] > 1

    def _limited(self, program: Program, goal: Goal) -> Stairs | None:
        """Hold the goal between the bound and the best so far, and cut that into few stairs.

        A solver that goes down by the smallest of units would never arrive.
        """
        model, by_value = program.model, bool(self._setting.by_value)
        most = goal.most(min(self._budget, self.cost, goal.dearest))
        least = goal.most(self.bound)
        if most is not None:
            model.add(goal.expression <= most)
        if not by_value or most is None or least is None:
            model.minimize(goal.expression)
            return None
        least = max(least - 1, 0)
        height = max(1, -(-(most - least) // STAIRS))
        stair = model.new_int_var(0, STAIRS + 1, "")
        model.add(goal.expression >= least)
        model.add(goal.expression <= least + height * stair)
        model.minimize(stair)
        return least, height

    def _find_choices(self, budget: float) -> list[Choice]:
        setting, person = self._setting, self._person
        exact = setting.cost.norm == "max" and not setting.by_value
        most = budget if exact else min(budget * (1 + ROOM), LARGEST)
        choices: dict[int, Choice] = {}
        if setting.prices is not None:
            choices = dict(enumerate(cell_choices(setting.prices, person, most)))
        for a in setting.by_value:
            axis, distance = setting.grid.axes[a], setting.distance
            reach = inf if distance is None else distance.reach.get(axis.columns[0], 0.0) * most
            if a in self._segments:
                choices[a] = self._segments[a].choice(most, reach)
            else:
                choices[a] = free_categories(axis, person)
        return [choices[a] for a in range(len(setting.grid.axes))]

    def _run(self, program: Program, goal: Goal, stairs: Stairs | None) -> tuple[Point | None, Any]:
        """The solver's answer, past those that are ruled out by how floating point rounds."""
        cp, cells_only = cp_sat(), not self._setting.by_value
        for _ in range(MOST_TIES):
            status, solver = self._solved(program)
            value = solver.best_objective_bound
            if stairs is not None and np.isfinite(value):
                least, height = stairs
                value = least + height * (ceil(value - 1e-6) - 1) if value > 0 else least
            self._note_bound(goal, status == cp.INFEASIBLE, value)
            if status not in (cp.OPTIMAL, cp.FEASIBLE):
                return None, solver
            point = program.read(solver)
            flaw = self._actions.flaw(self._actions.decoded(self._choices, point))
            if flaw == "refused":
                program.forbid_leaves(point[0])
            elif flaw == "dear" and cells_only:
                program.forbid_point(point[0])
            else:
                break
        return point, solver

    def _repair(self, point: Point, *, anywhere: bool) -> None:
        """Look for an action that holds for certain, with the same choices or anywhere."""
        program, goal = self._program(strict=True)
        most = goal.most(min(self._budget, self.cost), strict=bool(self._setting.by_value))
        if most is not None:
            program.model.add(goal.expression <= most)
        program.hint(*point)
        if not anywhere:
            program.fix(point[0])
        program.model.minimize(goal.expression)
        status, solver = self._solved(program)
        if status in (cp_sat().OPTIMAL, cp_sat().FEASIBLE):
            point = program.read(solver)
            self._take(self._actions.slid(self._choices, point))
            self._settle(goal)

    def _refine(self, point: Point, parts: list[float]) -> bool:
        """Cut the segments of a point and put tangents there; False if nothing is new."""
        new = False
        for a, segments in self._segments.items():
            new |= segments.cut(self._choices[a].inside[point[0][a]])
        for marks, part in zip(self._marks, parts or [0.0] * len(self._marks), strict=True):
            if parts and part not in marks:
                marks.append(part)
                new = True
        return new

    def _program(self, *, strict: bool) -> tuple[Program, Goal]:
        setting, ensemble = self._setting, self._setting.ensemble
        program = Program(self._choices, setting.by_value, self._time)
        if ensemble.combine == "votes":
            program.add_votes(self._trees, int(np.ceil(ensemble.cutoff)))
        else:
            times = ensemble.n_trees if ensemble.combine == "mean" else 1
            program.add_sum(self._trees, ensemble.cutoff * times - ensemble.base, strict=strict)
        if self._actions.max_changes is not None:
            program.add_max_changes(self._actions.max_changes)
        axis_of = {axis.feature.name: a for a, axis in enumerate(setting.grid.axes)}
        for relation in setting.relations:
            terms = [(axis_of[name], c) for name, c in relation.coefficients.items()]
            program.add_relation(terms, relation.upper, strict=strict)
        return program, self._goal(program)

    def _goal(self, program: Program) -> Goal:
        setting, budget = self._setting, min(self._budget, self.cost)
        if setting.distance is not None:
            axes = setting.grid.axes
            return distance_goal(program, axes, setting.distance, budget, self._marks)
        if setting.by_value:
            return value_goal(program, setting.cost.norm, budget, self._marks)
        return cell_goal(program, setting.cost.norm)

    def _solved(self, program: Program) -> tuple[Any, Any]:
        self._time.check()
        solver = cp_sat().CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        # This step of the solver's loses solutions where factors of literals sum to more than
        # 2**31 (OR-Tools 9.15, its issue 5293).
        solver.parameters.presolve_inclusion_work_limit = 0
        if self._setting.by_value:
            solver.parameters.linearization_level = 2
        if not isinf(self._time.left):
            # It looks at its clock only between steps, which are long in large programs.
            solver.parameters.max_time_in_seconds = 0.9 * self._time.left
        status = solver.solve(program.model)
        assert status != cp_sat().MODEL_INVALID, program.model.validate()
        self.nodes += solver.num_branches
        return status, solver

    def _note_bound(self, goal: Goal, infeasible: bool, value: float) -> None:
        """Keep the best that the solver has proved; nothing is cheaper than that."""
        if infeasible:
            self.bound = self.cost  # inf where nothing was found before
        elif np.isfinite(value):
            self.bound = max(self.bound, goal.cost(value))

    def _settle(self, goal: Goal) -> None:
        if isinf(self.cost):
            none = self.bound > self._budget
            self.status, self.bound = (Status.NONE, inf) if none else (Status.UNKNOWN, self.bound)
        else:
            self.bound = min(self.bound, self.cost)
            close = self.cost - self.bound <= goal.tolerance * self.cost
            self.status = Status.OPTIMAL if close else Status.FOUND

    def _take(self, values: np.ndarray) -> None:
        """Keep an action if it is the cheapest so far."""
        price = self._actions.price(values)
        if price < self.cost and self._actions.flaw(values) is None:
            self.cost, self.values = price, values
